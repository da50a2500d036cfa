"""Spares what is broken: after a few failures in a row it is tried once a second only."""

FAILURES = 3
"""So many in a row open it."""
PROBE_EVERY = 1.0
"""Seconds between two tries while it is open. A try must not last longer: one at a time."""
LONGEST_PAUSE = 8.0
"""Seconds between two tries of what has opened again and again; they double."""
STEADY = 10.0
"""Seconds of service after which that is forgotten."""


class Breaker:
    """Closed: all may pass. Open: one a second, to try.

    What works for moments only, such as a cluster of which a part is down, is tried ever less, so
    that neither requests nor the log suffer from its changes.

    Times are seconds that never run backwards.
    """

    def __init__(self) -> None:
        self._in_a_row = 0
        self._last_failure = float("-inf")
        self._next_probe = 0.0
        self._pause = PROBE_EVERY
        self._closed_at = float("-inf")
        self.is_open = False

    def may_probe(self, now: float) -> bool:
        """Whether it is open, and time to try; it counts as tried."""
        if not self.is_open or now < self._next_probe:
            return False
        self._next_probe = now + self._pause
        return True

    def succeeded(self, now: float) -> None:
        """What was asked has answered: it closes."""
        self._in_a_row = 0
        if self.is_open:
            self.is_open = False
            self._closed_at = now

    def failed(self, began: float, now: float, *, surely: bool = False) -> None:
        """What was asked at a time gave no answer. `surely` opens it at once.

        Those that were under way together count as one: a moment in which this process did not
        come to read its answers is no outage.
        """
        if self.is_open:
            return
        if began >= self._last_failure:
            self._in_a_row += 1
            self._last_failure = now
        if self._in_a_row >= FAILURES or surely:
            self.is_open = True
            self._in_a_row = 0
            is_back = now - self._closed_at < STEADY
            self._pause = min(2 * self._pause, LONGEST_PAUSE) if is_back else PROBE_EVERY
            self._next_probe = now + self._pause
