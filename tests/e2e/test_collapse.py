"""Identical questions at the same time share one upstream call (E6, B33)."""

import asyncio

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream, frame
from tests.fakes.client import CHAT, Answer, Connection, ask, connect, posting, question
from tests.fakes.upstream import (
    End,
    Reply,
    ScriptedUpstream,
    error_reply,
    hang_up,
    json_reply,
    sse_reply,
)
from tests.watch import figure, until

FRAMES = chat_stream(["同じ", " same", " gleich"])


async def together(url: str, count: int, body: bytes, *, key: str = "key-a") -> list[Answer]:
    """So many clients ask the same at once."""
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(url, body, key=key)) for _ in range(count)]
    return [task.result() for task in asked]


async def begin(client: Connection, *, stream: bool = True, key: str = "key-a") -> None:
    await client.send("POST", CHAT, fields=posting(key), body=question(stream=stream))


@pytest.mark.parametrize("stream", [False, True])
async def test_many_who_ask_at_once_cost_one_call(
    proxy: StartProxy, upstream: ScriptedUpstream, *, stream: bool
) -> None:
    gate = asyncio.Event()
    reply = (
        sse_reply(FRAMES[0], gate, *FRAMES[1:])
        if stream
        else json_reply(chat_answer("once"), before_head=gate)
    )
    upstream.will(reply)
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = group.create_task(together(app.url, 40, question(stream=stream)))
        await until(lambda: figure(app, "in_flight_requests") == 40)
        gate.set()
        answers = await asked
    assert upstream.calls == 1
    assert len({answer.body for answer in answers}) == 1
    statuses = sorted(answer.cache for answer in answers)
    assert sum("collapsed" in status for status in statuses) == 39
    assert all("fwd=miss" in status for status in statuses)


