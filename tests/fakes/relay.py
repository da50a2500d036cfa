"""A stretch of network before a server: slow, cut, or a hole into which everything falls."""

import asyncio
import contextlib
from typing import Self


class Relay:
    """Listens on loopback and passes bytes on, as it is told at the moment."""

    def __init__(self, port: int) -> None:
        """`port` is the server's."""
        self.delay = 0.0
        """Seconds that each piece of an answer takes longer."""
        self.is_hole = False
        """Nothing passes; connections are accepted all the same."""
        self.cuts_answers = False
        """A connection ends in the middle of its next answer."""
        self._port = port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None, "use it in a block"
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """End all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            behind, before = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, before}
        try:
            await asyncio.gather(
                self._pump(reader, before, is_answer=False),
                self._pump(behind, writer, is_answer=True),
            )
        finally:
            self._writers -= {writer, before}

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if is_answer and self.delay:
                    await asyncio.sleep(self.delay)
                while self.is_hole:  # noqa: ASYNC110 - as long as the test wants it
                    await asyncio.sleep(0.05)
                if is_answer and self.cuts_answers:
                    writer.write(data[: len(data) // 2])
                    break
                writer.write(data)
                await writer.drain()
        writer.close()
