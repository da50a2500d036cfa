"""Replicas share what each has learnt, and make one call where all ask the same (C2, E6).

What they have in common is in memory here; tests/e2e/test_redis.py has the same over a server.
"""

import asyncio
from typing import Any

import pytest

from proxy.app import App
from tests.conftest import StartProxy
from tests.e2e.test_collapse import begin, together
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import ask, connect, question
from tests.fakes.persistence import Common, in_common, stored_under
from tests.fakes.semantic import NEAR, comparing_by_words, learned
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.watch import figure, until

FRAMES = chat_stream(["one", " call"])
ADMIN = "admin: {token: t}"


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch) -> Common:
    """What all proxies of a test have in common."""
    return in_common(monkeypatch)


async def purge(app: App, **body: Any) -> int:
    """How many were purged, as the admin listener says."""
    answer = await ask(app.admin_url, body, key="t", path="/admin/purge")
    return int(answer.json()["purged"])


@pytest.mark.usefixtures("common")
async def test_what_one_has_stored_the_other_answers(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as one, proxy() as other:
        first = await ask(one.url, question())
        await until(lambda: figure(other, "entries") == 1)
        second = await ask(other.url, question(stream=True))
        assert second.is_hit
        assert second.text == first.text
        assert not (await ask(other.url, question(), key="key-b")).is_hit
    assert upstream.calls == 2


async def test_what_is_not_here_is_asked_for(
    proxy: StartProxy, upstream: ScriptedUpstream, common: Common
) -> None:
    async with proxy() as one, proxy("memory: {max_entries: 1}") as other:
        await ask(one.url, question("first"))
        await ask(one.url, question("second"))
        await until(lambda: figure(other, "entries") == 1)
        assert (await ask(other.url, question("first"))).is_hit
        asked = len(common.shared.asked)
        assert (await ask(other.url, question("first"))).is_hit
        assert len(common.shared.asked) == asked
    assert upstream.calls == 2


async def test_who_wants_a_fresh_answer_gets_no_other_replicas(
    proxy: StartProxy, upstream: ScriptedUpstream, common: Common
) -> None:
    async with proxy("memory: {max_entries: 1}") as app:
        await ask(app.url, question())
        await ask(app.url, question("another"))
        asked = len(common.shared.asked)
        fresh = await ask(app.url, question(), fields=[("Cache-Control", "no-cache")])
        assert not fresh.is_hit
        assert len(common.shared.asked) == asked
    assert upstream.calls == 3


@pytest.mark.usefixtures("common")
@pytest.mark.parametrize("stream", [False, True])
async def test_the_same_question_to_both_at_once_costs_one_call(
    proxy: StartProxy, upstream: ScriptedUpstream, *, stream: bool
) -> None:
    gate = asyncio.Event()
    upstream.will(
        sse_reply(FRAMES[0], gate, *FRAMES[1:])
        if stream
        else json_reply(chat_answer("one call"), before_head=gate)
    )
    async with proxy() as one, proxy() as other, asyncio.TaskGroup() as group:
        asked = [
            group.create_task(together(app.url, 5, question(stream=stream))) for app in (one, other)
        ]
        await until(lambda: all(figure(app, "in_flight_requests") == 5 for app in (one, other)))
        await until(lambda: upstream.calls == 1)
        gate.set()
        answers = [answer for task in asked for answer in await task]
    assert upstream.calls == 1
    assert {answer.text for answer in answers} == {"one call"}


@pytest.mark.usefixtures("common")
async def test_an_answer_that_is_not_stored_lets_the_others_go_on(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    failure = json_reply({"error": {"message": "no"}}, status=503, before_head=gate)
    upstream.will(failure, json_reply(chat_answer("well")))
    async with proxy() as one, proxy() as other, asyncio.TaskGroup() as group:
        failing = group.create_task(ask(one.url, question()))
        await until(lambda: upstream.calls == 1)
        waiting = group.create_task(ask(other.url, question()))
        await until(lambda: figure(other, "flights") == 1)
        gate.set()
        assert (await failing).status == 503
        assert (await waiting).text == "well"


@pytest.mark.usefixtures("common")
async def test_patience_has_an_end(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("slow"), before_head=gate), json_reply(chat_answer("own")))
    hasty = "persist: {redis: {collapse_wait: 10ms}}"
    async with proxy() as one, proxy(hasty) as other, asyncio.TaskGroup() as group:
        slow = group.create_task(ask(one.url, question()))
        await until(lambda: upstream.calls == 1)
        assert (await ask(other.url, question())).text == "own"
        gate.set()
        assert (await slow).text == "slow"


@pytest.mark.usefixtures("common")
async def test_a_client_that_leaves_while_it_waits_leaves_nothing_behind(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("slow"), before_head=gate))
    settings = "policy: {on_client_gone: abort}"
    async with proxy() as one, proxy(settings) as other, asyncio.TaskGroup() as group:
        slow = group.create_task(ask(one.url, question()))
        await until(lambda: upstream.calls == 1)
        async with connect(other.url) as client:
            await begin(client, stream=False)
            await until(lambda: figure(other, "flights") == 1)
        await until(lambda: figure(other, "flights") == 0)
        gate.set()
        await slow
    assert upstream.calls == 1