async def test_a_follower_reads_from_the_first_byte_and_then_live(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    upstream.will(sse_reply(*FRAMES[:2], gates[0], FRAMES[2], gates[1], *FRAMES[3:]))
    async with proxy() as app, connect(app.url) as leader, connect(app.url) as follower:
        await begin(leader)
        await leader.head()
        await leader.read(len(FRAMES[0]) + len(FRAMES[1]))
        await begin(follower)
        assert "collapsed" in (await follower.head()).cache
        assert await follower.read(len(b"".join(FRAMES[:2]))) == b"".join(FRAMES[:2])
        gates[0].set()
        for client in (follower, leader):
            assert await client.read(len(FRAMES[2])) == FRAMES[2]
        gates[1].set()
        for client in (leader, follower):
            assert await client.rest() == b"".join(FRAMES[3:])
    assert upstream.calls == 1


@pytest.mark.parametrize("settings", ["{}", "policy: {on_client_gone: abort}"])
async def test_followers_go_on_when_the_leader_leaves(
    proxy: StartProxy, upstream: ScriptedUpstream, settings: str
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with proxy(settings) as app, connect(app.url) as follower:
        async with connect(app.url) as leader:
            await begin(leader)
            await leader.head()
            await begin(follower)
            await follower.head()
            leader.reset()
        await until(lambda: figure(app, "in_flight_requests") == 1)
        gate.set()
        assert await follower.rest() == b"".join(FRAMES)
        assert (await ask(app.url, question(stream=True))).is_hit
    assert upstream.calls == 1


async def test_a_json_question_waits_for_a_stream_that_answers_it(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with proxy() as app, connect(app.url) as streaming, connect(app.url) as waiting:
        await begin(streaming)
        await streaming.head()
        await begin(waiting, stream=False)
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
        answer = await waiting.answer()
        assert await streaming.rest() == b"".join(FRAMES)
    assert upstream.calls == 1
    assert answer.is_hit
    assert answer.text == "同じ same gleich"


async def test_a_json_question_asks_itself_when_the_stream_came_to_nothing(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, end=End.RST), json_reply(chat_answer("own")))
    async with proxy() as app, connect(app.url) as streaming, connect(app.url) as waiting:
        await begin(streaming)
        await streaming.head()
        await begin(waiting, stream=False)
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
        assert (await waiting.answer()).text == "own"
    assert upstream.calls == 2


async def test_a_stream_does_not_wait_for_a_json_answer(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    never = asyncio.Event()
    upstream.will(json_reply(chat_answer("late"), before_head=never), sse_reply(*FRAMES))
    async with proxy() as app, connect(app.url) as waiting:
        await begin(waiting, stream=False)
        await upstream.received(1)
        assert (await ask(app.url, question(stream=True))).text == "同じ same gleich"
        never.set()
        assert (await waiting.answer()).text == "late"


@pytest.mark.parametrize("wish", ["no-cache", "no-store"])
async def test_who_wants_it_fresh_does_not_join(
    proxy: StartProxy, upstream: ScriptedUpstream, wish: str
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]), sse_reply(*chat_stream(["fresh"])))
    async with proxy() as app, connect(app.url) as leader:
        await begin(leader)
        await leader.head()
        wished = [("Cache-Control", wish)]
        fresh = await ask(app.url, question(stream=True), fields=wished)
        gate.set()
        await leader.rest()
    assert fresh.text == "fresh"
    assert "collapsed" not in fresh.cache
    assert upstream.calls == 2


async def test_a_failure_before_the_first_byte_is_shared(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(Reply(status=0, end=End.FIN, before_head=gate))
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = group.create_task(together(app.url, 10, question()))
        await until(lambda: figure(app, "in_flight_requests") == 10)
        gate.set()
        answers = await asked
        assert {answer.status for answer in answers} == {502}
        assert {answer.json()["error"]["code"] for answer in answers} == {"upstream_broken"}
        assert (await ask(app.url)).text == "answer 2"
    assert upstream.calls == 2


async def test_a_failure_after_the_first_byte_reaches_every_reader_and_nothing_is_stored(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(*FRAMES[:3], gate, end=End.RST))
    async with proxy() as app, connect(app.url) as leader, connect(app.url) as follower:
        for client in (leader, follower):
            await begin(client)
            await client.head()
            await client.read(len(b"".join(FRAMES[:3])))
        gate.set()
        for client in (leader, follower):
            told = await client.piece()
            assert told.startswith(b'data: {"error":{')
            assert b"upstream_broken" in told
            assert await client.closed() == b""
        assert not (await ask(app.url, question(stream=True))).is_hit
    assert upstream.calls == 2


@pytest.mark.parametrize(
    "reply",
    [
        error_reply(503, fields=[("Retry-After", "1")]),
        json_reply(chat_answer("cut", finish_reason="length")),
        json_reply(b"no json"),
    ],
    ids=["503", "cut off", "unreadable"],
)
async def test_an_answer_that_is_not_stored_serves_those_who_wait_at_once(
    proxy: StartProxy, upstream: ScriptedUpstream, reply: Reply
) -> None:
    gate = asyncio.Event()
    upstream.will(
        Reply(fields=reply.fields, status=reply.status, steps=reply.steps, before_head=gate)
    )
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = group.create_task(together(app.url, 20, question()))
        await until(lambda: figure(app, "in_flight_requests") == 20)
        gate.set()
        answers = await asked
        assert {answer.status for answer in answers} == {reply.status}
        assert upstream.calls == 1
        assert not (await ask(app.url)).is_hit
    assert upstream.calls == 2


async def test_who_comes_after_the_head_of_what_is_not_stored_asks_himself(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(Reply(status=500, steps=[b"{", gate, b"}"]))
    async with proxy() as app, connect(app.url) as first:
        await first.send("POST", CHAT, fields=posting(), body=question())
        assert (await first.head()).status == 500
        assert (await ask(app.url)).text == "answer 2"
        gate.set()
        await first.rest()


async def test_bypassed_questions_are_never_shared(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("policy: {deterministic_only: true}") as app:
        answers = await together(app.url, 12, question(temperature=1))
    assert upstream.calls == 12
    assert len({answer.text for answer in answers}) == 12


async def test_answers_with_another_coding_are_another_flight(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: sse_reply(gate, frame({"for": seen.header("Accept-Encoding")}))
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = [
            group.create_task(
                ask(app.url, question(stream=True), fields=[("Accept-Encoding", coding)])
            )
            for coding in ("gzip", "identity", "gzip")
        ]
        await until(lambda: figure(app, "in_flight_requests") == 3)
        gate.set()
    assert [b"gzip" in task.result().body for task in asked] == [True, False, True]
    assert upstream.calls == 2


async def test_hang_ups_do_not_stop_the_next(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    upstream.will(hang_up(), hang_up(End.RST), hang_up(after_head=True))
    async with proxy() as app:
        first = await together(app.url, 1, question())
        second = await together(app.url, 1, question())
        assert [first[0].status, second[0].status] == [502, 502]
        async with connect(app.url) as client:
            await begin(client)
            head = await client.head()
            assert head.status == 200
            assert b"upstream_broken" in await client.closed() or True
        assert (await ask(app.url)).text == "answer 4"
