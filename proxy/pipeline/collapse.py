"""Identical concurrent misses share one upstream call (mission E6, design 3).

A Flight is one upstream call with the log of its bytes. It belongs to no client: any number of
readers follow the log from its first byte with their own cursor, and then live.
"""

import asyncio
from collections.abc import Callable, Mapping

from proxy.core.cache.selector import Selector
from proxy.core.errors import ProxyError, UpstreamBroken
from proxy.core.model import Response
from proxy.core.trace import Trace
from proxy.pipeline.record import Recording

WINDOW_BYTES = 1 << 20
"""How far the upstream may run ahead of the fastest reader, and a reader stay behind it, where the
log is not kept."""


class AnswerHasCome(Exception):
    """No call was needed: another replica's answer is stored here by now."""


class SlowReader(ConnectionError):
    """The client stayed so far behind that the log had to move on without it."""


class Flight:
    """One upstream call and its log."""

    def __init__(
        self,
        *,
        keep_bytes: int,
        on_alone: Callable[["Flight"], None],
        on_ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`keep_bytes` bounds the log that is kept whole, for later readers and for storing.

        `on_alone` is called when the last reader has left, `on_ended` once, when the call is over.
        """
        self.response: Response | None = None
        self.error: ProxyError | AnswerHasCome | None = None
        self.ended = False
        self.is_recordable = True
        """Nothing has spoken against storing the answer yet."""
        self.is_admitted = True
        """Its question has come before, where that is asked for (pipeline/doorkeeper.py)."""
        self.values: Mapping[bytes, bytes] = {}
        """The fields of the answer's head by their lower-case names."""
        self.purges: list[Selector] = []
        """What was purged since it began: its answer is older than the purge."""
        self.will_be_stored: bool | None = None
        """What is known of that when the head leaves."""
        self.stored: bool | None = None
        """Whether the answer was stored; None while that is open."""
        self.is_settled = False
        """Whether the answer is stored or not is known; nobody needs to wait for that any more."""
        self.cancel: Callable[[], object] | None = None
        """Ends the task that feeds it."""
        self.recording: Recording | None = None
        """Set when it has ended well and its answer waits to be judged."""
        self.newer_than: float | None = None
        """Where other replicas are asked first: an answer made later than this would do."""
        self.is_claimed = False
        """Other replicas wait for its answer."""
        self.timer: asyncio.TimerHandle | None = None
        """Ends a flight without readers."""
        self.trace: Trace | None = None
        """That of the request for which the call is made."""
        self._keep_bytes = keep_bytes
        self._on_alone = on_alone
        self._on_ended = on_ended
        self._log: list[bytes] = []
        self._first = 0  # the number of the piece that stands first in the log
        self._start = 0  # the offset in bytes at which the log begins
        self._end = 0
        self._readers: set[Reader] = set()
        self._waiters: list[asyncio.Future[None]] = []
        self._room: asyncio.Future[None] | None = None

    @property
    def is_whole(self) -> bool:
        """The log has every byte from the first: it may be joined and recorded."""
        return self._start == 0 and self._end <= self._keep_bytes

    @property
    def is_read(self) -> bool:
        """Somebody is reading."""
        return bool(self._readers)

    def body(self) -> bytes:
        """All bytes so far; only where `is_whole`."""
        return b"".join(self._log)

    def tail(self) -> bytes:
        """The last piece so far."""
        return self._log[-1] if self._log else b""

    def attach(self) -> "Reader":
        """A new reader, at the first byte; only where `is_whole`."""
        reader = Reader(self)
        self._readers.add(reader)
        return reader

    def begin(self, response: Response) -> None:
        """The head has arrived."""
        self.response = response
        self._wake()

    async def append(self, piece: bytes) -> None:
        """A piece of the body has arrived. Waits while every reader is too far behind."""
        self._log.append(piece)
        self._end += len(piece)
        self._wake()
        if not self.is_whole:
            self.is_settled = True  # it is not: who waits for that shall go its own way
        while self._readers and not self.is_whole:
            self._shed()
            if self._end - max(reader.offset for reader in self._readers) <= WINDOW_BYTES:
                return
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def finish(self, error: ProxyError | AnswerHasCome | None = None) -> None:
        """No more will come; with `error`, because it broke off or was not needed."""
        if not self.ended:
            self.error = error
            self.ended = True
            self._on_ended()
            self._wake()

    def close(self) -> None:
        """Nothing will happen any more, for whatever reason: release everybody who waits."""
        self.finish(UpstreamBroken("The call to the upstream was given up."))
        self.is_settled = True
        self._wake()
        # Both refer back to the flight: without them it goes as soon as nobody reads it.
        self.cancel = self.recording = None
        if self.timer is not None:
            self.timer.cancel()

    def _shed(self) -> None:
        # The log is over its bound: it moves on at the pace of the fastest reader.
        fastest = max(reader.offset for reader in self._readers)
        for reader in list(self._readers):
            if fastest - reader.offset > max(WINDOW_BYTES, self._keep_bytes):
                reader.is_detached = True
                self._readers.discard(reader)
                self._wake()
        needed = min(reader.piece for reader in self._readers)
        for piece in self._log[: needed - self._first]:
            self._start += len(piece)
        del self._log[: needed - self._first]
        self._first = needed

    def _wake(self) -> None:
        if not self._waiters:
            return
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # The rest is for Reader.

    def leave(self, reader: "Reader") -> None:
        """A reader has gone, at the end or before."""
        if reader in self._readers:
            self._readers.discard(reader)
            self.moved()
            if not self._readers and not self.ended:
                self._on_alone(self)

    def moved(self) -> None:
        """A reader has made room, or left."""
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def take(self, reader: "Reader") -> bytes:
        """What stands behind the reader's cursor, which moves past it."""
        pieces = self._log[reader.piece - self._first :]
        if not pieces:
            return b""
        reader.piece += len(pieces)
        reader.offset = self._end
        if self._room is not None:
            self.moved()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def changed(self) -> None:
        """Wait for the next head, piece or end."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter


class Reader:
    """A response body: one client's way through a flight's log."""

    __slots__ = ("_flight", "is_detached", "offset", "piece")

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self.piece = 0
        self.offset = 0
        self.is_detached = False

    async def response(self) -> Response:
        """The head, with this reader as the body.

        Raises the flight's error if it failed before its head, and AnswerHasCome.
        """
        flight = self._flight
        while flight.response is None:
            if flight.error is not None:
                raise flight.error
            await flight.changed()
        head = flight.response
        return Response(
            head.status, head.reason, head.head, self, head.length, head.is_event_stream
        )

    def ready(self) -> bytes:
        """What has arrived already; may be empty."""
        return b"" if self.is_detached else self._flight.take(self)

    @property
    def at_end(self) -> bool:
        """Everything was taken, and the flight ended well."""
        flight = self._flight
        return flight.ended and flight.error is None and self.offset == flight._end

    def __aiter__(self) -> "Reader":
        return self

    async def __anext__(self) -> bytes:
        """The next bytes. Raises the flight's error, or SlowReader."""
        flight = self._flight
        while True:
            if self.is_detached:
                raise SlowReader("detached")
            if piece := flight.take(self):
                return piece
            if flight.ended:
                if flight.error is not None:
                    raise flight.error
                raise StopAsyncIteration
            await flight.changed()

    async def aclose(self) -> None:
        """The client has all of it, or has gone."""
        self._flight.leave(self)
