"""Requests that are never stored do not all reach the upstream (E6)."""

import asyncio

import pytest

from tests.admin.test_routes import SETTINGS, purge
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import ask, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.watch import figure, until

ERRORS = "ttl: {errors: 30s}\n"
NEGATIVE = "reprise; hit; ttl=30; detail=negative"
NO_CACHE = [("Cache-Control", "no-cache")]


@pytest.mark.parametrize("status", [400, 404, 413, 415, 422])
async def test_a_refusal_is_repeated_as_it_was_received(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock, status: int
) -> None:
    upstream.respond = lambda seen: error_reply(
        status, "no such model", fields=[("Set-Cookie", "a=1"), ("x-request-id", "theirs")]
    )
    async with proxy(ERRORS, clock=clock) as app:
        first = await ask(app.url)
        clock.advance(12)
        again = await ask(app.url)
        clock.advance(18)
        late = await ask(app.url)
        assert figure(app, "entries") == 0
    assert (again.status, again.reason, again.body) == (first.status, first.reason, first.body)
    assert again.cache == "reprise; hit; ttl=18; detail=negative"
    assert (again.header("Age"), again.header("Content-Type")) == ("12", "application/json")
    assert again.header("Set-Cookie") is None
    assert again.header("x-request-id") != "theirs"
    assert not late.is_hit
    assert upstream.calls == 2


@pytest.mark.parametrize("status", [401, 403, 408, 409, 425, 429, 500, 502, 503])
async def test_what_may_pass_is_not_repeated(
    proxy: StartProxy, upstream: ScriptedUpstream, status: int
) -> None:
    upstream.respond = lambda seen: error_reply(status)
    async with proxy(ERRORS) as app:
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, False]
        assert figure(app, "refusals") == 0


async def test_without_a_time_none_is_repeated(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: error_reply(400)
    async with proxy() as app:
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, False]


