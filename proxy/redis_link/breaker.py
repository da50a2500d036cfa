"""Spares what is broken: after a few failures in a row it is tried once a second only."""

FAILURES = 3
"""So many in a row open it."""
PROBE_EVERY = 1.0
"""Seconds between two tries while it is open. A try must not last longer: one at a time."""


class Breaker:
    """Closed: all may pass. Open: one a second, to try.

    Times are seconds that never run backwards.
    """

    def __init__(self) -> None:
        self._in_a_row = 0
        self._last_failure = float("-inf")
        self._next_probe = 0.0
        self.is_open = False

    def may_probe(self, now: float) -> bool:
        """Whether it is open, and time to try; it counts as tried."""
        if not self.is_open or now < self._next_probe:
            return False
        self._next_probe = now + PROBE_EVERY
        return True

    def succeeded(self) -> None:
        """What was asked has answered: it closes."""
        self._in_a_row = 0
        self.is_open = False

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
            self._next_probe = now + PROBE_EVERY
