"""A clock that stands still until a test moves it."""


class FakeClock:
    """Fulfils proxy.ports.Clock. Both times advance together."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> float:
        """Wall time in seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass; a negative number is a mistake of the test."""
        if seconds < 0:
            raise ValueError("time does not run backwards; use set_now for a corrected clock")
        self._now += seconds
        self._monotonic += seconds

    def set_now(self, now: float) -> None:
        """Correct the wall time, as a time server does; durations do not notice."""
        self._now = now
