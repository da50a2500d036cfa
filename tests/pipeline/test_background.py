"""Requests of low priority, before a real upstream."""

import asyncio

import pytest

from proxy.app import App
from proxy.pipeline import turns as turns_module
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, Answer, ask, connect, posting, question
from tests.fakes.upstream import (
    Reply,
    ScriptedUpstream,
    error_reply,
    hang_up,
    json_reply,
    sse_reply,
)
from tests.watch import figure, is_idle, until

LOW = [("x-cache-priority", "background")]


async def low(app: App, text: str, **members: object) -> Answer:
    return await ask(app.url, question(text, **members), fields=LOW)


def waiting(app: App) -> float:
    return figure(app, "background_requests_waiting")


def counted(app: App, kind: str, result: str) -> float:
    name = f'reprise_background_requests_total{{kind="{kind}",result="{result}"}} '
    lines = app.exposition().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)


async def test_what_is_stored_is_given_at_once_whatever_is_under_way(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    async with proxy() as app, connect(app.url) as client:
        first = await low(app, "one")
        assert "fwd=miss" in first.cache
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting(), body=question("other"))
        await upstream.received(2)
        assert (await low(app, "one")).is_hit
        gate.set()
        await client.answer()
    assert upstream.requests[0].header("x-cache-priority") is None


async def test_no_call_begins_while_those_of_clients_are_under_way(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    async with (
        proxy() as app,
        connect(app.url) as one,
        connect(app.url) as two,
        asyncio.TaskGroup() as group,
    ):
        for number, client in enumerate((one, two)):
            upstream.will(json_reply({}, before_head=gates[number]))
            await client.send("POST", CHAT, fields=posting(), body=question(f"client {number}"))
            await upstream.received(number + 1)
        asked = [group.create_task(low(app, f"low {number}")) for number in range(3)]
        await until(lambda: waiting(app) == 3)
        gates[0].set()
        await one.answer()
        assert (waiting(app), upstream.calls) == (3, 2)
        gates[1].set()
        await two.answer()
        answers = [await answer for answer in asked]
        assert [answer.text for answer in answers] == ["answer 3", "answer 4", "answer 5"]
        assert counted(app, "client", "asked") == 3
        tokens = 'reprise_background_tokens_total{kind="client"} '
        await until(is_idle(app))
        assert tokens in app.exposition().decode()


async def test_a_client_that_asks_the_same_is_not_held_back(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    async with proxy() as app, connect(app.url) as client, asyncio.TaskGroup() as group:
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting(), body=question("other"))
        await upstream.received(1)
        background = group.create_task(low(app, "same"))
        await until(lambda: waiting(app) == 1)
        assert (await ask(app.url, question("same"))).text == "answer 2"
        gate.set()
        await client.answer()
        assert (await background).is_hit
        assert counted(app, "client", "spared") == 1
    assert upstream.calls == 2


async def test_a_client_joins_the_call_that_has_begun(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    async with proxy() as app, asyncio.TaskGroup() as group:
        upstream.will(json_reply({"choices": []}, before_head=gate))
        background = group.create_task(low(app, "same"))
        await upstream.received(1)
        also = group.create_task(low(app, "same"))
        client = group.create_task(ask(app.url, question("same")))
        await until(lambda: figure(app, "in_flight_requests") == 3)
        assert waiting(app) == 0
        gate.set()
        for other in (also, client):
            assert "collapsed" in (await other).cache
        await background
    assert upstream.calls == 1


async def test_who_waits_too_long_is_told_when_to_ask_again(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "WAIT_SECONDS", 0.02)
    gate = asyncio.Event()
    async with proxy() as app, connect(app.url) as client:
        upstream.will(json_reply({}, before_head=gate))
        await client.send("POST", CHAT, fields=posting(), body=question("other"))
        await upstream.received(1)
        refused = await low(app, "late")
        assert (refused.status, refused.header("Retry-After")) == (429, "5")
        assert refused.json()["error"]["code"] == "background_busy"
        assert refused.header("x-should-retry") == "true"
        assert counted(app, "client", "busy") == 1
        gate.set()
        await client.answer()
        assert (await low(app, "late")).status == 200


async def test_a_turn_is_given_back_whatever_comes_of_it(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("policy: {on_client_gone: abort}") as app:
        upstream.will(error_reply(500))
        assert (await low(app, "a")).status == 500
        upstream.will(json_reply({}, before_head=asyncio.Event()))
        async with connect(app.url) as leaving:
            await leaving.send("POST", CHAT, fields=posting(fields=LOW), body=question("b"))
            await upstream.received(2)
            async with connect(app.url) as waits:
                await waits.send("POST", CHAT, fields=posting(fields=LOW), body=question("c"))
                await until(lambda: waiting(app) == 1)
            await until(lambda: waiting(app) == 0)
        await upstream.requests[1].aborted.wait()
        assert (await low(app, "d")).status == 200


async def test_a_fresh_answer_is_fetched_in_turn_too(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        await low(app, "a")
        fields = [*LOW, ("Cache-Control", "no-cache")]
        again = await ask(app.url, question("a"), fields=fields)
        assert again.text == "answer 2"
        assert (await low(app, "a")).text == "answer 2"


async def test_the_head_tells_whether_it_was_stored_however_it_comes(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    whole, cut = chat_answer("x" * 100_000), chat_answer("x")
    cut["choices"][0]["finish_reason"] = "length"
    frames = chat_stream(["tex", "t"])
    upstream.will(json_reply(whole), json_reply(cut), sse_reply(*frames), sse_reply(frames[0]))
    async with proxy() as app:
        asked = [
            await low(app, "long"),
            await low(app, "cut"),
            await low(app, "stream", stream=True),
            await low(app, "half", stream=True),
        ]
        assert ["; stored" in answer.cache for answer in asked] == [True, False, True, False]
        assert asked[2].body == b"".join(frames)


async def test_what_is_passed_on_counts_until_its_last_byte(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    upstream.will(Reply(before_head=gates[0], steps=[b"a", gates[1], b"b"]))
    async with proxy() as app, connect(app.url) as client, asyncio.TaskGroup() as group:
        await client.send("POST", "/v1/audio/speech", fields=posting(), body=question())
        await upstream.received(1)
        asked = group.create_task(low(app, "low"))
        await until(lambda: waiting(app) == 1)
        gates[0].set()
        await client.head()
        assert await client.read(1) == b"a"
        assert (waiting(app), upstream.calls) == (1, 1)
        gates[1].set()
        assert await client.rest() == b"b"
        assert (await asked).status == 200
        upstream.will(hang_up(), hang_up())
        assert (await ask(app.url, path="/v1/audio/speech")).status == 502
        upstream.will(Reply(steps=[b"a", asyncio.Event()]))
        async with connect(app.url) as leaving:
            await leaving.send("POST", "/v1/audio/speech", fields=posting(), body=question())
            await leaving.head()
        assert (await low(app, "other")).status == 200


async def test_a_proxy_that_ends_begins_none_that_waits(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("x"), before_head=gate))
    async with asyncio.TaskGroup() as group, proxy() as app:
        client = group.create_task(ask(app.url))
        await upstream.received(1)
        asked = group.create_task(low(app, "low"))
        await until(lambda: waiting(app) == 1)
        stopping = group.create_task(app.stop())
        assert (await asked).status == 429
        gate.set()
        assert (await client).status == 200
        await stopping
    assert upstream.calls == 1
