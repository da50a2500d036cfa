"""After a hit, the question that usually follows is asked before the user does."""

import asyncio

from proxy.app import App
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import CHAT, ask, call, connect, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply
from tests.pipeline.test_background import counted, low, waiting
from tests.watch import figure, is_idle, until

RELATED = "background: {related: true}\nadmin: {token: t}"
ADMIN = [("Authorization", "Bearer t")]


async def converse(
    app: App, clock: FakeClock, *texts: str, key: str = "key-a", times: int = 1
) -> None:
    """Ask one question after the other, later than five minutes after the last one."""
    for _ in range(times):
        clock.advance(301)
        for text in texts:
            await ask(app.url, question(text), key=key)
            app.exposition()  # what has happened is learnt


async def forget(app: App, clock: FakeClock) -> None:
    """Take everything out of the cache, and let the conversation be over."""
    body = b'{"all": true}'
    assert (
        await call(app.admin_url, "POST", "/admin/purge", fields=ADMIN, body=body)
    ).status == 200
    clock.advance(301)


def texts(upstream: ScriptedUpstream) -> list[str]:
    return [seen.json()["messages"][-1]["content"] for seen in upstream.requests]


async def test_what_usually_follows_is_there_before_it_is_asked(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(RELATED, clock=clock) as app:
        await converse(app, clock, "first", "second", times=2)
        assert upstream.calls == 2
        await forget(app, clock)
        await ask(app.url, question("first"))
        assert counted(app, "related", "stored") == 0  # it was no hit
        clock.advance(301)
        assert (await ask(app.url, question("first"))).is_hit
        await until(lambda: counted(app, "related", "stored") == 1)
        seen = upstream.requests[-1]
        assert seen.json()["messages"][-1]["content"] == "second"
        assert seen.header("Authorization") == "Bearer key-a"
        assert (await ask(app.url, question("second"))).is_hit
        assert figure(app, "related_pairs") >= 1
        assert 'reprise_background_tokens_total{kind="related"}' in app.exposition().decode()
    assert texts(upstream) == ["first", "second"] * 2


async def test_tenants_learn_nothing_from_each_other(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(RELATED, clock=clock) as app:
        await converse(app, clock, "first", "a secret of a", key="key-a", times=3)
        for _ in range(3):
            await converse(app, clock, "first", key="key-b")
        await forget(app, clock)
        for _ in range(3):
            await converse(app, clock, "first", key="key-b")
        await until(is_idle(app))
        assert counted(app, "related", "stored") == 0
    secrets = [seen for seen in upstream.requests if b"a secret of a" in seen.body]
    assert {seen.header("Authorization") for seen in secrets} == {"Bearer key-a"}


async def test_those_who_share_ask_in_their_own_name(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(f"{RELATED}\ntenancy: {{scope: shared}}", clock=clock) as app:
        await converse(app, clock, "first", "second", key="key-a", times=2)
        await forget(app, clock)
        await converse(app, clock, "first", key="key-b", times=2)
        await until(lambda: counted(app, "related", "stored") == 1)
        assert upstream.requests[-1].header("Authorization") == "Bearer key-b"


async def test_it_waits_for_its_turn_and_keeps_within_its_budget(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    settings = RELATED.replace("true", "true, max_tokens_per_hour: 300")
    gate = asyncio.Event()
    async with proxy(settings, clock=clock) as app, connect(app.url) as client:
        await converse(app, clock, "first", "second", times=2)
        await converse(app, clock, "third", "fourth", times=2)
        await forget(app, clock)
        await converse(app, clock, "first")
        await converse(app, clock, "third")
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting("key-c"), body=question("other"))
        await upstream.received(7)
        await converse(app, clock, "first")
        await until(lambda: waiting(app) == 1)
        assert upstream.calls == 7
        upstream.will(json_reply(chat_answer("x") | {"usage": None}))
        gate.set()
        await client.answer()
        await until(lambda: counted(app, "related", "stored") == 1)
        await converse(app, clock, "third")
        await until(lambda: counted(app, "related", "over-budget") == 1)
    assert upstream.calls == 8


async def test_what_cannot_be_had_is_not_asked_again_and_again(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(RELATED, clock=clock) as app:
        await converse(app, clock, "first", "second", times=2)
        await forget(app, clock)
        await converse(app, clock, "first")
        upstream.will(error_reply(500))
        await converse(app, clock, "first")
        await until(lambda: counted(app, "related", "failed") == 1)
        await converse(app, clock, "first", times=3)
        assert upstream.calls == 4


async def test_warming_teaches_nothing_and_asks_nothing_more(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(RELATED, clock=clock) as app:
        for _ in range(3):
            for text in ("first", "second"):
                await low(app, text)
        assert figure(app, "related_pairs") == 0


async def test_it_is_off_unless_wanted(proxy: StartProxy, clock: FakeClock) -> None:
    async with proxy(clock=clock) as app:
        await converse(app, clock, "first", "second", times=3)
        assert figure(app, "related_pairs") == 0
