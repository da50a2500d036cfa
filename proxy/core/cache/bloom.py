"""Which keys may be somewhere: a Bloom filter, small and sure of what is absent."""

import hashlib
import math
from collections.abc import Iterator

ERROR_RATE = 0.01
"""Share of the absent keys that seem to be there, when it is as full as it was made for."""


class Bloom:
    """A set of keys that may say yes too often, and never no where it should say yes."""

    __slots__ = ("_bits", "_hashes", "_set", "_size")

    def __init__(self, capacity: int) -> None:
        """For `capacity` keys: 1.2 bytes each, which it never exceeds."""
        self._size = max(64, math.ceil(-max(1, capacity) * math.log(ERROR_RATE) / math.log(2) ** 2))
        self._hashes = max(1, round(-math.log2(ERROR_RATE)))
        self._bits = bytearray((self._size + 7) // 8)
        self._set = 0

    def add(self, key: bytes) -> None:
        """From now on it is there."""
        bits = self._bits
        for place in self._places(key):
            mask = 1 << (place & 7)
            if not bits[place >> 3] & mask:
                bits[place >> 3] |= mask
                self._set += 1

    def __contains__(self, key: bytes) -> bool:
        bits = self._bits
        for place in self._places(key):  # noqa: SIM110 - twice as fast as all()
            if not bits[place >> 3] & 1 << (place & 7):
                return False
        return True

    @property
    def fill(self) -> float:
        """Share of its bits that are set; a half when it is as full as it was made for."""
        return self._set / self._size

    def __len__(self) -> int:
        """How many keys it has, about; told by its bits."""
        free = max(1, self._size - self._set)
        return round(self._size / self._hashes * math.log(self._size / free))

    def _places(self, key: bytes) -> Iterator[int]:
        # Double hashing: two hashes make all the others.
        digest = hashlib.blake2b(key, digest_size=16).digest()
        first = int.from_bytes(digest[:8], "big")
        step = int.from_bytes(digest[8:], "big") | 1
        size = self._size
        for number in range(self._hashes):
            yield (first + number * step) % size


class KnownKeys:
    """The keys that are in a place which others write to, as far as that is known.

    What is deleted there stays; `rebuild` makes a filter without it, beside the one in use.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._filter = Bloom(capacity)
        self._next: Bloom | None = None
        self._is_complete = False

    def complete(self) -> bool:
        """Whether every key that is there was added: only then does absence mean something."""
        return self._is_complete

    def add(self, key: bytes) -> None:
        """A key is there."""
        if self._next is None or self._is_complete:
            self._filter.add(key)
        if self._next is not None:
            self._next.add(key)

    def __contains__(self, key: bytes) -> bool:
        return key in self._filter

    @property
    def fill(self) -> float:
        """Share of the filter's bits that are set; a half when it is as full as it was made for."""
        return self._filter.fill

    def rebuild(self) -> None:
        """Begin anew: whoever calls it adds every key that is there, then calls `finish`."""
        self._next = Bloom(self._capacity)

    def finish(self) -> None:
        """All that is there was added since `rebuild`, or since the beginning."""
        if self._next is not None:
            self._filter, self._next = self._next, None
        self._is_complete = True

    def doubt(self) -> None:
        """Something may have been missed: ask always, until `finish`."""
        self._is_complete = False

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {
            "redis_known_keys": len(self._filter),
            "redis_known_fill_ratio": self._filter.fill,
            "redis_known_complete": float(self._is_complete),
        }
