"""The data path's HTTP client: aiohttp's connector and parser without its session.

The connector makes, pools and bounds connections (DNS, happy eyeballs, TLS); the parser is
aiohttp's llhttp. The session and request objects between them are left out: they rewrite header
fields and targets that shall pass to the letter, hide whether a connection was used before, and
cost more than all the rest of a miss.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage, StreamWriter
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD
from yarl import URL

from proxy.core.errors import ProxyError, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from proxy.core.model import Fields, LiveBody
from proxy.core.policy import Deadlines
from proxy.core.wire.headers import render
from proxy.ports import UpstreamReply, UpstreamRequest, Wire
from proxy.tasks import Tasks
from proxy.telemetry.load import CUT, Call, UpstreamLoad
from proxy.upstream.watchdog import Watchdog, Watchdogs
from proxy.upstream.wire import dial

KEEPALIVE_SECONDS = 4.0
"""Below the five seconds after which uvicorn (vLLM) and llama.cpp close an idle connection."""
MAX_FIELDS = 1024
_USED = 0.0
"""aiohttp's own read timeout: none, the watchdog has the deadlines. But unlike None, which a new
connection has, it tells one that was used before."""
_JOINED_BYTES = 64 * 1024
"""Up to this size head and body go out in one write; above it the body is not copied."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a URL's connections go."""

    host: bytes
    """The value of Host."""
    template: aiohttp.ClientRequest
    """Only for the connector, which takes address and TLS from it."""


class AiohttpUpstream:
    """Fulfils the Upstream port. One for the process; it survives configuration reloads."""

    def __init__(
        self,
        *,
        max_connections: int,
        max_header_bytes: int,
        via: bytes,
        tasks: Tasks,
        load: UpstreamLoad,
    ) -> None:
        """Must be made inside a running event loop. `max_connections` is over all upstreams.

        `via` is what every request is marked with (core/wire/via.py). `load` is told of each call.
        """
        self._loop = asyncio.get_running_loop()
        self._watchdogs = Watchdogs(self._loop)
        self._max_header_bytes = max_header_bytes
        self._via = b"Via: %b\r\n" % via
        self._tasks = tasks
        self._load = load
        self._pooled = aiohttp.TCPConnector(
            limit=max_connections, keepalive_timeout=KEEPALIVE_SECONDS
        )
        self._fresh = aiohttp.TCPConnector(limit=max_connections, force_close=True)
        self._origins: dict[str, _Origin] = {}

    async def close(self) -> None:
        """Close every connection."""
        await self._pooled.close()
        await self._fresh.close()

    async def dial(self, url: str, deadlines: Deadlines) -> Wire:
        """Open a raw connection. See the port."""
        return await dial(url, deadlines)

    async def send(self, request: UpstreamRequest) -> UpstreamReply:
        """Send and wait for the head. See the port."""
        scheme, _, rest = request.url.partition("://")
        authority, slash, target = rest.partition("/")
        origin = self._origin(scheme, authority)
        call = self._load.begin(request.upstream)
        connection = await self._connect(origin, request, call)
        protocol = connection.protocol
        assert protocol is not None  # noqa: S101 - set until the connection is released
        was_used = protocol.read_timeout is not None
        reply = _Reply(connection, protocol, Watchdog(self._watchdogs, request.deadlines), call)
        try:
            protocol.set_response_params(
                skip_payload=request.method == "HEAD",
                read_until_eof=True,
                auto_decompress=False,
                read_timeout=_USED,
                max_line_size=self._max_header_bytes,
                max_field_size=self._max_header_bytes,
                max_headers=MAX_FIELDS,
            )
            self._write(request, reply, origin.host, slash + target)
            await reply.receive_head()
        except _FOREIGN as error:
            ours = _ours(error, may_retry=was_used)
            call.failed(ours.code)
            await reply.aclose()
            raise ours from error
        except BaseException as error:
            if isinstance(error, ProxyError):
                call.failed(error.code)
            await reply.aclose()
            raise
        return reply

    def _origin(self, scheme: str, authority: str) -> _Origin:
        name = f"{scheme}://{authority}"
        origin = self._origins.get(name)
        if origin is None:
            template = aiohttp.ClientRequest("GET", URL(name), loop=self._loop)
            origin = self._origins[name] = _Origin(authority.encode(), template)
        return origin

    async def _connect(self, origin: _Origin, request: UpstreamRequest, call: Call) -> Connection:
        connector = self._fresh if request.fresh_connection else self._pooled
        deadlines = request.deadlines
        timeout = aiohttp.ClientTimeout(
            connect=deadlines.total, sock_connect=deadlines.connect, ceil_threshold=86400
        )
        try:
            return await connector.connect(origin.template, [], timeout)
        except _FOREIGN as error:
            ours = _ours(error)
            call.failed(ours.code)
            raise ours from error
        except BaseException:
            call.failed(CUT)
            raise

    def _write(self, request: UpstreamRequest, reply: "_Reply", host: bytes, target: str) -> None:
        body = request.body
        length = len(body) if isinstance(body, bytes) else request.length
        framing = b""
        if length is not None:
            framing = b"Content-Length: %d\r\n" % length
        elif body is not None:
            framing = b"Transfer-Encoding: chunked\r\n"
        head = b"%b %b HTTP/1.1\r\nHost: %b\r\n%b%b%b%b\r\n" % (
            request.method.encode(),
            (target or "/").encode("utf-8", "surrogateescape"),
            host,
            render(request.fields),
            self._via,
            framing,
            b"Connection: close\r\n" if request.fresh_connection else b"",
        )
        if body is None:
            reply.write(head)
        elif not isinstance(body, bytes):
            reply.write(head)
            sending = reply.send_body(body, is_chunked=request.length is None)
            reply.stop_sending = self._tasks.spawn(sending, "send-body")
        elif len(body) <= _JOINED_BYTES:
            reply.write(head + body)
        else:
            reply.write(head)
            reply.write(body)


