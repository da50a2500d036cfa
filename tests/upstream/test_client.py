"""The client towards the upstream: what stands on the wire, and when connections are kept."""

import asyncio

import pytest

from proxy.upstream.client import AiohttpUpstream
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import (
    Reply,
    ScriptedUpstream,
    json_reply,
    sse_reply,
)
from tests.upstream.requests import read, request


async def test_a_connection_is_used_again_after_a_whole_answer(client: AiohttpUpstream) -> None:
    async def conversation(peer: Peer) -> None:
        while True:
            await peer.read_request()
            await peer.answer(b"{}")

    async with RawUpstream(conversation) as raw:
        for _ in range(5):
            assert await read(await client.send(request(raw.url))) == b"{}"
        assert raw.connections == 1
        fresh = request(raw.url)._replace(fresh_connection=True)
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
        b"Via: 1.1 test",
        b"Content-Length: 2",
        b"",
        b"",
    ]
    assert heads[1] == b"GET / HTTP/1.1\r\nHost: " + authority + b"\r\nVia: 1.1 test\r\n\r\n"


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


async def test_more_calls_than_connections_wait_for_one(
    client: AiohttpUpstream, upstream: ScriptedUpstream
) -> None:
    async def once() -> bytes:
        return await read(await client.send(request(upstream.url, method="GET", body=None)))

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(once()) for _ in range(20)]
    assert len({call.result() for call in calls}) == 20
