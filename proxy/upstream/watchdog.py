"""The deadlines of all upstream exchanges, watched by one timer.

A timer for every exchange, let alone for every piece of a stream, would cost more than relaying it.
This one runs while there is something to watch and looks at all exchanges; a deadline is noticed at
most TICK_SECONDS late.
"""

import asyncio
from collections.abc import Callable

from proxy.core.errors import UpstreamTimeout
from proxy.core.policy import Deadlines

TICK_SECONDS = 0.05
_NEVER = float("inf")


class Watchdogs:
    """Those that are awake, and the timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.time = loop.time
        self._loop = loop
        self._awake: set[Watchdog] = set()
        self._is_ticking = False

    def add(self, watchdog: "Watchdog") -> None:
        """Look at it from now on."""
        self._awake.add(watchdog)
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(TICK_SECONDS, self._look)

    def discard(self, watchdog: "Watchdog") -> None:
        """Look at it no more."""
        self._awake.discard(watchdog)

    def _look(self) -> None:
        now = self.time()
        for watchdog in [one for one in self._awake if one.is_due(now)]:
            watchdog.fail()
        self._is_ticking = bool(self._awake)
        if self._is_ticking:
            self._loop.call_later(TICK_SECONDS, self._look)


class Watchdog:
    """Fails whoever waits when a deadline of one exchange passes."""

    __slots__ = ("_between", "_due", "_end", "_fail", "_first", "_others")

    def __init__(self, others: Watchdogs, deadlines: Deadlines) -> None:
        """The total counts from now on."""
        self._others = others
        self._first = _NEVER if deadlines.first_byte is None else deadlines.first_byte
        self._between = _NEVER if deadlines.between_bytes is None else deadlines.between_bytes
        self._end = _NEVER if deadlines.total is None else others.time() + deadlines.total
        self._due = _NEVER
        self._fail: Callable[[BaseException], None] | None = None

    def start(self, fail: Callable[[BaseException], None]) -> None:
        """The request was sent: the first byte must come in time, or `fail` is called."""
        self._fail = fail
        self._due = self._others.time() + self._first
        if min(self._first, self._between, self._end) != _NEVER:
            self._others.add(self)

    def sending(self) -> None:
        """The request is still being sent: until `wait_for_first_byte` only the total counts."""
        self._due = _NEVER

    def wait_for_first_byte(self) -> None:
        """The request was sent whole."""
        self._due = self._others.time() + self._first

    def head_arrived(self, fail: Callable[[BaseException], None]) -> None:
        """From now on time counts only while somebody waits for the next bytes."""
        self._fail = fail
        self._due = _NEVER

    def wait_begins(self) -> None:
        """Somebody waits for the upstream."""
        self._due = self._others.time() + self._between

    def wait_ends(self) -> None:
        """The bytes are there; a slow client does not count against the upstream."""
        self._due = _NEVER

    def stop(self) -> None:
        """Nothing is due any more."""
        self._others.discard(self)

    def is_due(self, now: float) -> bool:
        """Whether a deadline has passed."""
        return now >= self._due or now >= self._end

    def fail(self) -> None:
        """Tell whoever waits."""
        self.stop()
        if self._fail is not None:
            self._fail(UpstreamTimeout("The upstream did not answer in time."))