class _Reply:
    """An answer, from the moment its connection is there; also its own body."""

    __slots__ = (
        "_call",
        "_connection",
        "_content",
        "_ends_with_connection",
        "_protocol",
        "_watchdog",
        "fields",
        "reason",
        "status",
        "stop_sending",
    )

    def __init__(
        self, connection: Connection, protocol: ResponseHandler, watchdog: Watchdog, call: Call
    ) -> None:
        self._call = call
        self._connection = connection
        self._protocol = protocol
        self._watchdog = watchdog
        self._content: aiohttp.StreamReader = EMPTY_PAYLOAD
        self._ends_with_connection = False
        self.status = 0
        self.reason = ""
        self.fields: Fields = ()
        self.stop_sending: Callable[[], object] | None = None
        """Ends the task that sends a live request body; None where there is none, or no more."""

    def write(self, data: bytes) -> None:
        """Send a part of the request."""
        if self._protocol.transport is None:
            raise aiohttp.ServerDisconnectedError
        self._protocol.transport.write(data)

    async def send_body(self, body: LiveBody, *, is_chunked: bool) -> None:
        """Send a live request body, while the answer may arrive already."""
        writer = StreamWriter(self._protocol, asyncio.get_running_loop())
        try:
            async for piece in body:
                self.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                await writer.drain()
            if is_chunked:
                self.write(b"0\r\n\r\n")
        except (ProxyError, ConnectionError, aiohttp.ClientError):
            # The body broke off, or nobody takes it: half a request is none.
            if self._protocol.transport is not None:
                self._protocol.transport.close()
        else:
            self.stop_sending = None
            if not self.status:
                self._watchdog.wait_for_first_byte()

    async def receive_head(self) -> None:
        """Wait for the head of the final answer."""
        protocol = self._protocol
        self._watchdog.start(protocol.set_exception)
        if self.stop_sending is not None:
            self._watchdog.sending()
        message, content = await protocol.read()
        while 100 <= message.code < 200:  # interim answers (RFC 9110 15.2)
            message, content = await protocol.read()
        self._watchdog.head_arrived(content.set_exception)
        self.status = message.code
        self.reason = message.reason
        self.fields = message.raw_headers
        self._ends_with_connection = not (message.chunked or "Content-Length" in message.headers)
        self._content = content
        self._call.answered(message.code)
        content.on_eof(self._release)

    def _release(self) -> None:
        self._watchdog.stop()
        if not self._was_reset():
            self._call.ended()
        if self.stop_sending is None:
            self._connection.release()
        else:
            self._cut()  # answered before the request was sent whole: the connection is of no use

    def _cut(self) -> None:
        self._watchdog.stop()
        self._call.failed(CUT)
        if self.stop_sending is not None:
            self.stop_sending()
            self.stop_sending = None
        self._connection.close()

    @property
    def body(self) -> Self:
        return self

    @property
    def at_end(self) -> bool:
        content = self._content
        return content.at_eof() and content.exception() is None and not self._was_reset()

    def ready(self) -> bytes:
        # A failure is raised by the next wait, behind the bytes that came before it.
        return b"" if self._content.exception() is not None else self._content.read_nowait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._watchdog.wait_begins()
        try:
            piece = await self._content.readany()
        except _FOREIGN as error:
            ours = _ours(error)
            self._call.failed(ours.code)
            raise ours from error
        except ProxyError as error:
            self._call.failed(error.code)
            raise
        self._watchdog.wait_ends()
        if not piece:
            if self._was_reset():
                self._call.failed(UpstreamBroken.code)
                raise UpstreamBroken("The upstream's answer broke off.")
            raise StopAsyncIteration
        return piece

    def _was_reset(self) -> bool:
        # A body that only the end of the connection ends: aiohttp takes a reset for that, too.
        return self._ends_with_connection and isinstance(
            self._protocol.exception(), aiohttp.ClientOSError
        )

    async def aclose(self) -> None:
        if not self._content.is_eof() or self._content is EMPTY_PAYLOAD:
            self._cut()
        self._call.failed(CUT)


def _ours(error: Exception, *, may_retry: bool = False) -> ProxyError:
    """A foreign exception as ours. `may_retry`: no byte of an answer has come yet."""
    match error:
        case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
            cause = getattr(error, "strerror", None) or type(error).__name__
            return UpstreamUnreachable(f"No connection to the upstream could be made: {cause}.")
        case TimeoutError():
            return UpstreamTimeout("The upstream did not accept a connection in time.")
        case aiohttp.ServerDisconnectedError():
            # With a part of a head it carries that as its message.
            is_silent = not isinstance(error.message, RawResponseMessage)
            return UpstreamBroken(_CLOSED, may_retry=may_retry and is_silent)
        case aiohttp.ClientOSError() | ConnectionError():
            return UpstreamBroken(_CLOSED, may_retry=may_retry)
        case _:
            return UpstreamBroken("The upstream's answer broke off or was not HTTP.")


_CLOSED = "The upstream closed the connection before it had answered."
_FOREIGN = (aiohttp.ClientError, HttpProcessingError, OSError)
"""What the connector and the parser raise; TimeoutError and ConnectionError are OSErrors."""
