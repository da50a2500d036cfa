"""The scripted LLM server: an asyncio protocol that writes fixed bytes."""

import asyncio
import sys
from collections.abc import Iterator
from typing import cast

import uvloop

from tests.bench.work import CHAT_ANSWER, CHAT_FRAMES, MODELS_ANSWER

_COMMON = (
    b"HTTP/1.1 200 OK\r\ndate: Mon, 01 Dec 2025 09:00:00 GMT\r\nserver: bench\r\n"
    b"x-request-id: 6f1c2a4e8b0d\r\n"
)
_STREAM_HEAD = (
    _COMMON + b"content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_STREAM = (
    _STREAM_HEAD,
    *(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in CHAT_FRAMES),
    b"0\r\n\r\n",
)


def _document(body: bytes) -> bytes:
    head = _COMMON + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


_CHAT = _document(CHAT_ANSWER)
_MODELS = _document(MODELS_ANSWER)


def is_complete(data: bytes) -> bool:
    """Whether a request has arrived in full."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    lines = head.lower()
    at = lines.find(b"\r\ncontent-length:")
    if at >= 0:
        return len(body) >= int(lines[at + 17 :].partition(b"\r\n")[0])
    if b"\r\ntransfer-encoding: chunked" in lines:
        return body.endswith(b"0\r\n\r\n")
    return True


class ScriptedUpstream(asyncio.Protocol):
    """Answers one request at a time; a stream goes out as one write a chunk."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        # uvloop's transport has the methods without the base class
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer once the request is complete."""
        self._received += data
        if not is_complete(self._received) or self._transport is None:
            return
        request, self._received = self._received, b""
        if not request.startswith(b"POST /v1/chat/completions"):
            self._transport.write(_MODELS)
        elif b'"stream":true' in request:
            self._write_next(self._transport, iter(_STREAM))
        else:
            self._transport.write(_CHAT)

    def _write_next(self, transport: asyncio.WriteTransport, pieces: Iterator[bytes]) -> None:
        piece = next(pieces, None)
        if piece is None or transport.is_closing():
            return
        transport.write(piece)
        # uvloop joins what is written within one turn of the loop, so each piece takes its own turn
        self._loop.call_soon(self._write_next, transport, pieces)


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ScriptedUpstream(loop), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
