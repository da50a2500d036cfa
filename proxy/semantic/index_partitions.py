"""All partitions of an index, for the one thread that owns them. Nothing here waits or locks."""

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter

import numpy as np

from proxy.ports import Neighbour, Vector
from proxy.semantic.index_file import encode_cell
from proxy.semantic.index_partition import Partition
from proxy.semantic.index_places import Places
from proxy.semantic.index_rows import Matrix

_RECORD_ENTRIES = 64
"""So many entries are looked up for a snapshot at once: 1 ms."""


class Partitions:
    """Vectors under their keys, in partitions that never see each other."""

    def __init__(self, *, scan_below: int, on_large: Callable[[int], None]) -> None:
        """A search compares all vectors of a partition of up to `scan_below`; a larger one gets a
        graph. `on_large` is told the size of each that grows over it."""
        self._scan_below = scan_below
        self._on_large = on_large
        self._partitions: dict[bytes, Partition] = {}
        self._numbers = count()
        self._numbered: dict[int, Partition] = {}
        self._places = Places()
        self._busy: dict[Partition, None] = {}
        """Those that have work; the one whose turn it is comes first."""
        self._unsaved: dict[bytes, None] = {}
        """What a snapshot has yet to take; nothing of it has changed since the snapshot began."""
        self._taken: list[bytes] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, partition: bytes, key: bytes, vector: Vector) -> None:
        """Take an entry in, in place of what the key had."""
        self.discard(key)
        self.add_cell(partition, [key], vector[np.newaxis])

    def add_cell(self, partition: bytes, keys: list[bytes], vectors: Matrix) -> None:
        """Take in entries of which none is here."""
        home = self._partitions.get(partition)
        if home is None:
            number = next(self._numbers)
            home = Partition(partition, number, self._places, scan_below=self._scan_below)
            self._partitions[partition] = self._numbered[number] = home
        was_large = home.is_large
        home.add(keys, vectors)
        if home.is_large and not was_large:
            self._on_large(len(home))
        self._note_work(home)

    def add_missing(self, partition: bytes, keys: list[bytes], vectors: Matrix) -> int:
        """Take in those entries whose keys are not here, and tell how many."""
        rows = [row for row, key in enumerate(keys) if key not in self._places]
        if rows:
            self.add_cell(partition, [keys[row] for row in rows], vectors[rows])
        return len(rows)

    def discard(self, key: bytes) -> None:
        """Forget an entry; unknown keys are fine."""
        if key in self._places:
            number = self._places.partition(key)
            home = self._numbered[number]
            if key in self._unsaved:
                del self._unsaved[key]
                self._take(home, [key])
            home.discard(key)
            if len(home):
                self._note_work(home)
            else:
                del self._partitions[home.name], self._numbered[number]
                self._busy.pop(home, None)

    def search(self, partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of one partition, nearest first."""
        home = self._partitions.get(partition)
        return [] if home is None else home.search(vector, limit)

    def search_all(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of all partitions."""
        return heapq.nlargest(
            limit,
            (near for home in self._partitions.values() for near in home.search(vector, limit)),
            key=attrgetter("similarity"),
        )

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of those keys that are here."""
        homes: dict[int, list[bytes]] = {}
        for key in keys:
            if key in self._places:
                homes.setdefault(self._places.partition(key), []).append(key)
        found: dict[bytes, Vector] = {}
        for number, its_keys in homes.items():
            cell = self._numbered[number].stored(its_keys)
            found.update(zip(cell.keys, cell.vectors, strict=True))
        return found

    def counts(self) -> dict[bytes, int]:
        """How many entries each partition has."""
        return {name: len(home) for name, home in self._partitions.items()}

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._busy)

    def work(self) -> None:
        """Do a little of what can wait, for one of the partitions in turn: 2 ms."""
        home = next(iter(self._busy))
        del self._busy[home]
        home.work()
        self._note_work(home)

    def begin_snapshot(self) -> int:
        """Begin to take what is here now, whatever changes later; tells how many entries."""
        self._unsaved = dict.fromkeys(self._places.keys())
        self._taken = []
        return len(self._unsaved)

    def next_records(self, at_least: int) -> bytes:
        """The next records of the snapshot, `at_least` bytes if there are so many."""
        size = sum(map(len, self._taken))
        while size < at_least and self._unsaved:
            homes: dict[int, list[bytes]] = {}
            for _ in range(min(_RECORD_ENTRIES, len(self._unsaved))):
                key, _ = self._unsaved.popitem()
                homes.setdefault(self._places.partition(key), []).append(key)
            for number, keys in homes.items():
                self._take(self._numbered[number], keys)
                size += len(self._taken[-1])
        records = b"".join(self._taken)
        self._taken = []
        return records

    def end_snapshot(self) -> None:
        """Let go of what was not taken."""
        self._unsaved = {}
        self._taken = []

    def _note_work(self, home: Partition) -> None:
        if home.has_work:
            self._busy[home] = None

    def _take(self, home: Partition, keys: list[bytes]) -> None:
        self._taken.append(encode_cell(home.stored(keys)))
