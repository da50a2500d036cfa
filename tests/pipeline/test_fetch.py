"""A miss, from the call to the record."""

import asyncio

import pytest

from proxy.pipeline import fetch
from tests.conftest import StartProxy
from tests.fakes.answers import chat_stream
from tests.fakes.client import CHAT, connect, posting, question
from tests.fakes.upstream import ScriptedUpstream, sse_reply
from tests.watch import figure, until

FRAMES = chat_stream(["alles", " gesagt 了"])
STREAM = question(stream=True)


async def test_who_asks_again_before_the_connection_has_ended_gets_a_hit(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(*FRAMES, gate))
    async with proxy() as app, connect(app.url) as first, connect(app.url) as second:
        await first.send("POST", CHAT, fields=posting(), body=STREAM)
        await first.head()
        await first.read(len(b"".join(FRAMES)))
        await second.send("POST", CHAT, fields=posting(), body=STREAM)
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
        again = await second.answer()
        assert await first.piece() == b""
    assert again.is_hit
    assert again.body == b"".join(FRAMES)


async def test_a_stream_that_does_not_end_after_its_last_event_is_shared_live(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "ENDING_SECONDS", 0.05)
    gate = asyncio.Event()
    upstream.will(sse_reply(*FRAMES, gate))
    async with proxy() as app, connect(app.url) as first, connect(app.url) as second:
        await first.send("POST", CHAT, fields=posting(), body=STREAM)
        await first.head()
        await first.read(len(b"".join(FRAMES)))
        await second.send("POST", CHAT, fields=posting(), body=STREAM)
        assert "collapsed" in (await second.head()).cache
        assert await second.read(len(b"".join(FRAMES))) == b"".join(FRAMES)
        gate.set()
        assert await second.piece() == await first.piece() == b""


async def test_an_answer_too_large_to_keep_is_let_go_when_its_reader_leaves(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    big = b": " + b"x" * 40_000 + b"\n\n"
    upstream.will(sse_reply(big, big, asyncio.Event()))
    async with proxy("memory: {max_entry_bytes: 64KiB}") as app:
        async with connect(app.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=STREAM)
            await client.head()
            await client.read(2 * len(big))
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        await until(lambda: not figure(app, "flights"))


async def test_a_json_question_does_not_wait_for_a_stream_too_large_to_keep(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    big = b": " + b"x" * 40_000 + b"\n\n"
    upstream.will(sse_reply(FRAMES[0], gates[0], big, big, gates[1]))
    async with (
        proxy("memory: {max_entry_bytes: 64KiB}") as app,
        connect(app.url) as streaming,
        connect(app.url) as waiting,
    ):
        await streaming.send("POST", CHAT, fields=posting(), body=STREAM)
        await streaming.head()
        await waiting.send("POST", CHAT, fields=posting(), body=question())
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gates[0].set()
        assert (await waiting.answer()).text == "answer 2"
        gates[1].set()
        await streaming.rest()