async def test_a_stale_answer_is_fetched_anew_by_one(
    proxy: StartProxy, upstream: ScriptedUpstream, common: Common
) -> None:
    settings = "ttl: {exact: 1h, stale_while_revalidate: 1h}\n" + ADMIN
    async with proxy(settings) as one, proxy(settings) as other:
        await ask(one.url, question())
        await until(lambda: figure(other, "entries") == 1)
        assert await purge(one, all=True, soft=True) == 1
        (before,) = stored_under(common)
        assert (await ask(one.url, question())).is_hit
        await until(lambda: stored_under(common)[0].created > before.created)
        await until(lambda: figure(one, "flights") == 0)
        assert (await ask(other.url, question())).is_hit
        await until(lambda: figure(other, "flights") == 0)
    assert upstream.calls == 2


@pytest.mark.usefixtures("common")
async def test_purges_and_feedback_reach_the_others(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as one, proxy(ADMIN) as other:
        await ask(one.url, question())
        answer = await ask(one.url, question())
        await ask(one.url, question("another"), fields=[("x-cache-tags", "a")])
        await until(lambda: figure(other, "entries") == 2)
        said = {"entry": answer.header("x-cache-entry"), "verdict": "wrong"}
        heard = await ask(other.url, said, path="/x-cache/feedback")
        assert heard.status == 200
        await until(lambda: figure(one, "entries") == 1)
        await purge(other, tag="a")
        await until(lambda: figure(one, "entries") == 0)


async def test_rewordings_are_found_by_replicas_that_never_embedded_them(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_common(monkeypatch)
    encoder = comparing_by_words(monkeypatch)
    async with proxy(NEAR) as one, proxy(NEAR) as other:
        await learned(one, 0)
        await ask(one.url, question("What is the capital of Peru?"))
        await learned(one, 1)
        await learned(other, 1)
        assert encoder.texts == ["What is the capital of Peru?"]
        found = await ask(other.url, question("Please, what is the capital of Peru?"))
        assert "detail=semantic" in found.cache
        await until(lambda: figure(one, "aliases") == 1)
        again = await ask(one.url, question("Please, what is the capital of Peru?"))
        assert "detail=alias" in again.cache
    assert upstream.calls == 1


@pytest.mark.usefixtures("common")
async def test_a_replica_that_starts_later_has_what_the_others_had(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)
    async with proxy(NEAR) as one:
        await learned(one, 0)
        await ask(one.url, question("What is the capital of Peru?"))
        await learned(one, 1)
        async with proxy(NEAR) as other:
            await learned(other, 1)
            found = await ask(other.url, question("Please, what is the capital of Peru?"))
            assert "detail=semantic" in found.cache
    assert upstream.calls == 1


@pytest.mark.usefixtures("common")
async def test_a_credential_that_was_revoked_gets_nothing_from_any_replica(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as one, proxy() as other:
        await ask(one.url, question())
        await until(lambda: figure(other, "entries") == 1)
        upstream.will(error_reply(401))
        assert (await ask(one.url, question("another"))).status == 401
        upstream.will(error_reply(401))
        assert (await ask(other.url, question())).status == 401
        assert (await ask(other.url, question())).status == 200
        assert (await ask(one.url, question())).is_hit


async def test_nobody_waits_for_a_replica_that_only_reads(
    proxy: StartProxy, upstream: ScriptedUpstream, common: Common
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("not kept"), before_head=gate))
    async with (
        proxy("policy: {store: false}") as reader,
        proxy() as other,
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(ask(reader.url, question()))
        await until(lambda: upstream.calls == 1)
        assert common.shared.claimed == {}
        assert (await ask(other.url, question())).text == "answer 2"
        gate.set()
        assert (await asking).text == "not kept"
