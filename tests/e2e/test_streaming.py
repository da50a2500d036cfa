"""Nothing is held back: what the upstream has said is with the client before it says more (A3)."""

import asyncio

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import DONE, chat_stream
from tests.fakes.client import CHAT, ask, connect, posting, question
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import Reply, ScriptedUpstream, Step, sse_reply

PATHS = {CHAT: "a stream that is recorded", "/v1/audio/speech": "a stream that only passes"}


def gated(pieces: list[bytes]) -> tuple[list[Step], list[asyncio.Event]]:
    """The steps of a reply with a gate before every piece."""
    gates = [asyncio.Event() for _ in pieces]
    steps: list[Step] = []
    for gate, piece in zip(gates, pieces, strict=True):
        steps += [gate, piece]
    return steps, gates


@pytest.mark.parametrize("path", PATHS)
async def test_each_piece_arrives_before_the_next_leaves_the_upstream(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str
) -> None:
    frames = chat_stream(["Weil", " es", " 光 "])
    pieces = [frames[0], b": ping\n\n", frames[1][:20], frames[1][20:], b": ping\n\n", *frames[2:]]
    steps, gates = gated(pieces)
    upstream.will(sse_reply(*steps))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", path, fields=posting(), body=question(stream=True))
        head = await client.head()
        assert head.status == 200
        assert head.header("Content-Type") == "text/event-stream"
        for gate, piece in zip(gates, pieces, strict=True):
            gate.set()
            assert await client.read(len(piece)) == piece
        assert await client.piece() == b""


@pytest.mark.parametrize("length", [None, 6])
async def test_a_json_answer_is_passed_on_as_it_comes(
    proxy: StartProxy, upstream: ScriptedUpstream, length: int | None
) -> None:
    gate = asyncio.Event()
    fields = [("Content-Type", "application/json")]
    upstream.will(Reply(fields=fields, steps=[b'{"a', gate, b'":1'[:3]], length=length))
    async with proxy() as app, connect(app.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question())
        assert (await client.head()).status == 200
        assert await client.read(3) == b'{"a'
        gate.set()
        assert await client.rest() == b'":1'


async def test_a_request_body_is_passed_on_as_it_comes(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    async def conversation(peer: Peer) -> None:
        received = b""
        while b"second" not in received:
            received += await peer.read(1)
            if received.endswith((b"first", b"second")):
                await seen.put(received[-6:])
        await peer.answer(b"{}")

    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        await client.send_raw(
            b"POST /v1/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nfirst\r\n",
            method="POST",
        )
        async with asyncio.timeout(5):
            assert (await seen.get()).endswith(b"first")
        await client.write(b"6\r\nsecond\r\n0\r\n\r\n")
        assert (await client.answer()).body == b"{}"


async def test_a_replayed_stream_is_the_recorded_one_pings_and_all(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    frames = [b": ping\n\n", *chat_stream(["same", " again"]), b": bye\n\n"]
    upstream.will(sse_reply(*frames))
    async with proxy() as app:
        first = await ask(app.url, question(stream=True))
        again = await ask(app.url, question(stream=True))
    assert not first.is_hit
    assert again.is_hit
    assert first.body == again.body == b"".join(frames)
    assert DONE in again.body
