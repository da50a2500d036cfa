"""Stored responses in this process's memory, bounded by bytes and by count (mission C1)."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable

from proxy.core.cache.value import StoredResponse

OVERHEAD_BYTES = 640
"""What an entry takes besides its own bytes: objects, digests, its place in the dictionary."""
_BOUNDS = ("max_bytes", "max_entries", "max_entry_bytes")


class MemoryStore:
    """Least recently used goes first."""

    def __init__(
        self,
        *,
        max_bytes: int,
        max_entries: int,
        max_entry_bytes: int,
        on_gone: Callable[[bytes], None] = lambda key: None,
        on_evicted: Callable[[bytes], None] | None = None,
    ) -> None:
        """`on_gone` is told each key under which nothing is stored any longer.

        Where `on_evicted` is given, that is told instead when an entry had to go for others.
        """
        self._on_gone = on_gone
        self._on_evicted = on_evicted or on_gone
        self._entries: OrderedDict[bytes, StoredResponse] = OrderedDict()
        self._bytes = 0
        self._evictions = Counter(dict.fromkeys(_BOUNDS, 0))
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._max_entry_bytes = max_entry_bytes

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        """What the entries take, estimated."""
        return self._bytes

    @property
    def evictions(self) -> Counter[str]:
        """How many entries had to go since the start, by the bound that they were over."""
        return self._evictions

    def resize(self, *, max_bytes: int, max_entries: int, max_entry_bytes: int) -> None:
        """Take other bounds; what is over them goes at once."""
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._max_entry_bytes = max_entry_bytes
        for stored in self.scan():
            if len(stored.body) > max_entry_bytes:
                self._evict_one(stored.key, "max_entry_bytes")
        self._evict()

    def get(self, key: bytes) -> StoredResponse | None:
        """The stored response under an exact key, stale ones included; None where there is none."""
        stored = self._entries.get(key)
        if stored is not None:
            self._entries.move_to_end(key)
        return stored

    def peek(self, key: bytes) -> StoredResponse | None:
        """The same, and it does not count as a use."""
        return self._entries.get(key)

    def put(self, stored: StoredResponse) -> bool:
        """Keep it in place of what its key had; False where it is over the bounds."""
        size = _size(stored)
        if len(stored.body) > self._max_entry_bytes or size > self._max_bytes:
            self.delete(stored.key)
            return False
        self._take_out(stored.key)
        self._entries[stored.key] = stored
        stored.charged = size
        self._bytes += size
        self._evict()
        return stored.key in self._entries

    def recount(self, stored: StoredResponse) -> None:
        """Count its bytes anew, if it is there: something was derived from it."""
        if self._entries.get(stored.key) is stored:
            self.put(stored)

    def delete(self, key: bytes) -> bool:
        """Forget it; False where there was nothing."""
        is_gone = self._take_out(key)
        if is_gone:
            self._on_gone(key)
        return is_gone

    def scan(self) -> Iterable[StoredResponse]:
        """All that is stored, least recently used first; a snapshot, safe to change meanwhile."""
        return list(self._entries.values())

    def _take_out(self, key: bytes) -> bool:
        stored = self._entries.pop(key, None)
        if stored is None:
            return False
        self._bytes -= stored.charged
        return True

    def _evict(self) -> None:
        while self._bytes > self._max_bytes:
            self._evict_one(next(iter(self._entries)), "max_bytes")
        while len(self._entries) > self._max_entries:
            self._evict_one(next(iter(self._entries)), "max_entries")

    def _evict_one(self, key: bytes, bound: str) -> None:
        self._take_out(key)
        self._on_evicted(key)
        self._evictions[bound] += 1


def _size(stored: StoredResponse) -> int:
    derived = sum(map(len, stored.derived.values())) if stored.derived else 0
    # The client writes these: none may grow unseen. A character takes four bytes at most.
    words = len(stored.model) + len(stored.namespace) + sum(map(len, stored.tags))
    own = len(stored.body) + len(stored.head) + len(stored.stream_options)
    return OVERHEAD_BYTES + own + derived + 4 * words
