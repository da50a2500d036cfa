"""A server that speaks RESP as a test tells it: late, wrong, or not at all."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias


class Cut(NamedTuple):
    """The connection ends after so much of an answer."""

    begun: bytes


Answer: TypeAlias = Callable[[list[bytes]], Awaitable[bytes | Cut]]


class RawRedis:
    """Answers as a test tells it.

    `answer` gets the words of a command and gives what to send. It is called for every command but
    those by which a client sets its connection up, unless `setup` does that for these.
    """

    def __init__(self, answer: Answer, *, setup: Answer | None = None) -> None:
        self._answer = answer
        self._setup = setup or _welcome
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.commands: list[list[bytes]] = []
        self.connections = 0
        self.lost = 0
        """Connections that ended before their answer was sent."""

    @property
    def url(self) -> str:
        """Where it is."""
        assert self._server is not None, "use it in a block"
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def __aenter__(self) -> "RawRedis":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while words := await _command(reader):
                if words[0].upper() in {b"CLIENT", b"SELECT", b"AUTH"}:
                    answer = await self._setup(words)
                else:
                    self.commands.append(words)
                    answer = await self._answer(words)
                writer.write(answer.begun if isinstance(answer, Cut) else answer)
                await writer.drain()
                if isinstance(answer, Cut):
                    break
        except (OSError, asyncio.IncompleteReadError):
            self.lost += 1
        finally:
            self._open.discard(writer)
            writer.close()


async def _welcome(_: list[bytes]) -> bytes:
    return b"+OK\r\n"


async def _command(reader: asyncio.StreamReader) -> list[bytes]:
    head = await reader.readline()
    if not head:
        return []
    words = []
    for _ in range(int(head[1:])):
        length = int((await reader.readline())[1:])
        words.append((await reader.readexactly(length + 2))[:-2])
    return words
