"""The end of the process: what is under way ends whole, nothing recorded is lost (G6, B59)."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.conftest import Serve, StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, call, connect, posting, question
from tests.fakes.upstream import ScriptedUpstream, json_reply, sse_reply
from tests.watch import figure, until

FRAMES = chat_stream(["bis", " zum", " Ende 完"])


async def test_running_streams_end_whole_and_no_new_connection_is_taken(
    serve: Serve, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    async with serve("--upstream", upstream.url) as process:
        async with connect(process.url) as client, connect(process.url) as idle:
            await process.ready()
            assert (await idle.ask("GET", "/v1/models")).status == 200
            upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
            await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
            await client.head()
            process.signal(signal.SIGTERM)
            assert (await process.logged("draining"))["requests"] == 1
            assert await idle.closed() == b""
            with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the system likes
                async with connect(process.url):
                    pass
            ready = await call(process.admin_url, "GET", "/readyz")
            assert (ready.status, ready.body) == (503, b"draining\n")
            assert (await call(process.admin_url, "GET", "/livez")).status == 200
            gate.set()
            assert await client.rest() == b"".join(FRAMES)
            assert await client.closed() == b""
        assert await process.wait() == 0
        await process.logged("stopped")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_what_does_not_end_is_cut_after_the_grace(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text("shutdown: {grace: 300ms}\n")
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    process = serve("--upstream", upstream.url, "--config", str(file))
    async with process, connect(process.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        await client.read(len(FRAMES[0]))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        process.signal(number)
        assert b"[DONE]" not in await client.closed()
        assert await process.wait() == 0
        assert loop.time() - begun > 0.25


async def test_a_second_signal_ends_at_once(serve: Serve, upstream: ScriptedUpstream) -> None:
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    process = serve("--upstream", upstream.url)
    async with process, connect(process.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        process.signal(signal.SIGTERM)
        await process.logged("draining")
        process.signal(signal.SIGTERM)
        async with asyncio.timeout(2):
            assert await process.wait() == 1


async def test_an_idle_process_ends_at_once(serve: Serve, upstream: ScriptedUpstream) -> None:
    async with serve("--upstream", upstream.url) as process, connect(process.url) as kept:
        assert (await kept.ask("GET", "/v1/models")).status == 200
        process.signal(signal.SIGTERM)
        async with asyncio.timeout(3):
            assert await process.wait() == 0


async def test_an_answer_nobody_waits_for_any_more_is_recorded_before_the_end(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with proxy() as app:
        async with connect(app.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
            await client.head()
        await until(lambda: not figure(app, "in_flight_requests"))
        asyncio.get_running_loop().call_later(0.1, gate.set)
        await app.stop()
        assert figure(app, "entries") == 1
        assert figure(app, "background_tasks") == 0


async def test_answers_while_draining_ask_the_client_to_close(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("late"), before_head=gate))
    log: list[bytes] = []
    async with proxy(log=log) as app, connect(app.url) as client, asyncio.TaskGroup() as group:
        await client.send("POST", CHAT, fields=posting(), body=question())
        await upstream.received(1)
        group.create_task(app.stop())
        await until(lambda: b"draining" in b"".join(log))
        gate.set()
        answer = await client.answer()
    assert answer.text == "late"
    assert answer.header("Connection") == "close"
