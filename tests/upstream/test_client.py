"""The client towards the upstream, against real connections that end in every way."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from proxy.core.errors import ProxyError, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from proxy.core.model import Fields
from proxy.core.policy import Deadlines
from proxy.ports import UpstreamReply, UpstreamRequest
from proxy.tasks import Tasks
from proxy.upstream.client import AiohttpUpstream
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import (
    End,
    Reply,
    ScriptedUpstream,
    hang_up,
    json_reply,
    silence,
    sse_reply,
)


@pytest.fixture
async def client() -> AsyncIterator[AiohttpUpstream]:
    """The adapter with two connections."""
    died: list[str] = []
    tasks = Tasks(lambda name, error: died.append(f"{name}: {error!r}"))
    upstream = AiohttpUpstream(max_connections=2, max_header_bytes=16384, tasks=tasks)
    yield upstream
    await tasks.drain(1.0)
    await upstream.close()
    assert died == []


def request(
    url: str,
    *,
    method: str = "POST",
    body: bytes | None = b"{}",
    fields: Fields = (),
    deadlines: Deadlines | None = None,
) -> UpstreamRequest:
    return UpstreamRequest(
        method=method,
        url=url,
        fields=fields,
        body=body,
        length=None if body is None else len(body),
        deadlines=deadlines or Deadlines(),
    )


async def read(reply: UpstreamReply) -> bytes:
    pieces = [piece async for piece in reply.body]
    await reply.body.aclose()
    return b"".join(pieces)


async def test_a_connection_is_used_again_after_a_whole_answer(client: AiohttpUpstream) -> None:
    async def conversation(peer: Peer) -> None:
        while True:
            await peer.read_request()
            await peer.answer(b"{}")

    async with RawUpstream(conversation) as raw:
        for _ in range(5):
            assert await read(await client.send(request(raw.url))) == b"{}"
        assert raw.connections == 1
        fresh = replace(request(raw.url), fresh_connection=True)
        assert await read(await client.send(fresh)) == b"{}"
        assert raw.connections == 2


async def test_an_answer_that_was_not_read_to_its_end_costs_its_connection(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    upstream.will(sse_reply(b"one", asyncio.Event()))
    reply = await client.send(request(upstream.url))
    assert await anext(aiter(reply.body)) == b"one"
    assert not reply.body.at_end
    await reply.body.aclose()
    async with asyncio.timeout(1):
        await upstream.requests[0].aborted.wait()
    assert (await client.send(request(upstream.url))).status == 200


async def test_the_end_is_known_without_waiting_for_it(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    upstream.will(json_reply(b'{"a": 1}'))
    reply = await client.send(request(upstream.url))
    data = reply.body.ready()
    while not reply.body.at_end:
        data += await anext(aiter(reply.body))
    assert data == b'{"a": 1}'
    assert reply.body.ready() == b""


@pytest.mark.parametrize("end", ["fin", "rst"])
async def test_a_pooled_connection_that_dies_unanswered_may_be_tried_again(
    client: AiohttpUpstream, end: str
) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.answer(b"{}")
        await peer.read_request()
        if end == "rst":
            peer.reset()

    async with RawUpstream(conversation) as raw:
        await read(await client.send(request(raw.url)))
        with pytest.raises(UpstreamBroken) as caught:
            await client.send(request(raw.url))
        assert caught.value.may_retry
        assert raw.connections == 1


async def test_a_pooled_connection_that_dies_within_its_answer_may_not(
    client: AiohttpUpstream,
) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.answer(b"{}")
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Le")

    async with RawUpstream(conversation) as raw:
        await read(await client.send(request(raw.url)))
        with pytest.raises(UpstreamBroken) as caught:
            await client.send(request(raw.url))
        assert not caught.value.may_retry


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_new_connection_that_dies_is_not_tried_again(
    client: AiohttpUpstream, upstream: ScriptedUpstream, method: str, end: End
) -> None:
    upstream.will(hang_up(end), hang_up(end))
    with pytest.raises(UpstreamBroken) as caught:
        await client.send(request(upstream.url, method=method))
    assert not caught.value.may_retry
    assert upstream.calls == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20000 + b"\r\n\r\n",
    ],
    ids=["another protocol", "status", "length", "long field"],
)
async def test_what_is_not_http_is_a_broken_upstream(
    client: AiohttpUpstream, answer: bytes
) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(answer)

    async with RawUpstream(conversation) as raw:
        with pytest.raises(UpstreamBroken):
            await client.send(request(raw.url))


async def test_a_closed_port_is_unreachable(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    await upstream.stop()
    with pytest.raises(UpstreamUnreachable):
        await client.send(request(upstream.url))


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_body_that_breaks_off_raises_behind_what_came(
    client: AiohttpUpstream, upstream: ScriptedUpstream, end: End
) -> None:
    cut = asyncio.Event()
    upstream.will(sse_reply(b"one", cut, end=end))
    reply = await client.send(request(upstream.url))
    assert await anext(aiter(reply.body)) == b"one"
    cut.set()
    with pytest.raises(UpstreamBroken):
        await anext(aiter(reply.body))
    assert not reply.body.at_end
    assert reply.body.ready() == b""
    await reply.body.aclose()


async def test_silence_before_the_head_is_a_timeout(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    upstream.will(silence())
    deadlines = Deadlines(first_byte=0.05)
    with pytest.raises(UpstreamTimeout):
        await client.send(request(upstream.url, deadlines=deadlines))


@pytest.mark.parametrize(
    "deadlines", [Deadlines(between_bytes=0.05), Deadlines(total=0.1)], ids=["between", "total"]
)
async def test_silence_within_the_body_is_a_timeout(
    client: AiohttpUpstream, upstream: ScriptedUpstream, deadlines: Deadlines
) -> None:
    upstream.will(sse_reply(b"one", asyncio.Event()))
    reply = await client.send(request(upstream.url, deadlines=deadlines))
    assert await anext(aiter(reply.body)) == b"one"
    with pytest.raises(UpstreamTimeout):
        await anext(aiter(reply.body))
    await reply.body.aclose()


async def test_a_first_byte_deadline_does_not_hold_for_the_next_bytes(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(b"one", gate, b"two"))
    deadlines = Deadlines(first_byte=0.1)
    reply = await client.send(request(upstream.url, deadlines=deadlines))
    assert await anext(aiter(reply.body)) == b"one"
    asyncio.get_running_loop().call_later(0.2, gate.set)
    assert await anext(aiter(reply.body)) == b"two"
    await reply.body.aclose()


TARGETS = [
    "/",
    "/?",
    "/?#x",
    "//a/../b",
    "/a%2Fb%2f",
    "/a/./b/",
    "/x;v=1;w?q=a+b&q=%20",
    "/%E4%BD%A0%zz",
    "/a?b?c=/d",
    "/a:80@c",
    "/a|b^c`{d}",
]


@pytest.mark.parametrize("target", TARGETS)
async def test_the_target_stands_in_the_request_line_to_the_letter(
    client: AiohttpUpstream, upstream: ScriptedUpstream, target: str
) -> None:
    await read(await client.send(request(upstream.url + target, method="GET", body=None)))
    assert upstream.requests[0].target == target


async def test_fields_stand_on_the_wire_as_given_and_none_is_made_up(
    client: AiohttpUpstream,
) -> None:
    heads: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        for _ in range(2):
            heads.append((await peer.read_request())[0])
            await peer.answer(b"{}")

    fields = (
        (b"X-Two", b"1"),
        (b"x-two", b"2"),
        (b"X-Empty", b""),
        (b"X-Chinese", "你好".encode()),
        (b"X-Latin", b"caf\xe9"),
    )
    async with RawUpstream(conversation) as raw:
        authority = raw.url.removeprefix("http://").encode()
        await read(await client.send(request(raw.url, fields=fields)))
        await read(await client.send(request(raw.url, method="GET", body=None)))
    assert heads[0].split(b"\r\n") == [
        b"POST / HTTP/1.1",
        b"Host: " + authority,
        b"X-Two: 1",
        b"x-two: 2",
        b"X-Empty: ",
        b"X-Chinese: " + "你好".encode(),
        b"X-Latin: caf\xe9",
        b"Content-Length: 2",
        b"",
        b"",
    ]
    assert heads[1] == b"GET / HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n"


async def test_redirects_are_not_followed_and_cookies_not_kept(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    upstream.will(
        Reply(status=307, fields=[("Location", "/elsewhere"), ("Set-Cookie", "a=1; Path=/")])
    )
    reply = await client.send(request(upstream.url))
    assert reply.status == 307
    await read(reply)
    await read(await client.send(request(upstream.url)))
    assert upstream.requests[1].header("Cookie") is None
    assert [seen.target for seen in upstream.requests] == ["/", "/"]


async def test_a_body_that_fails_fails_the_call(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    class Failing:
        at_end = False

        def ready(self) -> bytes:
            return b""

        def __aiter__(self) -> "Failing":
            return self

        async def __anext__(self) -> bytes:
            raise UpstreamBroken("the client's body broke off")

        async def aclose(self) -> None:
            return None

    whole = request(upstream.url)
    with pytest.raises(ProxyError):
        await client.send(replace(whole, body=Failing(), length=None))
    assert upstream.calls == 0


async def test_more_calls_than_connections_wait_for_one(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    async def once() -> bytes:
        return await read(await client.send(request(upstream.url, method="GET", body=None)))

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(once()) for _ in range(20)]
    assert len({call.result() for call in calls}) == 20


async def test_a_handshake_that_does_not_end_is_a_timeout(client: AiohttpUpstream) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.gone()

    async with RawUpstream(conversation) as raw:
        secure = raw.url.replace("http", "https")
        with pytest.raises(UpstreamTimeout):
            await client.send(request(secure, deadlines=Deadlines(connect=0.05)))


async def test_a_server_without_tls_is_unreachable_by_https(client: AiohttpUpstream) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with RawUpstream(conversation) as raw:
        with pytest.raises(UpstreamUnreachable):
            await client.send(request(raw.url.replace("http", "https")))
