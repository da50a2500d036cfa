"""Answers that are asked for again and again are fetched anew before they expire."""

import asyncio

import pytest

from proxy.pipeline import ahead
from tests.conftest import StartProxy
from tests.fakes.client import CHAT, ask, connect, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply
from tests.pipeline.test_background import counted, waiting
from tests.watch import is_idle, until

AHEAD = "ttl: {exact: 100s, jitter: 0, refresh_ahead: 0.2}"


async def test_a_fresh_one_is_there_before_the_old_one_expires(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(AHEAD, clock=clock) as app:
        assert (await ask(app.url)).text == "answer 1"
        clock.advance(79)
        for _ in range(3):
            assert (await ask(app.url)).is_hit
        clock.advance(2)
        assert (await ask(app.url)).text == "answer 1"
        assert counted(app, "refresh", "stored") == 0
        assert (await ask(app.url)).text == "answer 1"
        await until(lambda: counted(app, "refresh", "stored") == 1)
        again = await ask(app.url)
        assert (again.text, again.header("Age")) == ("answer 2", "0")
        clock.advance(50)
        assert (await ask(app.url)).is_hit
    assert upstream.calls == 2


async def test_it_yields_to_clients_and_keeps_within_its_budget(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    settings = AHEAD + "\nbackground: {max_per_minute: 1}"
    gate = asyncio.Event()
    async with proxy(settings, clock=clock) as app, connect(app.url) as client:
        for text in ("a", "b"):
            await ask(app.url, question(text))
        clock.advance(90)
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting(), body=question("other"))
        await upstream.received(3)
        for text in ("a", "a", "b", "b"):
            assert (await ask(app.url, question(text))).is_hit
        await until(lambda: waiting(app) == 2)
        assert upstream.calls == 3
        gate.set()
        await client.answer()
        await until(lambda: counted(app, "refresh", "over-budget") == 1)
        assert (await ask(app.url, question("a"))).text == "answer 4"
    assert upstream.calls == 4


async def test_what_was_purged_meanwhile_is_not_brought_back(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    gate = asyncio.Event()
    async with proxy(AHEAD, clock=clock) as app, connect(app.url) as client:
        entry = await ask(app.url)
        clock.advance(90)
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting(), body=question("other"))
        await upstream.received(2)
        for _ in range(2):
            entry = await ask(app.url)
        await until(lambda: waiting(app) == 1)
        body = {"entry": entry.header("x-cache-entry"), "verdict": "wrong"}
        assert (await ask(app.url, body, path="/x-cache/feedback")).status == 200
        gate.set()
        await client.answer()
        await until(lambda: counted(app, "refresh", "spared") == 1)
    assert upstream.calls == 2


async def test_a_failure_leaves_the_old_one(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(AHEAD, clock=clock) as app:
        await ask(app.url)
        clock.advance(90)
        upstream.will(error_reply(500))
        for _ in range(2):
            await ask(app.url)
        await until(lambda: counted(app, "refresh", "failed") == 1)
        await until(is_idle(app))
        assert (await ask(app.url)).is_hit


async def test_the_count_of_those_that_are_watched_is_bounded(
    proxy: StartProxy, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "MAX_COUNTED", 1)
    async with proxy(AHEAD, clock=clock) as app:
        for text in ("a", "b"):
            await ask(app.url, question(text))
        clock.advance(90)
        for text in ("a", "b", "a"):
            await ask(app.url, question(text))
        assert counted(app, "refresh", "stored") == 0
        await ask(app.url, question("a"))
        await until(lambda: counted(app, "refresh", "stored") == 1)
