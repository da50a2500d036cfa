"""The deadlines of one upstream exchange, watched by a single timer.

Setting and cancelling a timer for every piece of a stream would cost more than relaying it. This
one is set once, and when it fires it looks whether anything is due.
"""

import asyncio
from collections.abc import Callable

from proxy.core.errors import UpstreamTimeout
from proxy.core.policy import Deadlines

_NEVER = float("inf")


class Watchdog:
    """Fails whoever waits when a deadline passes."""

    __slots__ = ("_between", "_due", "_end", "_fail", "_first", "_handle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, deadlines: Deadlines) -> None:
        """The total counts from now on."""
        self._loop = loop
        self._first = _NEVER if deadlines.first_byte is None else deadlines.first_byte
        self._between = _NEVER if deadlines.between_bytes is None else deadlines.between_bytes
        self._end = _NEVER if deadlines.total is None else loop.time() + deadlines.total
        self._due = _NEVER
        self._fail: Callable[[BaseException], None] | None = None
        self._handle: asyncio.TimerHandle | None = None

    def start(self, fail: Callable[[BaseException], None]) -> None:
        """The request was sent: the first byte must come in time, or `fail` is called."""
        now = self._loop.time()
        self._fail = fail
        self._due = now + self._first
        self._arm(min(self._due, now + self._between, self._end))

    def sending(self) -> None:
        """The request is still being sent: until `wait_for_first_byte` only the total counts."""
        self._due = _NEVER

    def wait_for_first_byte(self) -> None:
        """The request was sent whole."""
        self._due = self._loop.time() + self._first
        self._arm(min(self._due, self._end))

    def head_arrived(self, fail: Callable[[BaseException], None]) -> None:
        """From now on time counts only while somebody waits for the next bytes."""
        self._fail = fail
        self._due = _NEVER

    def wait_begins(self) -> None:
        """Somebody waits for the upstream."""
        self._due = self._loop.time() + self._between

    def wait_ends(self) -> None:
        """The bytes are there; a slow client does not count against the upstream."""
        self._due = _NEVER

    def stop(self) -> None:
        """Nothing is due any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, when: float) -> None:
        self.stop()
        if when != _NEVER:
            self._handle = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._handle = None
        now = self._loop.time()
        if now < min(self._due, self._end):
            # Nothing is due before a wait that begins now would be.
            self._arm(min(self._due, now + self._between, self._end))
        elif self._fail is not None:
            self._fail(UpstreamTimeout("The upstream did not answer in time."))
