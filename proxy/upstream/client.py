"""The data path's HTTP client: aiohttp's (design 3)."""

import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from proxy.core.errors import UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from proxy.core.model import Body, Fields, LiveBody
from proxy.core.policy import Deadlines
from proxy.ports import UpstreamReply, UpstreamRequest, Wire
from proxy.upstream.wire import dial

KEEPALIVE_SECONDS = 4.0
"""Below the five seconds after which uvicorn (vLLM) and llama.cpp close an idle connection."""

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
"""aiohttp itself sends these again on a dead pooled connection."""

_NO_AUTO_FIELDS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Only what the client sent goes on."""

_pooled: ContextVar[list[bool]] = ContextVar("pooled")
"""Filled by the connector: whether the connection that it gave to this request was used before."""


class _Connector(aiohttp.TCPConnector):
    """Tells the request whether its connection was used before, which aiohttp does not."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: weakref.WeakSet[object] = weakref.WeakSet()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,
    ) -> Any:
        connection = await super().connect(req, traces, timeout)
        protocol = connection.protocol
        _pooled.get().append(protocol in self._used)
        self._used.add(protocol)
        return connection


class AiohttpUpstream:
    """Fulfils the Upstream port. One for the process; it survives configuration reloads."""

    def __init__(self, *, max_connections: int, max_header_bytes: int) -> None:
        """Must be made inside a running event loop. `max_connections` is over all upstreams."""

        def session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
            return aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=max_header_bytes,
                max_field_size=max_header_bytes,
                skip_auto_headers=_NO_AUTO_FIELDS,
            )

        self._pooled = session(
            _Connector(limit=max_connections, keepalive_timeout=KEEPALIVE_SECONDS)
        )
        self._fresh = session(_Connector(limit=max_connections, force_close=True))

    async def close(self) -> None:
        """Close every connection."""
        await self._pooled.close()
        await self._fresh.close()

    async def send(self, request: UpstreamRequest) -> UpstreamReply:
        """Send and wait for the head. See the port."""
        session = self._fresh if request.fresh_connection else self._pooled
        deadlines = request.deadlines
        pooled: list[bool] = []
        token = _pooled.set(pooled)
        try:
            with _our_errors(pooled, request.method):
                response = await session.request(
                    request.method,
                    _url(request.url),
                    headers=_headers(request.fields, request.length, request.body),
                    data=_data(request.body),
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(
                        total=deadlines.total,
                        sock_connect=deadlines.connect,
                        sock_read=deadlines.first_byte,
                    ),
                )
        finally:
            _pooled.reset(token)
        connection = response.connection
        if connection is not None and connection.protocol is not None:
            connection.protocol.read_timeout = deadlines.between_bytes
        return _Reply(response)

    async def dial(self, url: str, deadlines: Deadlines) -> Wire:
        """Open a raw connection. See the port."""
        return await dial(url, deadlines)


class _Reply:
    """An answer whose head has arrived; also its own body."""

    __slots__ = ("_content", "_response")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def reason(self) -> str:
        return self._response.reason or ""

    @property
    def fields(self) -> Fields:
        return self._response.raw_headers

    @property
    def body(self) -> Self:
        return self

    @property
    def at_end(self) -> bool:
        return self._content.at_eof() and self._content.exception() is None

    def ready(self) -> bytes:
        # A failure is raised by the next wait, behind the bytes that came before it.
        return b"" if self._content.exception() is not None else self._content.read_nowait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _our_errors():
            piece = await self._content.readany()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        # Releases by itself at the end of the body; before it, closing cuts the connection.
        self._response.close()


@contextmanager
def _our_errors(pooled: list[bool] | None = None, method: str = "") -> Iterator[None]:
    """Foreign exceptions become ours. `pooled` is given while no byte of an answer has come."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise UpstreamTimeout("The upstream did not accept a connection in time.") from error
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
        raise UpstreamUnreachable("No connection to the upstream could be made.") from error
    except TimeoutError as error:
        raise UpstreamTimeout("The upstream did not answer in time.") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        may_retry = pooled == [True] and method not in _IDEMPOTENT
        raise UpstreamBroken(
            "The upstream closed the connection before it had answered.", may_retry=may_retry
        ) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise UpstreamBroken("The upstream's answer broke off or was not HTTP.") from error


def _url(url: str) -> URL:
    # The target goes in as the path, so that it stands in the request line to the letter: yarl
    # would drop an empty query and a fragment.
    scheme, _, rest = url.partition("://")
    authority, slash, target = rest.partition("/")
    return URL.build(scheme=scheme, authority=authority, path=slash + target, encoded=True)


def _headers(fields: Fields, length: int | None, body: Body | None) -> CIMultiDict[str]:
    headers = CIMultiDict(
        (name.decode("ascii"), value.decode("utf-8", "surrogateescape")) for name, value in fields
    )
    if length is not None and body is not None and not isinstance(body, bytes):
        headers["Content-Length"] = str(length)
    return headers


def _data(body: Body | None) -> bytes | AsyncIterator[bytes] | None:
    if body is None or isinstance(body, bytes):
        return body or None
    return _pieces(body)


async def _pieces(body: LiveBody) -> AsyncIterator[bytes]:
    async for piece in body:
        yield piece
