"""Requests to upgrade the connection (RFC 9110 7.8; WebSocket): raw bytes both ways."""

import asyncio
from collections import deque

from proxy.core.exchange import Exchange
from proxy.core.model import Request
from proxy.pipeline.pipeline import Pipeline
from proxy.ports import Wire
from proxy.server.incoming import Incoming

_PAUSE_BYTES = 256 * 1024


def is_upgrade(request: Incoming) -> bool:
    """Whether the client asks for another protocol that aiohttp's parser then leaves alone."""
    if not request.is_upgrade or request.headers.get("Upgrade", "").lower() != "websocket":
        return False
    if request.method != "GET" or request.has_body:
        return False
    options = ",".join(request.headers.getall("Connection", ())).lower().split(",")
    return "upgrade" in (option.strip() for option in options)


async def tunnel(raw: Incoming, request: Request, pipeline: Pipeline, exchange: Exchange) -> bool:
    """Relay an upgrade and what follows, until one side ends. The connection ends with it.

    Raises UpstreamError while nothing was relayed yet.
    """
    wire = await pipeline.connect(request, exchange)
    client = _ClientWire(raw)
    exchange.status = 101
    await asyncio.gather(_pump(client, wire), _pump(wire, client))
    return False


async def _pump(source: Wire, sink: Wire) -> None:
    try:
        while data := await source.read():
            await sink.write(data)
    finally:
        # Whichever side ends, ends both, and with it the pump of the other direction.
        sink.close()
        source.close()


class _ClientWire:
    """The client's connection as a Wire: aiohttp hands it what follows the request's head."""

    def __init__(self, request: Incoming) -> None:
        self._request = request
        self._received: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._arrived = asyncio.Event()
        request.protocol.set_parser(self)  # type: ignore[arg-type]  # only feed_* are called

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """aiohttp calls this with what arrives."""
        self._received.append(data)
        self._size += len(data)
        if self._size > _PAUSE_BYTES and self._request.transport is not None:
            self._request.transport.pause_reading()
        self._arrived.set()
        return False, b""

    def feed_eof(self) -> None:
        """aiohttp calls this when the connection is lost."""
        self._ended = True
        self._arrived.set()

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        while not self._received:
            if self._ended:
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        data = b"".join(self._received)
        self._received.clear()
        if self._size > _PAUSE_BYTES and self._request.transport is not None:
            self._request.transport.resume_reading()
        self._size = 0
        return data

    async def write(self, data: bytes) -> None:
        """Send, with back-pressure."""
        transport = self._request.transport
        if transport is None:
            raise ConnectionResetError("The client has gone.")
        transport.write(data)
        await self._request.writer.drain()

    def close(self) -> None:
        """Close the connection."""
        if self._request.transport is not None:
            self._request.transport.close()
