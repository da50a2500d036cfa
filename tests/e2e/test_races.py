"""What meets in time: answers that overtake each other, purges, and ends that come too early."""

import asyncio

import h11
import pytest

from proxy.core.cache.selector import Selector
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, ask, connect, posting, question
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import ScriptedUpstream, json_reply, sse_reply
from tests.watch import figure, is_idle, until

FRAMES = chat_stream(["到", " the", " end"])


async def test_an_older_call_does_not_replace_the_answer_of_a_later_no_cache(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("old"), before_head=gate), json_reply(chat_answer("new")))
    async with proxy() as app, asyncio.TaskGroup() as group:
        slow = group.create_task(ask(app.url))
        await upstream.received(1)
        fresh = await ask(app.url, fields=[("Cache-Control", "no-cache")])
        assert fresh.text == "new"
        gate.set()
        assert (await slow).text == "old"
        await until(is_idle(app))
        again = await ask(app.url)
    assert (again.text, again.is_hit) == ("new", True)


async def test_a_purge_reaches_answers_that_are_on_their_way(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("old"), before_head=gate))
    async with proxy() as app, asyncio.TaskGroup() as group:
        slow = group.create_task(ask(app.url))
        await upstream.received(1)
        assert await app.invalidator.purge(Selector(model="m1"), soft=False) == 0
        assert await app.invalidator.purge(Selector(model="other"), soft=False) == 0
        gate.set()
        assert (await slow).text == "old"
        assert not (await ask(app.url)).is_hit
        assert (await ask(app.url)).is_hit


async def test_a_purge_reaches_a_large_answer_that_is_being_judged(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(json_reply(chat_answer("long " * 50_000)))
    async with proxy() as app:
        assert (await ask(app.url)).status == 200
        assert await app.invalidator.purge(Selector(), soft=False) in (0, 1)
        await until(is_idle(app))
        assert figure(app, "entries") == 0


@pytest.mark.parametrize("content_type", [b"text/event-stream", b"application/json"])
async def test_an_answer_that_only_its_connection_ends_is_not_whole_after_a_reset(
    proxy: StartProxy, content_type: bytes
) -> None:
    async def cut(peer: Peer) -> None:
        await peer.read_request()
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %b\r\n\r\n" % content_type
        await peer.send(head + FRAMES[0])
        await sent.wait()
        peer.reset()

    sent = asyncio.Event()
    async with RawUpstream(cut) as raw, proxy(upstream=raw.url) as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        await client.read(len(FRAMES[0]))
        sent.set()
        with pytest.raises(h11.RemoteProtocolError):
            await client.rest()
        assert figure(app, "entries") == 0


async def test_who_shares_a_call_gets_nothing_that_was_for_the_first_client_alone(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    mine = [("Set-Cookie", "s=1"), ("x-ratelimit-remaining-requests", "3"), ("x-request-id", "r")]
    upstream.will(json_reply(chat_answer("ours"), fields=mine, before_head=gate))
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(app.url, key=None)) for _ in range(2)]
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
        first, second = [await task for task in asked]
    assert first.header("Set-Cookie") == "s=1"
    assert "collapsed" in second.cache
    assert second.text == "ours"
    assert second.header("Content-Type") == first.header("Content-Type")
    for name in ("Set-Cookie", "x-ratelimit-remaining-requests"):
        assert second.header(name) is None
    assert second.header("x-request-id") != "r"


async def test_a_request_for_json_does_not_wait_for_a_stream_that_has_said_all(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.pipeline.fetch.ENDING_SECONDS", 0.05)
    upstream.will(sse_reply(*FRAMES, asyncio.Event()), json_reply(chat_answer("plain")))
    async with proxy("shutdown: {grace: 50ms}") as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        await client.read(len(b"".join(FRAMES)))
        assert (await ask(app.url)).text == "plain"


@pytest.mark.parametrize(("ttl", "is_told"), [("0", False), ("5", True)])
async def test_stored_is_not_told_of_what_is_not_stored(
    proxy: StartProxy, upstream: ScriptedUpstream, ttl: str, *, is_told: bool
) -> None:
    async with proxy() as app:
        answer = await ask(app.url, fields=[("x-cache-ttl", ttl)])
        assert ("stored" in answer.cache) is is_told
        assert figure(app, "entries") == is_told


async def test_a_transfer_coding_that_nobody_undoes_is_refused(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app, connect(app.url) as client:
        await client.write(
            b"POST /v1/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
            b"1\r\na\r\n0\r\n\r\n"
        )
        async with asyncio.timeout(5):
            assert (await client.reader.readline()).startswith(b"HTTP/1.1 400 ")
    assert upstream.calls == 0


async def test_a_run_of_marks_holds_nobody_up(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    marks = question("e" + "\u0301\u0327" * 100_000)
    async with proxy() as app, asyncio.timeout(5):
        for _ in range(2):
            assert "detail=body" in (await ask(app.url, marks)).cache
