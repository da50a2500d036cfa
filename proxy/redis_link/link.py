"""Asks Redis with bounds: so many connections, so long, and not at all while it is broken."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import RedisClusterException, RedisError

from proxy.ports import Clock
from proxy.redis_link.breaker import PROBE_EVERY, Breaker
from proxy.redis_link.errors import WRITE_REFUSALS, LinkDown, Reason, reason_of
from proxy.redis_link.urls import Client, connect
from proxy.tasks import Tasks
from proxy.telemetry.log import Log

T = TypeVar("T")

PROBE_SECONDS = PROBE_EVERY
"""How long a probe waits at most, connecting included."""
CLOSE_SECONDS = 1.0
BACKGROUND_CONNECTIONS = 3
"""At least so many are for work in the background, which may wait long for an answer."""

_FOREIGN = (RedisError, RedisClusterException, OSError, EOFError, RuntimeError)
"""What the library raises. RuntimeError is uvloop's word for a connection that has closed."""


class RedisLink:
    """One Redis, of whichever kind, as all adapters of a process see it.

    Three breakers: one for short calls, which clients wait for; one for all; one for writes. So a
    Redis that is too slow for clients still serves the journal, and one that takes no writes still
    answers.
    """

    def __init__(
        self,
        url: str,
        *,
        max_connections: int,
        deadline: float,
        prefix: str,
        clock: Clock,
        tasks: Tasks,
        log: Log | None,
    ) -> None:
        """`deadline` is what a client's request may cost, in seconds; `prefix` begins all our keys.
        `log` is told of changes of state.

        Connects when first asked. Raises BadUrl for a URL that is none.
        """
        background = max(BACKGROUND_CONNECTIONS, max_connections // 4)
        requests = max(1, max_connections - background - 1)
        # One more than these use, for the probe.
        self._connected = connect(url, max_connections=requests + background + 1)
        self._slots = asyncio.Semaphore(requests)
        self._background_slots = asyncio.Semaphore(background)
        self._deadline = deadline
        self._probe_key = f"{prefix}:probe"
        self._clock = clock
        self._tasks = tasks
        self._log = log
        self._all = Breaker()
        self._short = Breaker()
        self._writes = Breaker()
        self._write_reason = Reason.OPEN
        self._state = "up"
        self._since = clock.monotonic()
        self._failures: Counter[Reason] = Counter()
        self._attempts = 0
        self._write_errors = 0

    @property
    def is_open(self) -> bool:
        """Whether clients' requests are spared at this moment."""
        return self._short.is_open or self._all.is_open

    async def call(
        self,
        work: Callable[[Client], Awaitable[T]],
        *,
        deadline: float,
        important: bool = False,
        writes: bool = False,
    ) -> T:
        """Let `work` ask, `deadline` seconds at most, with the wait for a connection.

        `important` is work in the background, which is not given up for being slow alone. `writes`
        says that it fails where nothing can be written. A call that is late or cancelled drops its
        connection, so that nobody gets its answer. Raises LinkDown.
        """
        began = self._clock.monotonic()
        self._admit(began, important=important, writes=writes)
        try:
            async with asyncio.timeout(deadline):
                async with self._background_slots if important else self._slots:
                    result = await self._ask(work)
        except _FOREIGN as error:
            reason = reason_of(error)
            self._note_failure(reason, began, important=important, writes=writes)
            self._tell(reason)
            if reason is Reason.READONLY:
                # Its name may be another server's by now.
                self._tasks.spawn(self._connected.disconnect_idle(), "redis reconnect")
            raise LinkDown(reason) from None
        self._note_success(important=important, writes=writes)
        self._tell(None)
        return result

    async def start(self) -> None:
        """Make a first connection, within two seconds, so that no client waits for it."""
        await self._probe()

    async def close(self) -> None:
        """Close all connections, within a second."""
        for client in self._connected.closing:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await client.aclose()
            except _FOREIGN:
                pass  # it is gone anyway

    @property
    def failures(self) -> dict[str, float]:
        """How many calls gave no answer, by reason."""
        return {str(reason): self._failures[reason] for reason in Reason}

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {
            "redis_up": float(not self.is_open),
            "redis_writes_refused": float(self._writes.is_open),
            "redis_attempts": self._attempts,
            "redis_write_errors": self._write_errors,
        }

    async def _ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        self._attempts += 1
        return await work(self._connected.client)

    def _admit(self, now: float, *, important: bool, writes: bool) -> None:
        if self._all.is_open or (self._short.is_open and not important):
            # Who asks is not made to wait for a try; that goes its own way.
            if (self._all if self._all.is_open else self._short).may_probe(now):
                self._tasks.spawn(self._probe(), "redis probe")
            self._failures[Reason.OPEN] += 1
            raise LinkDown(Reason.OPEN)
        if writes and self._writes.is_open and not self._writes.may_probe(now):
            raise LinkDown(self._write_reason)

    async def _probe(self) -> None:
        """Ask for a key that is not there.

        It may take longer than requests would wait, and so connect; only the next one, which finds
        the connection, then tells that Redis is fast enough for them.
        """
        began, loop = self._clock.monotonic(), asyncio.get_running_loop()
        sent = loop.time()
        reason = None
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await self._ask(self._get_nothing)
        except _FOREIGN as error:
            reason = reason_of(error)
        if reason is None or reason is Reason.ERROR:
            self._note_success(important=loop.time() - sent > self._deadline, writes=False)
            self._tell(None)
        else:
            self._note_failure(reason, began, important=True, writes=False, surely=True)
            self._tell(reason)

    async def _get_nothing(self, client: Client) -> None:
        await client.execute_command("GET", self._probe_key)

    def _note_success(self, *, important: bool, writes: bool) -> None:
        now = self._clock.monotonic()
        self._all.succeeded(now)
        if not important:
            self._short.succeeded(now)
        if writes:
            self._writes.succeeded(now)

    def _note_failure(
        self, reason: Reason, began: float, *, important: bool, writes: bool, surely: bool = False
    ) -> None:
        now = self._clock.monotonic()
        self._failures[reason] += 1
        if writes:
            self._write_errors += 1
        if reason in WRITE_REFUSALS or (writes and reason is Reason.DENIED):
            self._write_reason = reason
            self._writes.failed(began, now, surely=True)
        elif reason is not Reason.ERROR:  # that one lives; what was asked was wrong
            if not important:
                self._short.failed(began, now, surely=surely)
            if important or reason is not Reason.TIMEOUT:
                self._all.failed(began, now, surely=surely)

    def _tell(self, reason: Reason | None) -> None:
        """Write a line where the state is another than before."""
        state = "down" if self._all.is_open else "slow" if self._short.is_open else "up"
        if self._writes.is_open and state == "up":
            state = "takes no writes"
        if state == self._state:
            return
        lasted = self._clock.monotonic() - self._since
        fields = {"state": state, "before": self._state, "lasted": round(lasted, 3)}
        if reason is not None:
            fields["reason"] = str(reason)
        if self._log is not None:
            self._log.emit("info" if state == "up" else "warning", "redis", fields)
        self._state, self._since = state, self._clock.monotonic()
