"""A client that takes nothing but correct HTTP (h11), and shows what came piece by piece."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import h11

DEADLINE = 10.0
"""Seconds after which a wait has failed."""
CHAT = "/v1/chat/completions"

Pairs: TypeAlias = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; its body is empty while only the head was read."""

    status: int
    reason: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    """Order, case and repetition kept."""
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a field; case does not count."""
        return next(iter(self.headers(name)), None)

    def headers(self, name: str) -> list[str]:
        """All values of a field."""
        return [v.decode("latin-1") for n, v in self.fields if n.lower() == name.lower().encode()]

    @property
    def cache(self) -> str:
        """Cache-Status; empty where there is none."""
        return self.header("Cache-Status") or ""

    @property
    def is_hit(self) -> bool:
        """Whether it was served from the cache."""
        return "; hit;" in self.cache

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """What the model says, whichever shape it came in."""
        if (self.header("Content-Type") or "").startswith("text/event-stream"):
            chunks = [
                json.loads(line[6:])
                for line in self.body.split(b"\n")
                if line.startswith(b"data: {")
            ]
            deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
            return "".join(delta.get("content") or "" for delta in deltas)
        return str(self.json()["choices"][0]["message"]["content"])


class Connection:
    """One connection to a server."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._authority = authority
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)

    async def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)
        async with asyncio.timeout(DEADLINE):
            await self.writer.drain()

    async def send(
        self, method: str, target: str, *, fields: Pairs = (), body: bytes | None = None
    ) -> None:
        """Send a request; `body` with its Content-Length."""
        await self.write(self.encode(method, target, fields=fields, body=body))

    def encode(
        self, method: str, target: str, *, fields: Pairs = (), body: bytes | None = None
    ) -> bytes:
        """A request's bytes, for `send_raw` or to be sent in parts."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._authority}"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        self.expect(method)
        return head + (body or b"")

    async def send_raw(self, data: bytes, *, method: str = "GET") -> None:
        """Send a request as bytes; `method` says how its answer is to be read."""
        self.expect(method)
        await self.write(data)

    def expect(self, method: str) -> None:
        """From now on an answer to a request of this method is awaited."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        if self._http.our_state is h11.IDLE:
            self._http.send(h11.Request(method=method, target="/", headers=[("Host", "h")]))
            self._http.send(h11.EndOfMessage())

    async def head(self) -> Answer:
        """The next response's head; interim ones are left out."""
        event = await self._event()
        while isinstance(event, h11.InformationalResponse):
            event = await self._event()
        assert isinstance(event, h11.Response), event
        return Answer(event.status_code, event.reason, tuple(event.headers.raw_items()))

    async def piece(self) -> bytes:
        """The next bytes of the body; empty at its clean end.

        Raises h11.RemoteProtocolError where it ends otherwise.
        """
        event = await self._event()
        if isinstance(event, h11.EndOfMessage):
            if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
                self._http.start_next_cycle()
            return b""
        assert isinstance(event, h11.Data), event
        return bytes(event.data)

    async def read(self, size: int) -> bytes:
        """So many bytes of the body, or more where a piece is larger."""
        data = b""
        while len(data) < size:
            piece = await self.piece()
            assert piece, f"the body ended after {data!r}"
            data += piece
        return data

    async def rest(self) -> bytes:
        """The body up to its clean end."""
        pieces: list[bytes] = []
        while piece := await self.piece():
            pieces.append(piece)
        return b"".join(pieces)

    async def answer(self) -> Answer:
        """The next response, whole."""
        head = await self.head()
        return Answer(head.status, head.reason, head.fields, await self.rest())

    async def ask(
        self, method: str, target: str, *, fields: Pairs = (), body: bytes | None = None
    ) -> Answer:
        """Send a request and take its response."""
        await self.send(method, target, fields=fields, body=body)
        return await self.answer()

    async def closed(self) -> bytes:
        """All bytes until the server has closed, as they came."""
        async with asyncio.timeout(DEADLINE):
            return await self.reader.read()

    def reset(self) -> None:
        """Leave with RST."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def leave(self) -> None:
        """Close; what has arrived and was not read makes it a reset."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return

    async def _event(self) -> h11.Event:
        async with asyncio.timeout(DEADLINE):
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self.reader.read(65536))
                    continue
                assert not isinstance(event, type), event
                return event


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Connection]:
    """A connection until the block ends."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20)
    connection = Connection(reader, writer, parts.netloc)
    try:
        yield connection
    finally:
        await connection.leave()


async def call(
    url: str, method: str, target: str, *, fields: Pairs = (), body: bytes | None = None
) -> Answer:
    """One request over a connection of its own."""
    async with connect(url) as connection:
        return await connection.ask(method, target, fields=fields, body=body)


def question(text: str = "Why is the sky blue?", **members: Any) -> bytes:
    """The body of a chat request; None as a value leaves a member out."""
    body = {
        "model": "m1",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
    } | members
    return json.dumps({name: value for name, value in body.items() if value is not None}).encode()


def posting(key: str | None = "key-a", *, fields: Pairs = ()) -> list[tuple[str, str]]:
    """The fields that an SDK sends with a chat request."""
    credential = [("Authorization", f"Bearer {key}")] if key is not None else []
    return [("Content-Type", "application/json"), *credential, *fields]


async def ask(
    url: str,
    body: bytes | Mapping[str, Any] | None = None,
    *,
    key: str | None = "key-a",
    fields: Pairs = (),
    path: str = CHAT,
) -> Answer:
    """Put a chat question over a connection of its own."""
    data = body if isinstance(body, bytes) else question() if body is None else json.dumps(body)
    return await call(
        url,
        "POST",
        path,
        fields=posting(key, fields=fields),
        body=data if isinstance(data, bytes) else data.encode(),
    )
