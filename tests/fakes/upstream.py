"""A real HTTP server on loopback that answers as a test tells it.

An answer is a `Reply`: a head and a list of steps. A step is bytes to write, or an
`asyncio.Event` to wait for, so that a test decides when the next piece leaves.
"""

import asyncio
import gzip
import json
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self, TypeAlias

from aiohttp import web
from multidict import CIMultiDict

from tests.fakes.answers import chat_answer, chat_stream, usage

Step: TypeAlias = bytes | asyncio.Event
Pairs: TypeAlias = Iterable[tuple[str, str]]

DEADLINE = 10.0
"""Seconds after which a wait of a test has failed."""


class End(Enum):
    """How a reply ends once its steps are done."""

    CLEAN = "clean"
    FIN = "fin"
    """The connection is closed, whatever the head promised."""
    RST = "rst"
    """The connection is reset; what is still unsent is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. Without `length`, a body of more than one step goes out chunked."""

    status: int = 200
    reason: str | None = None
    fields: Pairs = ()
    steps: Iterable[Step] = ()
    length: int | None = None
    """The Content-Length to claim; may be more than is sent."""
    before_head: asyncio.Event | None = None
    """Nothing leaves until it is set."""
    early: bool = False
    """Answer without reading the request's body."""
    end: End = End.CLEAN


@dataclass(slots=True, eq=False)
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    fields: tuple[tuple[bytes, bytes], ...]
    """Order, case and repetition kept."""
    body: bytes = b""
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the peer has left before the answer was whole."""

    def header(self, name: str) -> str | None:
        """The first value of a field; case does not count."""
        values = (v for n, v in self.fields if n.lower() == name.lower().encode())
        value = next(values, None)
        return None if value is None else value.decode("latin-1")

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Respond: TypeAlias = Callable[[Seen], Reply]


def json_reply(
    document: Mapping[str, Any] | bytes,
    *,
    status: int = 200,
    fields: Pairs = (),
    before_head: asyncio.Event | None = None,
) -> Reply:
    """A JSON answer with its true Content-Length."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Reply(
        status=status,
        fields=[("Content-Type", "application/json"), *fields],
        steps=[body],
        length=len(body),
        before_head=before_head,
    )


def error_reply(status: int, message: str = "no", *, fields: Pairs = ()) -> Reply:
    """An OpenAI error object."""
    error = {"message": message, "type": "test_error", "param": None, "code": None}
    return json_reply({"error": error}, status=status, fields=fields)


def sse_reply(*steps: Step, end: End = End.CLEAN, fields: Pairs = ()) -> Reply:
    """A stream of events; each step is its own chunk."""
    return Reply(fields=[("Content-Type", "text/event-stream"), *fields], steps=steps, end=end)


def gzip_reply(body: bytes, *, content_type: str = "application/json") -> Reply:
    """A gzip-coded answer, whatever the client accepts."""
    coded = gzip.compress(body)
    fields = [("Content-Type", content_type), ("Content-Encoding", "gzip")]
    return Reply(fields=fields, steps=[coded], length=len(coded))


def silence() -> Reply:
    """No answer at all, for as long as the peer waits."""
    return Reply(before_head=asyncio.Event())


def hang_up(end: End = End.FIN, *, after_head: bool = False) -> Reply:
    """End the connection instead of answering, or right after the head."""
    if after_head:
        return sse_reply(end=end)
    return Reply(status=0, end=end)


class ScriptedUpstream:
    """Answers from `will`'s queue first, then by `respond`.

    Untouched, it answers every chat question with `answer N`, N counting its calls, in the shape
    that the question asks for.
    """

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.respond: Respond = self._chat
        self.aborts = 0
        self.aborted = asyncio.Event()
        """Set once any peer has left before its answer was whole."""
        self.url = ""
        self._queue: deque[Reply] = deque()
        self._arrived = asyncio.Condition()
        self._stopping = False
        self._runner = web.ServerRunner(
            web.Server(self._handle, handler_cancellation=True, auto_decompress=False),
            shutdown_timeout=0.1,
        )

    @property
    def calls(self) -> int:
        """How many requests have arrived."""
        return len(self.requests)

    def will(self, *replies: Reply) -> None:
        """Answer the next requests with these, in order."""
        self._queue.extend(replies)

    async def received(self, calls: int) -> Seen:
        """Wait until so many requests have arrived whole; the last of them."""
        async with asyncio.timeout(DEADLINE), self._arrived:
            await self._arrived.wait_for(lambda: self.calls >= calls)
        return self.requests[calls - 1]

    async def start(self, listening: socket.socket | None = None) -> None:
        """Take connections of this socket, which stop() closes; else listen on a free port."""
        await self._runner.setup()
        site: web.BaseSite
        if listening is None:
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
        else:
            site = web.SockSite(self._runner, listening)
        await site.start()
        self.url = site.name

    async def stop(self) -> None:
        """Close everything; waiting replies are dropped. The port refuses from then on."""
        self._stopping = True
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def _chat(self, seen: Seen) -> Reply:
        text = f"answer {self.calls}"
        if not (seen.body.startswith(b"{") and seen.json().get("stream")):
            return json_reply(chat_answer(text))
        wanted = (seen.json().get("stream_options") or {}).get("include_usage")
        return sse_reply(*chat_stream([text[:3], text[3:]], usage=usage() if wanted else None))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        seen = Seen(request.method, request.raw_path, tuple(request.raw_headers))
        reply = self._queue.popleft() if self._queue else None
        try:
            if reply is None or not reply.early:
                if request.headers.get("Expect", "").lower() == "100-continue":
                    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    request.writer.output_size = 0
                seen.body = await request.content.read()
            async with self._arrived:
                self.requests.append(seen)
                self._arrived.notify_all()
            return await _play(reply or self.respond(seen), request)
        except (asyncio.CancelledError, ConnectionError):
            if not self._stopping:
                self.aborts += 1
                seen.aborted.set()
                self.aborted.set()
            raise


async def _play(reply: Reply, request: web.BaseRequest) -> web.StreamResponse:
    if reply.before_head is not None:
        await reply.before_head.wait()
    if reply.status == 0:
        _cut(reply.end, request)
        return web.Response()
    response = web.StreamResponse(
        status=reply.status, reason=reply.reason, headers=CIMultiDict(reply.fields)
    )
    response.content_length = reply.length
    await response.prepare(request)
    if request.method == "HEAD":
        return response
    sent = 0
    for step in reply.steps:
        if isinstance(step, bytes):
            await response.write(step)
            sent += len(step)
        else:
            await step.wait()
    if reply.end is not End.CLEAN:
        _cut(reply.end, request)
        return response
    await response.write_eof()
    if reply.length is not None and sent < reply.length:
        _cut(End.FIN, request)
    return response


def _cut(end: End, request: web.BaseRequest) -> None:
    transport = request.transport
    assert transport is not None
    if end is End.FIN:
        transport.close()
        return
    # A linger time of zero makes close() send RST in place of FIN.
    sock: socket.socket = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
