"""An upstream that fails: what the client is told, and that the next request is well (B25, B26)."""

import asyncio
import re

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, ask, call, connect, posting, question
from tests.fakes.raw_upstream import Conversation, Peer, RawUpstream
from tests.fakes.upstream import End, Reply, ScriptedUpstream, hang_up, silence, sse_reply

FRAMES = chat_stream(["one", "二"])
ANSWER = b'{"choices": []}'


async def answer_once(peer: Peer) -> None:
    """A server that says it keeps the connection, and closes it after the answer."""
    await peer.read_request()
    await peer.answer(ANSWER, fields=b"Connection: keep-alive\r\n")


async def answer_once_and_wait_for_the_next(peer: Peer) -> None:
    """Closes at the worst moment: when the next request has arrived."""
    await answer_once(peer)
    await peer.read_request()


@pytest.mark.parametrize("path", [CHAT, "/v1/rerank"])
@pytest.mark.parametrize("conversation", [answer_once, answer_once_and_wait_for_the_next])
async def test_connections_that_close_while_kept_are_not_noticed_by_clients(
    proxy: StartProxy, path: str, conversation: Conversation
) -> None:
    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:

        async def post(number: int) -> int:
            return (await ask(app.url, question(f"Q{number}"), path=path)).status

        async with connect(app.url) as client:
            for number in range(200):
                await client.send(
                    "POST", path, fields=posting(), body=question(f"sequential {number}")
                )
                assert (await client.answer()).status == 200
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(post(number)) for number in range(50)]
        assert {task.result() for task in calls} == {200}


async def test_a_retry_is_counted_and_not_repeated(proxy: StartProxy) -> None:
    received: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        received.append((await peer.read_request())[1])
        if b"well" in received[-1]:
            await peer.answer(ANSWER)
            received.append((await peer.read_request())[1])

    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        assert (await ask(app.url, question("well"))).status == 200
        broken = await ask(app.url, question("broken"))
        assert broken.status == 502
        page = await call(app.admin_url, "GET", "/metrics")
        assert re.search(rb"reprise_upstream_retries_total\{upstream=\"[^\"]+\"\} 1.0", page.body)
    # On the pooled connection, and once more on a new one.
    assert [b"broken" in body for body in received] == [False, True, True]


@pytest.mark.parametrize("end", [End.FIN, End.RST])
@pytest.mark.parametrize("path", [CHAT, "/v1/audio/speech"])
async def test_a_new_connection_that_dies_is_a_bad_gateway_after_one_call(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str, end: End
) -> None:
    upstream.will(hang_up(end))
    async with proxy() as app:
        failed = await ask(app.url, path=path)
        assert (failed.status, upstream.calls) == (502, 1)
        error = failed.json()["error"]
        assert error["code"] == "upstream_broken"
        assert set(error) == {"message", "type", "param", "code"}
        assert failed.header("x-should-retry") == "true"
        assert failed.cache == ""
        assert (await ask(app.url, path=path)).status == 200


async def test_a_port_that_refuses_is_a_bad_gateway(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    await upstream.stop()
    async with proxy() as app:
        failed = await ask(app.url)
    assert (failed.status, failed.json()["error"]["code"]) == (502, "upstream_unreachable")


async def test_no_answer_in_time_is_a_gateway_timeout(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(silence())
    async with proxy("timeouts: {first_byte: 50ms}") as app:
        failed = await ask(app.url)
        assert (failed.status, failed.json()["error"]["code"]) == (504, "upstream_timeout")
        async with asyncio.timeout(1):
            await upstream.requests[0].aborted.wait()
        assert (await ask(app.url)).status == 200
    assert upstream.calls == 2


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_stream_that_breaks_off_ends_with_an_error_and_never_with_done(
    proxy: StartProxy, upstream: ScriptedUpstream, end: End
) -> None:
    cut = asyncio.Event()
    upstream.will(sse_reply(*FRAMES[:3], cut, end=end))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        assert await client.read(len(b"".join(FRAMES[:3]))) == b"".join(FRAMES[:3])
        cut.set()
        told = await client.piece()
        assert told.startswith(b'data: {"error":{')
        assert told.endswith(b"\n\n")
        assert await client.closed() == b""  # the last chunk is missing
        assert upstream.calls == 1
        again = await ask(app.url, question(stream=True))
        assert not again.is_hit
        assert again.text.startswith("answer")


@pytest.mark.parametrize(
    ("sent", "path"),
    [([FRAMES[0], FRAMES[1][:-1]], CHAT), ([b"ID3 not events"], "/v1/audio/speech")],
    ids=["inside a frame", "of a path that is only passed on"],
)
async def test_nothing_is_added_where_an_error_frame_would_not_be_understood(
    proxy: StartProxy, upstream: ScriptedUpstream, sent: list[bytes], path: str
) -> None:
    cut = asyncio.Event()
    upstream.will(sse_reply(*sent, cut, end=End.RST))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", path, fields=posting(), body=question(stream=True))
        await client.head()
        await client.read(len(b"".join(sent)))
        cut.set()
        assert await client.closed() == b""


async def test_a_stream_without_a_byte_ends_with_an_error(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(hang_up(after_head=True))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        assert b'{"error":{' in await client.closed()


async def test_a_body_shorter_than_its_length_is_not_ended_normally(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    cut = asyncio.Event()
    fields = [("Content-Type", "application/json")]
    upstream.will(Reply(fields=fields, steps=[b'{"a"', cut], length=50))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question())
        assert (await client.head()).header("Content-Length") == "50"
        assert await client.read(4) == b'{"a"'
        cut.set()
        assert await client.closed() == b""
        assert not (await ask(app.url)).is_hit


async def test_silence_within_a_stream_ends_it_with_an_error(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    async with proxy("timeouts: {between_bytes: 50ms}") as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        await client.read(len(FRAMES[0]))
        assert b"upstream_timeout" in await client.piece()
        assert await client.closed() == b""


async def test_an_http_1_0_client_sees_a_cut_body_as_cut(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    cut = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], cut, end=End.RST))
    async with proxy() as app, connect(app.url) as client:
        body = question(stream=True)
        await client.write(
            b"POST %b HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (CHAT.encode(), len(body), body)
        )
        async with asyncio.timeout(5):
            await client.reader.readuntil(FRAMES[0])
        cut.set()
        with pytest.raises(ConnectionResetError):
            await client.closed()


async def test_get_requests_survive_a_dead_connection_too(proxy: StartProxy) -> None:
    async with (
        RawUpstream(answer_once_and_wait_for_the_next) as raw,
        proxy(upstream=raw.url) as app,
    ):
        for _ in range(20):
            assert (await call(app.url, "GET", "/v1/models")).status == 200


async def test_a_stored_answer_is_served_while_the_upstream_is_down(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        first = await ask(app.url)
        await upstream.stop()
        again = await ask(app.url)
    assert again.is_hit
    assert again.json() == first.json() == chat_answer("answer 1")


async def test_an_error_in_answer_to_head_has_no_body(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    await upstream.stop()
    async with proxy() as app, connect(app.url) as client:
        for _ in range(2):
            failed = await client.ask("HEAD", "/v1/models")
            assert (failed.status, failed.body) == (502, b"")
            assert int(failed.header("Content-Length") or 0) > 0