async def test_it_is_repeated_to_whom_it_was_said_and_in_that_shape_only(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    upstream.respond = lambda seen: error_reply(400)
    async with proxy(ERRORS, clock=clock) as app:
        for _ in range(2):
            await ask(app.url)
        assert upstream.calls == 1
        assert not (await ask(app.url, key="key-b")).is_hit
        assert not (await ask(app.url, question(stream=True))).is_hit
        assert not (await ask(app.url, question("another"))).is_hit
        assert (await ask(app.url, question(stream=True))).cache == NEGATIVE
    assert upstream.calls == 4


async def test_no_cache_asks_again_and_a_stored_answer_takes_its_place(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(error_reply(404), error_reply(422), json_reply(chat_answer("at last")))
    async with proxy(ERRORS) as app:
        assert (await ask(app.url)).status == 404
        assert (await ask(app.url, fields=NO_CACHE)).status == 422
        assert (await ask(app.url)).status == 422
        assert (await ask(app.url, fields=NO_CACHE)).text == "at last"
        again = await ask(app.url)
        assert figure(app, "refusals") == 0
    assert (again.text, again.is_hit, upstream.calls) == ("at last", True, 3)


async def test_an_error_of_the_moment_takes_the_place_of_a_refusal(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(error_reply(404), error_reply(500))
    async with proxy(ERRORS) as app:
        await ask(app.url)
        assert (await ask(app.url, fields=NO_CACHE)).status == 500
        assert (await ask(app.url)).text == "answer 3"


async def test_a_purge_takes_refusals_out_too(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: error_reply(400)
    async with proxy(SETTINGS + "\n" + ERRORS) as app:
        await ask(app.url, fields=[("x-cache-tags", "product-1")])
        assert await purge(app, b'{"tag": "other-*"}') == (200, 0)
        assert (await ask(app.url)).is_hit
        assert await purge(app, b'{"tag": "product-*"}') == (200, 1)
        assert not (await ask(app.url)).is_hit


async def test_a_purge_reaches_a_refusal_on_its_way(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply(
        b'{"error": {"message": "no"}}', status=400, before_head=gate
    )
    async with proxy(SETTINGS + "\n" + ERRORS) as app, asyncio.TaskGroup() as group:
        group.create_task(ask(app.url))
        await upstream.received(1)
        await purge(app, b'{"all": true}')
        gate.set()
        await until(lambda: not figure(app, "flights"))
        assert not (await ask(app.url)).is_hit


async def test_a_hundred_bad_requests_at_once_are_one(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply(
        b'{"error": {"message": "no"}}', status=400, before_head=gate
    )
    async with proxy(ERRORS, clock=clock) as app:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(app.url)) for _ in range(100)]
            await until(lambda: figure(app, "in_flight_requests") == 100)
            gate.set()
        assert {task.result().status for task in asked} == {400}
        assert (await ask(app.url)).cache == NEGATIVE
    assert upstream.calls == 1


async def test_a_refusal_of_a_cache_is_as_old_as_it_says(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    upstream.respond = lambda seen: error_reply(400, fields=[("Age", "20")])
    async with proxy(ERRORS, clock=clock) as app:
        await ask(app.url)
        again = await ask(app.url)
    assert (again.cache, again.header("Age")) == ("reprise; hit; ttl=10; detail=negative", "20")


async def test_the_doorkeeper_lets_a_question_in_when_it_comes_again(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("memory: {doorkeeper: true}") as app:
        answers = [await ask(app.url) for _ in range(3)]
        assert figure(app, "entries") == 1
        assert 'reprise_answers_total{verdict="doorkeeper"} 1.0' in app.exposition().decode()
    assert [answer.text for answer in answers] == ["answer 1", "answer 2", "answer 2"]
    assert "stored" not in answers[0].cache
    assert answers[1].cache.endswith("; stored")


async def test_whoever_shares_a_call_has_come_again(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply(chat_answer("shared"), before_head=gate)
    async with proxy("memory: {doorkeeper: true}") as app:
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(ask(app.url))
            await until(lambda: figure(app, "in_flight_requests") == 2)
            gate.set()
        assert (await ask(app.url)).is_hit
    assert upstream.calls == 1


async def test_without_storing_what_is_there_is_served(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    settings = (
        "ttl: {exact: 100s, jitter: 0, stale_while_revalidate: 100s}\n"
        "routes: [{match: {header: {x-edge: ''}}, policy: {store: false}}]\n"
    )
    clock = FakeClock()
    edge = [("x-edge", "1")]
    async with proxy(settings, clock=clock) as app:
        assert (await ask(app.url, fields=edge)).text == "answer 1"
        assert not (await ask(app.url, fields=edge)).is_hit
        assert 'reprise_answers_total{verdict="read-only"} 2.0' in app.exposition().decode()
        await ask(app.url)
        assert (await ask(app.url, fields=edge)).is_hit
        clock.advance(110)
        assert (await ask(app.url, fields=edge)).cache == "reprise; hit; ttl=-10; detail=exact"
        assert figure(app, "flights") == 0
    assert upstream.calls == 3


async def test_what_is_not_stored_is_shared_all_the_same(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: sse_reply(b"data: 1\n\n", gate, b"data: [DONE]\n\n")
    async with proxy("policy: {store: false}") as app:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(app.url, question(stream=True)))]
            await upstream.received(1)
            await until(lambda: 'verdict="read-only"' in app.exposition().decode())
            asked.append(group.create_task(ask(app.url, question(stream=True))))
            await until(lambda: figure(app, "in_flight_requests") == 2)
            gate.set()
        assert asked[0].result().body == asked[1].result().body
        assert "; collapsed" in asked[1].result().cache
    assert upstream.calls == 1


async def test_who_fills_the_cache_need_not_come_again(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    warming = [("x-cache-priority", "background")]
    async with proxy("memory: {doorkeeper: true}") as app:
        await ask(app.url, fields=warming)
        assert (await ask(app.url)).is_hit
    assert upstream.calls == 1
