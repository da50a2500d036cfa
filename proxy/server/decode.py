"""An aiohttp request as ours, within the limits."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from aiohttp import StreamReader
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError
from multidict import CIMultiDictProxy

from proxy.core.classify import find_operation
from proxy.core.errors import BadRequest, ProxyError, RequestTimeout, RequestTooLarge
from proxy.core.model import Body, Request
from proxy.core.wire.operation import Operation
from proxy.server.incoming import Incoming

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*(.*)")

STALL_SECONDS = 300.0
"""A client that sends nothing of the rest for so long is given up."""
SMALL_BODY_BYTES = 64 * 1024
"""Sized bodies up to this are read before they are forwarded, so that they can be sent twice."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of request bodies, in bytes."""

    max_body_bytes: int
    max_keyed_body_bytes: int
    """Larger bodies of cacheable operations pass through unread."""


async def decode(
    request: Incoming, operations: Sequence[Operation], limits: Limits, *, has_models: bool
) -> Request:
    """Read what is needed of a request: the body of one that may be looked up, else the head.

    With `has_models` the model decides where a request goes, so that any JSON body is read.
    Raises RequestTooLarge (before reading, where the length is told) and BadRequest.
    """
    target, path = request.target, request.path
    if not target.startswith("/"):
        target = _origin_form(target)
        path = target.partition("?")[0]
    body: Body | None = None
    told = request.headers.get("Content-Length")
    if told is not None:
        length = int(told)  # the parser lets only digits pass, and no transfer coding beside it
    else:
        length = None
        if request.headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked":
            raise BadRequest("Of the transfer codings only chunked is understood.")
    if length == 0:
        body = b""
    elif request.has_body:
        if length is not None and length > limits.max_body_bytes:
            raise too_large(limits)
        is_read = request.method == "POST" and find_operation(path, operations) is not None
        if is_read or (has_models and _is_json(request)):
            bound = limits.max_keyed_body_bytes
        else:
            bound = SMALL_BODY_BYTES if length is not None else 0
        body = _at_hand(request, bound, limits)
        if body is None:
            _continue(request)
            body = await _gather(request, length, bound, limits)
    return Request(
        request.method, target, path, request.fields, _Header(request.headers), body, length
    )


def _is_json(request: Incoming) -> bool:
    media_type = request.headers.get("Content-Type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"


def too_large(limits: Limits) -> RequestTooLarge:
    """The error that names the limit."""
    return RequestTooLarge(
        f"The request body is larger than limits.max_body_bytes ({limits.max_body_bytes} bytes)."
    )


class ClientBody:
    """A request body that is still arriving, counted against the limit."""

    __slots__ = ("_content", "_count", "_limits", "_prefix", "flaw")

    def __init__(self, request: Incoming, prefix: bytes, limits: Limits) -> None:
        """`prefix` is what was read of it already."""
        self._content = request.content
        self._prefix = prefix
        self._count = len(prefix)
        self._limits = limits
        self.flaw: ProxyError | None = None
        """Why it ended before its time. The upstream's client hides what a body raises."""

    @property
    def at_end(self) -> bool:
        """Every byte was taken."""
        return not self._prefix and self._content.at_eof()

    def ready(self) -> bytes:
        """What was read already."""
        prefix, self._prefix = self._prefix, b""
        return prefix

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """The next bytes. Raises RequestTooLarge, RequestTimeout or BadRequest."""
        if piece := self.ready():
            return piece
        try:
            piece = await _read(self._content)
        except (BadRequest, RequestTimeout) as error:
            self.flaw = error
            raise
        if not piece:
            raise StopAsyncIteration
        self._count += len(piece)
        if self._count > self._limits.max_body_bytes:
            self.flaw = too_large(self._limits)
            raise self.flaw
        return piece

    async def aclose(self) -> None:
        """The server drops what is left of it."""


class _Header:
    """Looks a field up; several of one name count as one with a comma (RFC 9110 5.3)."""

    __slots__ = ("_headers",)

    def __init__(self, headers: CIMultiDictProxy[str]) -> None:
        self._headers = headers

    def __call__(self, name: str) -> str | None:
        values = self._headers.getall(name, None)
        if values is None:
            return None
        return values[0] if len(values) == 1 else ", ".join(values)


async def _gather(request: Incoming, length: int | None, bound: int, limits: Limits) -> Body:
    """The whole body if it is within `bound`, else what was read of it and the rest, live."""
    if bound == 0 or (length is not None and length > bound):
        return ClientBody(request, b"", limits)
    return _within(await _read_beyond(request.content, bound), request, bound, limits)


def _at_hand(request: Incoming, bound: int, limits: Limits) -> Body | None:
    """The same where all of it has arrived with the head, as it nearly always has; else None."""
    content = request.content
    if not content.is_eof() or content.exception() is not None:
        return None
    return _within(content.read_nowait(), request, bound, limits)


def _within(data: bytes, request: Incoming, bound: int, limits: Limits) -> Body:
    if len(data) > limits.max_body_bytes:
        raise too_large(limits)
    return data if len(data) <= bound else ClientBody(request, data, limits)


async def _read_beyond(content: StreamReader, bound: int) -> bytes:
    """Read to the end, or until it is more than `bound`."""
    pieces: list[bytes] = []
    count = 0
    while count <= bound and (piece := await _read(content)):
        pieces.append(piece)
        count += len(piece)
    return b"".join(pieces)


async def _read(content: StreamReader) -> bytes:
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await content.readany()
    except (RequestPayloadError, HttpProcessingError) as error:
        raise BadRequest("The request body is not well-formed HTTP.") from error
    except TimeoutError as error:
        raise RequestTimeout("The rest of the request body did not come in time.") from error


def _continue(request: Incoming) -> None:
    # RFC 9110 10.1.1: whoever reads the body sends the interim answer, and none to HTTP/1.0.
    expects = request.headers.get("Expect", "").lower() == "100-continue"
    if expects and request.is_http_11 and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _origin_form(target: str) -> str:
    # RFC 9112 3.2.2: a client that takes us for a forward proxy sends the absolute form.
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise BadRequest("The request target is neither a path nor a URL.")
    path = absolute[1]
    return path if path.startswith("/") else "/" + path
