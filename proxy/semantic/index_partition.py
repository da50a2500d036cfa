"""One partition: all is compared while that is fast, then most of it hangs in a graph.

Every entry is in one of two places: a row, compared by every search, or the graph. What is added
becomes a row. While the partition is large, rows move into the graph a few at a time, between
other work; the few that the graph would not find stay rows. So a search misses nothing new.
"""

from collections.abc import Sequence

import numpy as np

from proxy.ports import Neighbour, Vector
from proxy.semantic.index_file import StoredCell
from proxy.semantic.index_graph import Graph, is_available
from proxy.semantic.index_places import Places
from proxy.semantic.index_rows import Matrix, Rows

_STEP = 4
"""So many are put into a graph at once: 2 ms, at 100,000, which a search may have to wait."""
_TAKE = 64
"""So many are taken out of one at once: 1 ms."""


class Partition:
    """The entries of one partition. Belongs to one thread."""

    __slots__ = ("_graph", "_places", "_refused", "_rows", "_scan_below", "name", "number")

    def __init__(self, name: bytes, number: int, places: Places, *, scan_below: int) -> None:
        """`places`, which partitions share, tells where each key is: the row, or the number in the
        graph with all its bits turned over."""
        self.name = name
        self.number = number
        """By which `places` knows it."""
        self._places = places
        self._scan_below = scan_below
        self._rows = Rows()
        self._graph: Graph | None = None
        self._refused = 0
        """So many rows, the first ones, stay; the others are to go into the graph."""

    def __len__(self) -> int:
        return len(self._rows) + (0 if self._graph is None else len(self._graph))

    @property
    def is_large(self) -> bool:
        """Whether a graph would be faster."""
        return len(self) > self._scan_below

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        graph = self._graph
        if graph is None:
            return self.is_large and is_available()
        return self._has_waiting or graph.is_worn or graph.is_unsought or self._is_small

    def add(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Take in keys that are not here."""
        first = self._rows.extend(keys, vectors)
        for row, key in enumerate(keys, first):
            self._places.put(key, self.number, row)

    def discard(self, key: bytes) -> None:
        """Forget a key that is here."""
        place = self._places.place(key)
        if place >= 0:
            self._remove_row(place)
        else:
            assert self._graph is not None  # noqa: S101 - the place says so
            self._graph.discard(~place)
        self._places.discard(key)

    def search(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest, nearest first; what is in the graph with few exceptions."""
        near = self._rows.search(vector, limit)
        if self._graph is not None:
            near += self._graph.search(vector, limit)
            near.sort(reverse=True)
        # Rounding may leave the length of a vector a little over 1.
        return [Neighbour(key, min(1.0, max(-1.0, found))) for found, key in near[:limit]]

    def stored(self, keys: Sequence[bytes]) -> StoredCell:
        """Some entries, to be written to a file."""
        places = [self._places.place(key) for key in keys]
        rows = [(key, place) for key, place in zip(keys, places, strict=True) if place >= 0]
        linked = [(key, ~place) for key, place in zip(keys, places, strict=True) if place < 0]
        vectors = []
        if rows:
            vectors.append(self._rows.vectors([row for _, row in rows]))
        if linked and self._graph is not None:
            vectors.append(self._graph.vectors([number for _, number in linked]))
        return StoredCell(self.name, [key for key, _ in rows + linked], np.concatenate(vectors))

    def work(self) -> None:
        """Do a little of what can wait."""
        if self._graph is None:
            self._graph = Graph(self._rows.dimensions)
        elif self._is_small:
            self.add(*self._graph.take(_TAKE))
            if not len(self._graph):
                self._graph, self._refused = None, 0
        elif self._graph.is_worn:
            if self._graph.renew(_STEP):
                self._refused = 0
        elif self._has_waiting:
            self._link(self._graph)
        elif self._graph.is_unsought:
            keys, vectors = self._graph.seek(_STEP)
            self.add(keys, vectors)
            for key in keys:
                self._refuse(key)

    @property
    def _has_waiting(self) -> bool:
        return self._refused < len(self._rows)

    @property
    def _is_small(self) -> bool:
        # Half of the bound that it grew over, so that it does not go to and fro.
        return len(self) <= self._scan_below // 2

    def _link(self, graph: Graph) -> None:
        first = max(self._refused, len(self._rows) - _STEP)
        keys = self._rows.keys[first:]
        numbers = graph.add(keys, self._rows.vectors(range(first, first + len(keys))))
        for key, number in zip(keys, numbers, strict=True):
            if number is None:
                self._refuse(key)
            else:
                self._remove_row(self._places.place(key))
                self._places.put(key, self.number, ~number)

    def _refuse(self, key: bytes) -> None:
        """Let a row stay that was to go into the graph."""
        self._exchange(self._places.place(key), self._refused)
        self._refused += 1

    def _remove_row(self, row: int) -> None:
        if row < self._refused:
            self._refused -= 1
            self._exchange(row, self._refused)
            row = self._refused
        moved = self._rows.remove(row)
        if moved is not None:
            self._places.put(moved, self.number, row)

    def _exchange(self, one: int, other: int) -> None:
        if one != other:
            self._rows.exchange(one, other)
            for row in (one, other):
                self._places.put(self._rows.keys[row], self.number, row)
