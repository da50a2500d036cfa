"""What a client may ask of the cache, and what time does to what is stored (A6, B46, E7)."""

import asyncio

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import Answer, Pairs, ask, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, error_reply, hang_up, json_reply, silence
from tests.watch import until

EXACT = "ttl: {exact: 100s, jitter: 0, stale_if_error: 0s}"


def wish(value: str) -> list[tuple[str, str]]:
    return [("Cache-Control", value)]


async def asked(url: str, *fields: tuple[str, str]) -> tuple[str, bool]:
    """The text, and whether it was a hit."""
    answer = await ask(url, fields=fields)
    return answer.text, answer.is_hit


async def test_a_hit_tells_its_age_and_its_remaining_life(
    proxy: StartProxy, clock: FakeClock
) -> None:
    async with proxy(EXACT, clock=clock) as app:
        miss = await ask(app.url)
        assert miss.cache.startswith("reprise; fwd=miss; fwd-status=200")
        clock.advance(42)
        hit = await ask(app.url)
    assert hit.cache == "reprise; hit; ttl=58; detail=exact"
    assert hit.header("Age") == "42"
    assert hit.header("x-cache-entry")


async def test_what_has_expired_is_fetched_anew(proxy: StartProxy, clock: FakeClock) -> None:
    async with proxy(EXACT, clock=clock) as app:
        await ask(app.url)
        clock.advance(99.9)
        assert await asked(app.url) == ("answer 1", True)
        clock.advance(0.2)
        stale = await ask(app.url)
        assert stale.text == "answer 2"
        assert "fwd=stale" in stale.cache
        assert await asked(app.url) == ("answer 2", True)


async def test_a_clock_set_back_makes_nothing_younger_than_it_is(
    proxy: StartProxy, clock: FakeClock
) -> None:
    async with proxy(EXACT, clock=clock) as app:
        await ask(app.url)
        clock.set_now(clock.now() - 3600)
        hit = await ask(app.url)
    assert hit.is_hit
    assert hit.header("Age") == "0"


