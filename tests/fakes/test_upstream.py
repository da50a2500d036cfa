"""The fakes do what their names say, seen by clients that are not ours."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest

from tests.fakes.answers import DONE, chat_answer, chat_stream, usage
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import (
    End,
    Reply,
    ScriptedUpstream,
    error_reply,
    gzip_reply,
    hang_up,
    json_reply,
    silence,
    sse_reply,
)

QUESTION = {"model": "m1", "messages": [{"role": "user", "content": "Why?"}]}


async def test_untouched_it_answers_in_the_shape_asked_for(upstream: ScriptedUpstream) -> None:
    async with httpx.AsyncClient(base_url=upstream.url) as client:
        first = await client.post("/v1/chat/completions", json=QUESTION)
        second = await client.post("/v1/chat/completions", json=QUESTION | {"stream": True})
    assert first.json()["choices"][0]["message"]["content"] == "answer 1"
    assert second.headers["content-type"] == "text/event-stream"
    assert second.content.endswith(DONE)
    assert upstream.calls == 2
    assert upstream.requests[0].json() == QUESTION


async def test_requests_are_kept_as_they_stood_on_the_wire(upstream: ScriptedUpstream) -> None:
    async with httpx.AsyncClient() as client:
        await client.get(f"{upstream.url}/a%2Fb?q=%20", headers=[("X-Two", "1"), ("X-Two", "2")])
    seen = upstream.requests[0]
    assert seen.target == "/a%2Fb?q=%20"
    assert [value for name, value in seen.fields if name == b"X-Two"] == [b"1", b"2"]
    assert seen.header("x-two") == "1"
    assert seen.header("x-none") is None


async def test_a_gate_holds_the_next_chunk_back(upstream: ScriptedUpstream) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(b"one", gate, b"two"))
    async with aiohttp.ClientSession() as session, session.get(upstream.url) as response:
        assert await response.content.readany() == b"one"
        assert response.content.at_eof() is False
        gate.set()
        assert await response.content.read() == b"two"


async def test_a_late_head_waits_for_its_event(upstream: ScriptedUpstream) -> None:
    late = asyncio.Event()
    upstream.will(json_reply(chat_answer("late"), before_head=late))
    async with httpx.AsyncClient() as client, asyncio.TaskGroup() as group:
        asked = group.create_task(client.get(upstream.url))
        await upstream.received(1)
        assert not asked.done()
        late.set()
    assert asked.result().status_code == 200


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_stream_is_cut_after_its_last_step(upstream: ScriptedUpstream, end: End) -> None:
    seen = asyncio.Event()
    upstream.will(sse_reply(b"one", seen, end=end))
    async with aiohttp.ClientSession() as session, session.get(upstream.url) as response:
        assert await response.content.readany() == b"one"
        seen.set()
        with pytest.raises(aiohttp.ClientError):
            await response.content.read()


@pytest.mark.parametrize("after_head", [True, False])
async def test_it_hangs_up(upstream: ScriptedUpstream, *, after_head: bool) -> None:
    upstream.will(hang_up(after_head=after_head))
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(upstream.url)
    assert upstream.aborts == 0


async def test_a_claimed_length_is_not_kept(upstream: ScriptedUpstream) -> None:
    upstream.will(Reply(steps=[b"short"], length=50))
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(upstream.url)


async def test_it_notices_when_the_peer_leaves(upstream: ScriptedUpstream) -> None:
    upstream.will(silence())
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(_get_and_forget(upstream.url))
        seen = await upstream.received(1)
        asked.cancel()
    async with asyncio.timeout(5):
        await seen.aborted.wait()
        await upstream.aborted.wait()
    assert upstream.aborts == 1


async def _get_and_forget(url: str) -> None:
    async with httpx.AsyncClient() as client:
        await client.get(url)


async def test_codings_statuses_and_repeated_fields(upstream: ScriptedUpstream) -> None:
    cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("x-ratelimit-remaining", "3")]
    upstream.will(gzip_reply(b"{}"), error_reply(429, "slow down", fields=cookies))
    async with httpx.AsyncClient() as client:
        coded = await client.get(upstream.url)
        refused = await client.get(upstream.url)
    assert coded.headers["content-encoding"] == "gzip"
    assert coded.content == b"{}"
    assert refused.status_code == 429
    assert refused.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert refused.json()["error"]["message"] == "slow down"


async def test_an_early_answer_does_not_wait_for_the_body(upstream: ScriptedUpstream) -> None:
    never = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await never.wait()

    upstream.will(Reply(status=413, early=True))
    async with (
        asyncio.timeout(5),
        aiohttp.ClientSession() as session,
        session.post(upstream.url, data=endless()) as response,
    ):
        assert response.status == 413
    assert upstream.requests[0].body == b""


async def test_frames_of_a_stream_carry_usage_where_wanted() -> None:
    plain = chat_stream(["a", "b"])
    full = chat_stream(["a", {"reasoning_content": "r"}], usage=usage(), system_fingerprint="fp")
    assert len(plain) == 5
    assert len(full) == 6
    assert b'"choices": []' in full[-2]
    assert all(b'"fp"' in frame for frame in full[:-1])
    assert plain[-1] == full[-1] == DONE


async def test_a_raw_server_speaks_byte_for_byte() -> None:
    async def conversation(peer: Peer) -> None:
        head, body = await peer.read_request()
        assert head.startswith(b"POST /x HTTP/1.1\r\n")
        assert body == b"2\r\nhi\r\n0\r\n\r\n"
        await peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await peer.send_bytewise(b"HTTP/1.1 200 OK\nX-Odd:1\nContent-Length: 2\n\nok")
        await peer.gone()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"hi"

    async with RawUpstream(conversation) as raw:
        async with httpx.AsyncClient() as client:
            response = await client.post(f"{raw.url}/x", content=pieces())
        assert response.text == "ok"
        assert response.headers["x-odd"] == "1"
        assert raw.connections == 1


async def test_a_raw_server_that_answers_and_closes() -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.answer(b"{}", fields=b"Connection: keep-alive\r\n")

    async with RawUpstream(conversation) as raw, aiohttp.ClientSession() as session:
        for _ in range(3):
            async with session.get(raw.url) as response:
                assert await response.json() == {}
        assert raw.connections == 3


async def test_a_failed_conversation_fails_the_test() -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        raise ValueError("not what was expected")

    raw = RawUpstream(conversation)
    await raw.start()
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(raw.url)
    with pytest.raises(ExceptionGroup):
        await raw.stop()
