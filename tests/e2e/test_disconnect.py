"""A client that leaves: the upstream is let go or finished, and nothing stays behind (B31)."""

import asyncio
import gc
import os

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, Connection, ask, call, connect, posting, question
from tests.fakes.upstream import Reply, ScriptedUpstream, Seen, json_reply, silence, sse_reply
from tests.watch import figure, is_idle, until

ABORT = "policy: {on_client_gone: abort}"
FRAMES = chat_stream(["eins", "zwei", "drei"])


async def stream_one_frame(client: Connection, path: str = CHAT) -> None:
    await client.send("POST", path, fields=posting(), body=question(stream=True))
    await client.head()
    await client.read(len(FRAMES[0]))


@pytest.mark.parametrize(
    ("path", "settings"),
    [(CHAT, ABORT), ("/v1/audio/speech", "{}")],
    ids=["recorded", "passed on"],
)
@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_the_upstream_is_let_go_within_a_second(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str, settings: str, how: str
) -> None:
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    async with proxy(settings) as app:
        async with connect(app.url) as client:
            await stream_one_frame(client, path)
            if how == "rst":
                client.reset()
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        await until(is_idle(app))
        assert not (await ask(app.url, question(stream=True))).is_hit


@pytest.mark.parametrize("stream", [False, True])
async def test_leaving_before_the_answer_began_lets_the_upstream_go(
    proxy: StartProxy, upstream: ScriptedUpstream, *, stream: bool
) -> None:
    upstream.will(silence())
    async with proxy(ABORT) as app:
        async with connect(app.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=question(stream=stream))
            await upstream.received(1)
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        await until(is_idle(app))


async def test_leaving_while_the_body_is_sent_lets_the_upstream_go(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        async with connect(app.url) as client:
            await client.send_raw(
                b"POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\nabc"
            )
            await until(lambda: figure(app, "in_flight_requests"))
        await until(is_idle(app))
        assert (await call(app.url, "GET", "/v1/models")).status == 200
    assert upstream.calls == 1


async def test_an_answer_is_finished_for_the_next_who_asks(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with proxy() as app:
        async with connect(app.url) as client:
            await stream_one_frame(client)
        await until(lambda: not figure(app, "in_flight_requests"))
        assert figure(app, "flights") == 1
        gate.set()
        await until(is_idle(app))
        again = await ask(app.url, question(stream=True))
    assert again.is_hit
    assert again.body == b"".join(FRAMES)
    assert upstream.aborts == 0


async def test_finishing_is_bounded_in_time(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    async with proxy("policy: {finish_within: 50ms}") as app:
        async with connect(app.url) as client:
            await stream_one_frame(client)
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        await until(is_idle(app))


async def test_an_answer_that_cannot_be_stored_is_not_finished(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    fields = [("Content-Type", "application/json")]
    upstream.will(Reply(status=500, fields=fields, steps=[b"{", asyncio.Event()]))
    async with proxy() as app:
        async with connect(app.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=question())
            await client.head()
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        await until(is_idle(app))


async def test_three_hundred_leaving_clients_leave_nothing_behind(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    def respond(seen: Seen) -> Reply:
        if b"LEAVE" not in seen.body:
            return json_reply(chat_answer("well"))
        return sse_reply(FRAMES[0], asyncio.Event()) if b"stream" in seen.body else silence()

    upstream.respond = respond
    log: list[bytes] = []

    async def leave(number: int) -> None:
        async with connect(app.url) as client:
            text = f"LEAVE {number}"
            body = question(text, stream=None if number % 3 == 0 else True)
            await client.send("POST", CHAT, fields=posting(f"key-{number % 7}"), body=body)
            if number % 3 == 1:
                await client.head()
                await client.read(len(FRAMES[0]))
                client.reset()

    async with proxy(ABORT + "\nlimits: {max_connections: 10}", log=log) as app:
        assert (await ask(app.url)).text == "well"
        gc.collect()
        before = (len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")))
        for start in range(0, 300, 10):
            async with asyncio.TaskGroup() as group:
                for number in range(start, start + 10):
                    group.create_task(leave(number))
        await until(is_idle(app))
        async with asyncio.timeout(2):
            assert (await ask(app.url, question("And now?"))).text == "well"
        await until(lambda: (len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd"))) <= before)
        assert figure(app, "entries") == 2
        assert figure(app, "connections") <= 1
    assert not [line for line in log if b'"error"' in line or b"Traceback" in line]
