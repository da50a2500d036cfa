"""Responses on the wire: framing, the fields of this hop, and clients that stop reading."""

import asyncio
import re
from collections.abc import Callable, Iterator

import pytest

from proxy.app import App
from proxy.server import encode
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, Answer, ask, call, connect, posting, question
from tests.fakes.upstream import Reply, ScriptedUpstream, json_reply, sse_reply
from tests.watch import figure, until


def framing(answer: Answer) -> tuple[str | None, str | None]:
    return answer.header("Content-Length"), answer.header("Transfer-Encoding")


async def test_a_json_hit_has_its_exact_length(proxy: StartProxy) -> None:
    async with proxy() as app:
        await ask(app.url)
        hit = await ask(app.url)
    assert hit.is_hit
    assert framing(hit) == (str(len(hit.body)), None)
    assert hit.header("Content-Type") == "application/json"
    names = [name.lower() for name, _ in hit.fields]
    assert len(names) == len(set(names))
    assert set(names) == {
        *(b"content-type", b"x-cache-entry", b"cache-status", b"age"),
        *(b"x-request-id", b"date", b"content-length"),
    }


async def test_a_stream_hit_is_chunked(proxy: StartProxy) -> None:
    async with proxy() as app:
        await ask(app.url, question(stream=True))
        hit = await ask(app.url, question(stream=True))
    assert hit.is_hit
    assert framing(hit) == (None, "chunked")
    assert hit.header("Content-Type") == "text/event-stream"


@pytest.mark.parametrize("stream", [False, True])
async def test_answers_beyond_one_write_are_framed_alike(
    proxy: StartProxy, upstream: ScriptedUpstream, *, stream: bool
) -> None:
    text = "很长 long " * 20000
    upstream.will(sse_reply(*chat_stream([text])) if stream else json_reply(chat_answer(text)))
    async with proxy() as app:
        first = await ask(app.url, question(stream=stream))
        await until(lambda: figure(app, "entries"))
        hit = await ask(app.url, question(stream=stream))
    assert hit.is_hit
    assert hit.body == first.body
    assert hit.text == text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("warm", [False, True], ids=["miss", "hit"])
@pytest.mark.parametrize("keep", [False, True], ids=["close", "keep-alive"])
async def test_an_http_1_0_client_is_served_without_chunks(
    proxy: StartProxy, *, stream: bool, warm: bool, keep: bool
) -> None:
    body = question(stream=stream)
    request = (
        f"POST {CHAT} HTTP/1.0\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer key-a\r\nContent-Length: {len(body)}\r\n"
        + ("Connection: keep-alive\r\n\r\n" if keep else "\r\n")
    ).encode() + body
    async with proxy() as app:
        if warm:
            await ask(app.url, body)
        async with connect(app.url) as client:
            await client.send_raw(request, method="POST")
            head = await client.head()
            data = await client.rest()
            length, coding = framing(head)
            assert coding is None
            if length is not None:
                assert int(length) == len(data)
            assert head.header("Connection") == ("keep-alive" if keep and length else "close")
            if not (keep and length):
                assert await client.closed() == b""
    assert b"chatcmpl-fake" in data
    assert head.is_hit == warm


async def test_a_client_that_asks_to_close_is_closed(proxy: StartProxy) -> None:
    async with proxy() as app:
        for _ in range(2):
            async with connect(app.url) as client:
                closing = posting(fields=[("Connection", "close")])
                await client.send("POST", CHAT, fields=closing, body=question())
                answer = await client.answer()
                assert answer.header("Connection") == "close"
                assert await client.closed() == b""


