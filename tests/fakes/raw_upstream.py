"""A server on loopback below HTTP: a test says byte for byte what it does.

For what an HTTP library refuses to send: bad HTTP, odd line ends, interim responses, upgrades,
hop-by-hop fields of one's own, kept-alive sockets that close after an answer.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

DEADLINE = 10.0
"""Seconds after which a wait has failed."""


class Peer:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        """For what the methods below do not do."""
        self.received = bytearray()
        """All that was read of it."""

    async def read_request(self) -> tuple[bytes, bytes]:
        """Head and body of the next request; the body by its Content-Length or its chunks, as sent.

        Raises asyncio.IncompleteReadError when the peer closes instead.
        """
        async with asyncio.timeout(DEADLINE):
            head = await self._reader.readuntil(b"\r\n\r\n")
            body = await self._read_body(head.lower())
        self.received += head + body
        return head, body

    async def _read_body(self, head: bytes) -> bytes:
        if b"\r\ntransfer-encoding: chunked" in head:
            body = b""
            while not body.endswith(b"\r\n0\r\n\r\n") and body != b"0\r\n\r\n":
                body += await self._reader.readuntil(b"\r\n")
            return body
        _, found, rest = head.partition(b"\r\ncontent-length:")
        return await self._reader.readexactly(int(rest.split(b"\r\n")[0])) if found else b""

    async def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        async with asyncio.timeout(DEADLINE):
            data = await self._reader.readexactly(size)
        self.received += data
        return data

    async def send(self, data: bytes) -> None:
        """Write and wait until the kernel has it."""
        self.writer.write(data)
        await self.writer.drain()

    async def send_bytewise(self, data: bytes) -> None:
        """Each byte in its own segment, as far as loopback allows; other tasks run between."""
        for index in range(len(data)):
            await self.send(data[index : index + 1])
            await asyncio.sleep(0)

    async def answer(self, body: bytes, *, fields: bytes = b"") -> None:
        """A plain JSON 200 that keeps the connection; `fields` are whole lines, CRLF included."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
        await self.send(head % (len(body), fields) + body)

    async def close(self) -> None:
        """End with FIN."""
        self.writer.close()
        await self.writer.wait_closed()

    def reset(self) -> None:
        """End with RST."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the peer has closed its side."""
        async with asyncio.timeout(DEADLINE):
            while await self._reader.read(65536):
                pass


Conversation: TypeAlias = Callable[[Peer], Awaitable[None]]


class RawUpstream:
    """Holds `conversation` with every connection; the connection closes when it returns."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.url = ""
        self.peers: list[Peer] = []
        """One for each connection, in the order in which they came."""
        self.failures: list[Exception] = []
        """What conversations raised, a peer's early end excepted; checked by `stop`."""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    @property
    def connections(self) -> int:
        """How many connections were accepted."""
        return len(self.peers)

    async def connected(self, connections: int) -> Peer:
        """Wait until so many connections were accepted; the last of them."""
        async with asyncio.timeout(DEADLINE), self._arrived:
            await self._arrived.wait_for(lambda: self.connections >= connections)
        return self.peers[connections - 1]

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"

    async def stop(self) -> None:
        """Close everything. A conversation that failed fails the test here."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        if self.failures:
            raise ExceptionGroup("conversations failed", self.failures)

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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = Peer(reader, writer)
        try:
            async with self._arrived:
                self.peers.append(peer)
                self._arrived.notify_all()
            await self.conversation(peer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the peer left: for the test to judge by what its own side saw
        except Exception as error:  # noqa: BLE001 - kept, and raised by stop
            self.failures.append(error)
        finally:
            writer.close()
            self._tasks.discard(task)
