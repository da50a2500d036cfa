"""A raw connection to an upstream, for what is no longer HTTP (WebSocket)."""

import asyncio
import ssl
from urllib.parse import urlsplit

from proxy.core.errors import UpstreamTimeout, UpstreamUnreachable
from proxy.core.policy import Deadlines

_READ_BYTES = 64 * 1024


class StreamWire:
    """Fulfils the Wire port over asyncio's streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        return await self._reader.read(_READ_BYTES)

    async def write(self, data: bytes) -> None:
        """Send, with back-pressure."""
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Send what is still queued and close."""
        self._writer.close()


async def dial(url: str, deadlines: Deadlines) -> StreamWire:
    """Connect to the authority of an http or https URL. Raises UpstreamError."""
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    context = ssl.create_default_context() if is_tls else None
    try:
        async with asyncio.timeout(deadlines.connect):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
    except TimeoutError as error:
        raise UpstreamTimeout("The upstream did not accept a connection in time.") from error
    except OSError as error:
        raise UpstreamUnreachable("No connection to the upstream could be made.") from error
    return StreamWire(reader, writer)
