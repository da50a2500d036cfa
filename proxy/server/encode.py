"""Our response onto the client's connection: framing, back-pressure, and ends that are no ends.

The bytes are written here and not by aiohttp's StreamResponse: that one would add fields of its
own (Server, Date, Content-Type), and costs a hit a quarter of its time.
"""

import asyncio
import socket
import struct
from wsgiref.handlers import format_date_time

from aiohttp.http import HttpVersion11

from proxy.core.cache.cache_status import cache_status
from proxy.core.errors import ProxyError
from proxy.core.exchange import Exchange
from proxy.core.model import LiveBody, Response
from proxy.core.wire.sse import at_boundary, encode
from proxy.ports import Clock
from proxy.server.incoming import Incoming

STALL_SECONDS = 300.0
"""A client that takes nothing for so long is given up."""
_JOINED_BYTES = 64 * 1024
"""Up to this size head and body go out in one write; above it the body is not copied."""
_BOUNDARY_BYTES = 8
_NO_BODY = frozenset({204, 304})


class Encoder:
    """Writes responses."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._date = b""
        self._date_second = -1
        self.is_draining = False
        """Set at shutdown: every response asks the client to close the connection."""

    async def send(self, request: Incoming, response: Response, exchange: Exchange) -> bool:
        """Write a response; whether the connection may be used again.

        Raises ConnectionError when the client has gone. An upstream that breaks off in the middle
        is told to the client by an error frame where that is possible, and by a cut connection.
        """
        exchange.status = response.status
        keeps_alive = request.keep_alive and not self.is_draining
        own = cache_status(exchange) if exchange.fwd or exchange.level else b""
        body = response.body
        if isinstance(body, bytes):
            self._send_whole(request, response, body, own, exchange, keeps_alive=keeps_alive)
            if request.protocol.writing_paused:
                await _drain(request)
            return keeps_alive
        try:
            return await self._send_live(request, response, body, own, exchange, keeps_alive)
        finally:
            await body.aclose()

    async def send_error(self, request: Incoming, error: ProxyError, exchange: Exchange) -> bool:
        """Write an error of our own making: no Cache-Status (RFC 9211 section 2)."""
        exchange.error = error.code
        exchange.fwd = exchange.level = None
        should_retry = b"true" if error.should_retry else b"false"
        head = b"Content-Type: application/json\r\nx-should-retry: " + should_retry + b"\r\n"
        if error.retry_after is not None:
            head += b"Retry-After: %d\r\n" % error.retry_after
        body = error.body()
        response = Response(
            status=error.status,
            reason=error.reason,
            head=head,
            body=body,
            length=len(body),
        )
        return await self.send(request, response, exchange)

    def _send_whole(
        self,
        request: Incoming,
        response: Response,
        body: bytes,
        own: bytes,
        exchange: Exchange,
        *,
        keeps_alive: bool,
    ) -> None:
        is_chunked = response.is_event_stream and request.version == HttpVersion11
        framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(body)
        head = b"HTTP/1.1 %d %b\r\n%b%bx-request-id: %b\r\nDate: %b\r\n%b\r\n%b\r\n" % (
            response.status,
            response.reason,
            response.head,
            own,
            exchange.request_id.encode("utf-8", "surrogateescape"),
            self._date_value(),
            framing,
            _connection(request, keeps_alive=keeps_alive),
        )
        if request.method == "HEAD":
            body = b""
        elif is_chunked:
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        if len(body) <= _JOINED_BYTES:
            _write(request, head + body)
        else:
            _write(request, head)
            _write(request, body)
        exchange.bytes_sent = len(body)
        exchange.first_byte = self._clock.monotonic()

    async def _send_live(
        self,
        request: Incoming,
        response: Response,
        body: LiveBody,
        own: bytes,
        exchange: Exchange,
        keeps_alive: bool,
    ) -> bool:
        has_body = request.method != "HEAD" and response.status not in _NO_BODY
        is_chunked = False
        framing = b""
        if response.length is not None:
            framing = b"Content-Length: %d\r\n" % response.length
        elif has_body and request.version == HttpVersion11:
            framing = b"Transfer-Encoding: chunked\r\n"
            is_chunked = True
        elif has_body:
            keeps_alive = False  # only the end of the connection can tell the end of the body
        head = b"HTTP/1.1 %d %b\r\n%b%b%b%b%b\r\n" % (
            response.status,
            response.reason,
            response.head,
            own,
            self._request_id(response, exchange),
            framing,
            _connection(request, keeps_alive=keeps_alive),
        )
        if not has_body:
            _write(request, head)
            return keeps_alive
        piece = body.ready()
        if piece:
            exchange.first_byte = self._clock.monotonic()
        exchange.bytes_sent = len(piece)
        is_done = body.at_end
        _write(request, head + _frame(piece, is_chunked=is_chunked, is_last=is_done))
        if is_done:
            return keeps_alive
        try:
            await self._relay(request, body, piece, exchange, is_chunked=is_chunked)
        except _BrokenOffError as broken:
            exchange.error = broken.error.code
            is_stream = response.is_event_stream and bool(exchange.operation)
            if not is_chunked and response.length is None:
                _abort(request)  # an orderly close would look like the end of the body
            else:
                _break_off(request, broken, is_stream=is_chunked and is_stream)
            return False
        return keeps_alive

    async def _relay(
        self,
        request: Incoming,
        body: LiveBody,
        first: bytes,
        exchange: Exchange,
        *,
        is_chunked: bool,
    ) -> None:
        tail = first[-_BOUNDARY_BYTES:]
        is_done = False
        try:
            async for piece in body:
                if exchange.first_byte is None:
                    exchange.first_byte = self._clock.monotonic()
                is_done = body.at_end
                _write(request, _frame(piece, is_chunked=is_chunked, is_last=is_done))
                exchange.bytes_sent += len(piece)
                tail = (tail + piece)[-_BOUNDARY_BYTES:]
                if request.protocol.writing_paused:
                    await _drain(request)
        except ProxyError as error:
            raise _BrokenOffError(error, tail) from error
        if is_chunked and not is_done:
            _write(request, b"0\r\n\r\n")

    def _request_id(self, response: Response, exchange: Exchange) -> bytes:
        if b"\r\nx-request-id:" in b"\r\n" + response.head.lower():
            return b""
        return b"x-request-id: %b\r\n" % exchange.request_id.encode("utf-8", "surrogateescape")

    def _date_value(self) -> bytes:
        now = int(self._clock.now())
        if now != self._date_second:
            self._date_second = now
            self._date = format_date_time(now).encode()
        return self._date


class _BrokenOffError(Exception):
    """The body ended before its time, behind `tail`."""

    def __init__(self, error: ProxyError, tail: bytes) -> None:
        super().__init__(error.message)
        self.error = error
        self.tail = tail


def _break_off(request: Incoming, broken: _BrokenOffError, *, is_stream: bool) -> None:
    # Never a normal end: the last chunk or a part of the declared length stays out. A stream of an
    # operation gets an error frame first, which the SDKs raise, unless it broke inside a frame.
    if request.transport is None:
        return
    if is_stream and at_boundary(broken.tail):
        frame = encode(broken.error.body())
        request.transport.write(_frame(frame, is_chunked=True, is_last=False))
    request.transport.close()


def _abort(request: Incoming) -> None:
    if request.transport is not None:
        # Without it abort() sends FIN, as at the end of a whole body.
        sock = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()


def _frame(piece: bytes, *, is_chunked: bool, is_last: bool) -> bytes:
    if not is_chunked:
        return piece
    end = b"0\r\n\r\n" if is_last else b""
    return b"%x\r\n%b\r\n%b" % (len(piece), piece, end) if piece else end


def _connection(request: Incoming, *, keeps_alive: bool) -> bytes:
    if not keeps_alive:
        return b"Connection: close\r\n"
    # RFC 9112 9.3: an HTTP/1.0 client that asked for it must be told.
    return b"" if request.version == HttpVersion11 else b"Connection: keep-alive\r\n"


def _write(request: Incoming, data: bytes) -> None:
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("The client has gone.")
    transport.write(data)


async def _drain(request: Incoming) -> None:
    async with asyncio.timeout(STALL_SECONDS):
        await request.writer.drain()
