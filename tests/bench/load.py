"""The load generator: reads one order a line on stdin, answers each with one line of JSON.

A raw protocol on uvloop, so that it costs a fraction of any server it measures. Each connection
sends its next request as soon as its answer is complete, and only then checks that answer, so the
check is in nobody's latency at one connection.
"""

import asyncio
import gc
import json
import sys
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import cast

import uvloop

from tests.bench.work import WORKS, Requests, worded

_CHUNKED_END = b"\r\n0\r\n\r\n"
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """What to do: for a while, or a number of requests."""

    port: int
    work: str
    connections: int
    proof: str
    """What the head of each answer must hold, such as the sign of a hit; may be empty."""
    warm_seconds: float = 0.0
    seconds: float | None = None
    count: int | None = None
    texts: str = ""
    """The file of what is asked, for work in words; `work` is only its name then."""
    first: int | None = None
    """Begin to number requests here, in place of going on."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it; times in microseconds."""

    requests: int
    rps: float
    p50: float
    p99: float
    first_byte_p50: float
    slowest: float


class WrongAnswerError(Exception):
    """An answer was not what it must be, or the connection broke."""


def dechunk(raw: bytes) -> bytes:
    """The body within a chunked one."""
    pieces: list[bytes] = []
    at = 0
    while True:
        end = raw.index(b"\r\n", at)
        size = int(raw[at:end], 16)
        if size == 0:
            return b"".join(pieces)
        pieces.append(raw[end + 2 : end + 2 + size])
        at = end + 4 + size


def quantile(values: list[float], share: float) -> float:
    """A quantile of sorted values in microseconds."""
    return values[min(int(len(values) * share), len(values) - 1)] * 1e6 if values else 0.0


class Run:
    """One order under way: counts, times and checks for all its connections."""

    def __init__(
        self, order: Order, work: Requests, done: asyncio.Future[None], number: int
    ) -> None:
        self.work = work
        self.number = number
        self.stopping = False
        self._is_overdue = False
        self.remaining = sys.maxsize if order.count is None else order.count
        self._proof = order.proof.encode()
        self.done = done
        self._open = order.connections
        self._times: list[float] = []
        self._first_times: list[float] = []
        self._right_bodies: set[bytes] = set()
        self._began = perf_counter()
        self._ended = 0.0

    def begin(self) -> None:
        """Forget the warm-up."""
        self._times.clear()
        self._first_times.clear()
        self._began = perf_counter()

    def end(self) -> None:
        """Send nothing more; what is under way is awaited and checked, but not counted.

        Without an answer there would be nothing to tell: then the first one is the end.
        """
        if not self._times:
            self._is_overdue = True
            return
        self.stopping = True
        self._ended = perf_counter()

    def next_request(self) -> bytes | None:
        """The bytes of the next request; None when enough were sent."""
        if self.stopping or self.remaining == 0:
            return None
        self.remaining -= 1
        self.number += 1
        return self.work.request(self.number)

    def note(self, total: float, first: float) -> None:
        """Count one complete answer."""
        if not self.stopping:
            self._times.append(total)
            self._first_times.append(first)
            if self._is_overdue:
                self.end()

    def check(self, answer: bytes, body_at: int, *, is_chunked: bool) -> None:
        """Fail the run unless the answer is right in status, proof and every byte of its body."""
        head, body = answer[:body_at], answer[body_at:]
        if not head.startswith(b"HTTP/1.1 200") or self._proof not in head:
            self.fail(f"unexpected head: {head.decode('latin-1')}")
        elif not is_chunked:
            if body != self.work.answer:
                self.fail(f"wrong body of {len(body)} bytes: {body[:200]!r}")
        elif body not in self._right_bodies:
            if dechunk(body) != self.work.answer:
                self.fail(f"wrong chunked body: {body[:200]!r}")
            if len(self._right_bodies) < 1000:
                self._right_bodies.add(body)

    def fail(self, reason: str) -> None:
        """Give up."""
        self.stopping = True
        if not self.done.done():
            self.done.set_exception(WrongAnswerError(reason))

    def closed(self) -> None:
        """One connection has nothing more to do."""
        self._open -= 1
        if self._open == 0:
            self._ended = self._ended or perf_counter()
            if not self.done.done():
                self.done.set_result(None)

    def result(self) -> Measured:
        """The figures of the recorded time."""
        times, firsts = sorted(self._times), sorted(self._first_times)
        return Measured(
            requests=len(times),
            rps=len(times) / (self._ended - self._began),
            p50=quantile(times, 0.5),
            p99=quantile(times, 0.99),
            first_byte_p50=quantile(firsts, 0.5),
            slowest=quantile(times, 1.0),
        )


