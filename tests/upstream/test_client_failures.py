"""Connections and answers that end before their time, and what they are called."""

import asyncio

import pytest

from proxy.core.errors import ProxyError, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from proxy.core.policy import Deadlines
from proxy.upstream.client import AiohttpUpstream
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import (
    End,
    ScriptedUpstream,
    hang_up,
    silence,
    sse_reply,
)
from tests.upstream.requests import read, request


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
        await client.send(whole._replace(body=Failing(), length=None))
    assert upstream.calls == 0


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
