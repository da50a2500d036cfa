"""Admits a question to the cache when it comes for the second time (mission E6)."""

from proxy.core.cache.bloom import Bloom

CAPACITY = 100_000
"""Questions after which the older half of what is remembered is forgotten."""


class Doorkeeper:
    """Remembers the last one to two times CAPACITY questions, by two Bloom filters in turn."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._count = 0
        self._now = Bloom(capacity)
        self._before = Bloom(capacity)

    def admits(self, key: bytes) -> bool:
        """Whether this question came before; from now on it did."""
        if key in self._now:
            return True
        came_before = key in self._before
        if self._count >= self._capacity:
            self._before, self._now, self._count = self._now, Bloom(self._capacity), 0
        self._now.add(key)
        self._count += 1
        return came_before