class LoadConnection(asyncio.Protocol):
    """A keep-alive connection with at most one request under way."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._body_at = 0
        self._end_at: int | None = None
        self._sent_at = 0.0
        self._first_at = 0.0
        self._is_idle = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        # uvloop's transport has the methods without the base class
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Right only when nothing is awaited."""
        if not self._is_idle:
            self._run.fail(f"the server closed the connection: {exc!r}")

    def send(self) -> None:
        """Send the first request, or close where none is left."""
        request = self._run.next_request()
        if request is None:
            self._close()
        else:
            self._send(request)

    def _close(self) -> None:
        assert self._transport is not None
        self._is_idle = True
        self._transport.close()
        self._run.closed()

    def _send(self, request: bytes) -> None:
        assert self._transport is not None
        self._is_idle = False
        self._received = b""
        self._body_at = 0
        self._first_at = 0.0
        self._sent_at = perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take in bytes; when they complete the answer, send the next request and check."""
        now = perf_counter()
        answer = self._received = self._received + data if self._received else data
        if self._body_at == 0 and not self._read_head(answer):
            return
        if not self._first_at and len(answer) > self._body_at:
            self._first_at = now
        end_at, body_at = self._end_at, self._body_at
        if end_at is None:
            if not answer.endswith(_CHUNKED_END):
                return
        elif len(answer) < end_at:
            return
        self._run.note(now - self._sent_at, self._first_at - self._sent_at)
        request = self._run.next_request()
        if request is not None:
            self._send(request)
        self._run.check(answer, body_at, is_chunked=end_at is None)
        if request is None:
            self._close()  # behind the check: closing the last connection ends the run

    def _read_head(self, answer: bytes) -> bool:
        at = answer.find(b"\r\n\r\n")
        if at < 0:
            return False
        self._body_at = at + 4
        head = answer[:at].lower()
        length_at = head.find(b"\r\ncontent-length:")
        if length_at >= 0:
            length = int(head[length_at + 17 :].partition(b"\r\n")[0])
            self._end_at = self._body_at + length
        else:
            self._end_at = None
        return True


async def perform(order: Order, number: int) -> tuple[Measured, int]:
    """Carry out one order; the first request that varies gets the number after `number`."""
    loop = asyncio.get_running_loop()
    work = worded(order.texts) if order.texts else WORKS[order.work]
    if order.first is not None:
        number = order.first - 1
    run = Run(order, work, loop.create_future(), number)
    connections = []
    for _ in range(order.connections):
        _, connection = await loop.create_connection(
            lambda: LoadConnection(run), "127.0.0.1", order.port
        )
        connections.append(connection)
    for connection in connections:
        connection.send()
    limit = 120.0
    if order.seconds is not None:
        loop.call_later(order.warm_seconds, run.begin)
        loop.call_later(order.warm_seconds + order.seconds, run.end)
        limit = order.warm_seconds + order.seconds + _GRACE_SECONDS
    async with asyncio.timeout(limit):
        await run.done
    return run.result(), run.number


def main() -> None:
    """Carry out orders until stdin ends."""
    number = 0
    gc.disable()  # nothing here makes cycles; a collection would be somebody's p99
    for line in sys.stdin:
        order = Order(**json.loads(line))
        try:
            measured, last = uvloop.run(perform(order, number))
            number = max(number, last)
        except (WrongAnswerError, OSError) as error:
            reply: dict[str, object] = {"error": f"{type(error).__name__}: {error}"}
        else:
            reply = asdict(measured)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
        gc.collect()


if __name__ == "__main__":
    main()