async def test_every_response_has_one_request_id_and_keeps_the_clients(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(json_reply(chat_answer("a"), fields=[("X-Request-ID", "r1")]))
    async with proxy() as app:
        relayed = await ask(app.url)
        hit = await ask(app.url)
        given = await ask(app.url, fields=[("x-request-id", "mine")])
        refused = await ask(app.url, question("x"), fields=[("Cache-Control", "only-if-cached")])
    ids = [answer.headers("x-request-id") for answer in (relayed, hit, given, refused)]
    assert ids[0] == ["r1"]
    assert ids[2] == ["mine"]
    assert re.fullmatch(r"req_[0-9a-f]+", ids[1][0])
    assert ids[1] != ids[3]
    assert [len(values) for values in ids] == [1, 1, 1, 1]


async def test_a_hit_replays_nothing_that_was_about_one_request(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    once = [
        ("Set-Cookie", "s=1"),
        ("x-ratelimit-remaining", "3"),
        ("x-request-id", "r1"),
        ("openai-processing-ms", "12"),
        ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("Server-Timing", "db"),
        ("ETag", '"x"'),
        ("openai-version", "2020-10-01"),
    ]
    upstream.will(json_reply(chat_answer("a"), fields=once))
    async with proxy() as app:
        miss = await ask(app.url)
        hit = await ask(app.url)
    assert {name.lower() for name, _ in once} <= {n.decode().lower() for n, _ in miss.fields}
    assert hit.header("openai-version") == "2020-10-01"
    for name, value in once[:-1]:
        assert hit.header(name) != value
    assert hit.header("Age") == "0"
    assert miss.header("Age") is None


async def test_who_does_not_read_holds_nobody_back_and_is_cut_off_in_the_end(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "STALL_SECONDS", 0.3)
    # More than kernel buffers, the proxy's window and the kept log hold.
    piece = b": " + b"x" * 131070 + b"\n\n"
    upstream.respond = lambda seen: sse_reply(*[piece] * 400)
    async with (
        proxy("memory: {max_entry_bytes: 256KiB}") as app,
        connect(app.url) as silent,
        connect(app.url) as reading,
    ):
        silent.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a Transport
        for client in (silent, reading):
            await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        assert len((await reading.answer()).body) == len(piece) * 400
        await until(lambda: not figure(app, "in_flight_requests"))
        await until(lambda: figure(app, "connections") <= 1)
    assert upstream.calls == 1


async def test_nobody_reading_holds_the_upstream_back(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    piece = b": " + b"x" * 65534 + b"\n\n"
    sent = 0

    def flood() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(1600):
            sent += len(piece)
            yield piece

    upstream.will(Reply(fields=[("Content-Type", "text/event-stream")], steps=flood()))
    settings = "memory: {max_entry_bytes: 256KiB}\nshutdown: {grace: 0s}"
    async with proxy(settings) as app, connect(app.url) as silent:
        silent.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a Transport
        await silent.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await _stands_still(lambda: sent)
        assert 0 < sent < 40_000_000  # of 100 MB
        assert (await ask(app.url, question("Others?"), path="/v1/rerank")).status == 200


async def _stands_still(count: Callable[[], int]) -> None:
    """Wait until the count has not grown for many turns of the event loop."""
    async with asyncio.timeout(10):
        before, quiet = 0, 0
        while quiet < 300:
            await asyncio.sleep(0)
            quiet = quiet + 1 if before and count() == before else 0
            before = count()


async def test_an_oversized_answer_is_relayed_whole_and_not_stored(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    big = json_reply(chat_answer("x" * 6_000_000))
    upstream.will(big, big)
    async with proxy("memory: {max_entry_bytes: 5MiB}") as app:
        for _ in range(2):
            answer = await ask(app.url)
            assert len(answer.text) == 6_000_000
            assert not answer.is_hit
        assert figure(app, "entries") == 0
        assert _verdict(app, "too-large") == 2


async def test_one_event_without_an_end_is_relayed_in_bounded_memory(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    block = b"x" * (1 << 20)
    upstream.will(sse_reply(b"data: ", *[block] * 60))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        count = 0
        while piece := await client.piece():
            count += len(piece)
        assert count == 6 + 60 * len(block)
        assert figure(app, "store_bytes") == 0


def _verdict(app: App, verdict: str) -> float:
    for line in app.exposition().decode().splitlines():
        if line.startswith(f'reprise_answers_total{{verdict="{verdict}"}}'):
            return float(line.split()[1])
    return 0.0


async def test_the_head_of_a_live_answer_comes_with_the_first_bytes(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(Reply(steps=[b"whole"], length=5))
    async with proxy() as app:
        answer = await call(app.url, "GET", "/v1/models")
    assert framing(answer) == ("5", None)
    assert answer.body == b"whole"
