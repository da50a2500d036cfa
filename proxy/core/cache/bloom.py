"""Which digests were seen before, without keeping them: a Bloom filter."""

BITS_PER_KEY = 10
"""With PROBES this errs for one digest in a hundred that was never seen."""
PROBES = 7


class Bloom:
    """Digests (16 bytes or more, evenly distributed) that were added; never forgets one."""

    def __init__(self, capacity: int) -> None:
        """`capacity`: how many are added before it errs more often."""
        self._size = max(64, capacity * BITS_PER_KEY)
        self._bits = bytearray((self._size + 7) // 8)

    def add(self, digest: bytes) -> None:
        """From now on it is in."""
        for place in self._places(digest):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, digest: bytes) -> bool:
        return all(self._bits[place >> 3] & (1 << (place & 7)) for place in self._places(digest))

    def _places(self, digest: bytes) -> list[int]:
        first = int.from_bytes(digest[:8], "little")
        step = int.from_bytes(digest[8:16], "little") | 1
        return [(first + number * step) % self._size for number in range(PROBES)]