async def test_no_cache_fetches_and_replaces(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    async with proxy() as app:
        await ask(app.url)
        fresh = await ask(app.url, fields=wish("no-cache"))
        assert (fresh.text, fresh.is_hit) == ("answer 2", False)
        assert "fwd=request" in fresh.cache
        assert await asked(app.url) == ("answer 2", True)
    assert upstream.requests[1].header("Cache-Control") == "no-cache"


async def test_no_store_leaves_the_cache_alone(proxy: StartProxy) -> None:
    async with proxy() as app:
        first = await ask(app.url, fields=wish("no-store"))
        assert "fwd=request" in first.cache
        assert await asked(app.url) == ("answer 2", False)
        assert await asked(app.url, *wish("no-store")) == ("answer 3", False)
        assert await asked(app.url) == ("answer 2", True)


@pytest.mark.parametrize(
    ("age", "value", "is_hit"),
    [
        (10, "max-age=10", True),
        (11, "max-age=10", False),
        (1, "max-age=0", False),
        (1, "max-age=x", False),
        (60, "min-fresh=40", True),
        (61, "min-fresh=40", False),
        (105, "max-stale=5", True),
        (106, "max-stale=5", False),
        (10**6, "max-stale", True),
        (105, "max-stale, max-age=100", False),
        (5, "MAX-AGE = 10 , no-transform", True),
    ],
)
async def test_a_client_says_how_fresh_it_must_be(
    proxy: StartProxy, clock: FakeClock, age: int, value: str, *, is_hit: bool
) -> None:
    async with proxy(EXACT, clock=clock) as app:
        await ask(app.url)
        clock.advance(age)
        expected = ("answer 1", True) if is_hit else ("answer 2", False)
        assert await asked(app.url, *wish(value)) == expected


async def test_only_if_cached_never_reaches_the_upstream(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(EXACT, clock=clock) as app:
        absent = await ask(app.url, fields=wish("only-if-cached"))
        assert absent.status == 504
        assert absent.json()["error"]["code"] == "only_if_cached_miss"
        assert absent.header("x-should-retry") == "false"
        await ask(app.url)
        assert await asked(app.url, *wish("only-if-cached")) == ("answer 1", True)
        clock.advance(101)
        assert (await ask(app.url, fields=wish("only-if-cached"))).status == 504
        assert await asked(app.url, *wish("only-if-cached, max-stale")) == ("answer 1", True)
        unread = await ask(app.url, b"no json", fields=wish("only-if-cached"))
        assert unread.status == 504
    assert upstream.calls == 1


@pytest.mark.parametrize(("ttl", "lives"), [("30", 30), ("0.5m", 30), ("2h", 100), ("0", 0)])
async def test_a_client_can_only_shorten_the_life_of_an_answer(
    proxy: StartProxy, clock: FakeClock, ttl: str, lives: int
) -> None:
    async with proxy(EXACT, clock=clock) as app:
        await ask(app.url, fields=[("x-cache-ttl", ttl)])
        if lives:
            clock.advance(lives - 1)
            assert await asked(app.url) == ("answer 1", True)
            clock.advance(2)
        assert await asked(app.url) == ("answer 2", False)


async def test_namespaces_are_apart_and_not_forwarded(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        texts = [
            (await ask(app.url, fields=fields)).text
            for fields in ([], [("x-cache-namespace", "a")], [("X-Cache-Namespace", "b")]) * 2
        ]
    assert texts == ["answer 1", "answer 2", "answer 3"] * 2
    for seen in upstream.requests:
        assert not [name for name, _ in seen.fields if name.lower().startswith(b"x-cache")]


@pytest.mark.parametrize(
    "fields",
    [
        [("x-cache-ttl", "soon")],
        [("x-cache-tags", ",".join("abcdefghijklmnopq"))],
        [("x-cache-namespace", "x" * 300)],
    ],
)
async def test_a_wish_that_cannot_be_read_leaves_the_request_alone(
    proxy: StartProxy, fields: Pairs
) -> None:
    async with proxy() as app:
        for number in (1, 2):
            answer = await ask(app.url, fields=fields)
            assert answer.text == f"answer {number}"
            assert "fwd=bypass" in answer.cache


async def test_a_stale_answer_is_served_at_once_and_refreshed_once(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    gate = asyncio.Event()
    settings = "ttl: {exact: 100s, jitter: 0, stale_while_revalidate: 50s}"
    async with proxy(settings, clock=clock) as app:
        await ask(app.url)
        clock.advance(120)
        upstream.will(json_reply(chat_answer("refreshed"), before_head=gate))
        for _ in range(5):
            stale = await ask(app.url)
            assert stale.text == "answer 1"
            assert "hit; ttl=-20" in stale.cache
        await upstream.received(2)
        gate.set()

        async def fresh() -> Answer:
            return await ask(app.url)

        answer = await fresh()
        while answer.text == "answer 1":
            answer = await fresh()
        assert (answer.text, answer.header("Age"), answer.is_hit) == ("refreshed", "0", True)
        assert upstream.calls == 2
        clock.advance(151)
        assert await asked(app.url) == ("answer 3", False)


async def test_a_refresh_that_fails_keeps_the_stale_answer(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    settings = "ttl: {exact: 100s, jitter: 0, stale_while_revalidate: 50s}"
    log: list[bytes] = []
    async with proxy(settings, clock=clock, log=log) as app:
        await ask(app.url)
        clock.advance(120)
        upstream.will(error_reply(500), hang_up())
        for calls in (2, 3):
            assert await asked(app.url) == ("answer 1", True)
            await upstream.received(calls)
            await until(lambda: b"reprise_flights 0.0" in app.exposition())
    assert not [line for line in log if b"died" in line]


@pytest.mark.parametrize("fault", ["500", "503", "hang up", "timeout", "refused"])
async def test_a_stale_answer_is_better_than_an_error(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock, fault: str
) -> None:
    settings = "ttl: {exact: 100s, jitter: 0, stale_if_error: 60s}\ntimeouts: {first_byte: 100ms}"
    async with proxy(settings, clock=clock) as app:
        await ask(app.url)
        clock.advance(130)
        faults = {
            "500": [error_reply(500)],
            "503": [error_reply(503, fields=[("Retry-After", "9")])],
            "hang up": [hang_up(), hang_up()],  # on the pooled connection, and on a new one
            "timeout": [silence()],
        }
        if fault == "refused":
            await upstream.stop()
        upstream.will(*faults.get(fault, ()))
        saved = await ask(app.url)
        assert (saved.status, saved.text, saved.is_hit) == (200, "answer 1", True)
        assert saved.header("Retry-After") is None
        assert "ttl=-30" in saved.cache
        clock.advance(31)
        upstream.will(*faults.get(fault, ())[:1])
        assert (await ask(app.url)).status >= 500


@pytest.mark.parametrize("status", [400, 401, 404, 429])
async def test_a_refusal_is_not_an_error_to_cover_up(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock, status: int
) -> None:
    async with proxy("ttl: {exact: 100s, jitter: 0, stale_if_error: 60s}", clock=clock) as app:
        await ask(app.url)
        clock.advance(130)
        upstream.will(error_reply(status))
        assert (await ask(app.url)).status == status


async def test_no_cache_is_not_answered_by_a_stale_answer(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(clock=clock) as app:
        await ask(app.url)
        upstream.will(error_reply(500))
        assert (await ask(app.url, fields=wish("no-cache"))).status == 500


async def test_lives_are_spread_by_the_jitter(proxy: StartProxy, clock: FakeClock) -> None:
    async with proxy("ttl: {jitter: 0.5}", clock=clock) as app:
        lives = set()
        for number in range(8):
            await ask(app.url, question(f"Q{number}"))
            hit = await ask(app.url, question(f"Q{number}"))
            lives.add(int(hit.cache.partition("ttl=")[2].partition(";")[0]))
    assert len(lives) > 1
    assert all(43_199 <= life <= 129_600 for life in lives)
