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
from proxy.semantic.index_rows import Matrix, Rows

_STEP = 4
"""So many are put into a graph at once: 2 ms, at 100,000, which a search may have to wait."""
_TAKE = 64
"""So many are taken out of one at once: 1 ms."""


class Partition:
    """The entries of one partition. Belongs to one thread."""

    __slots__ = ("_graph", "_places", "_rows", "_scan_below", "_waiting", "name")

    def __init__(self, name: bytes, places: dict[bytes, int], *, scan_below: int) -> None:
        """`places`, which partitions share, tells where each key is: the row, or the number in the
        graph with all its bits turned over."""
        self.name = name
        self._places = places
        self._scan_below = scan_below
        self._rows = Rows()
        self._graph: Graph | None = None
        self._waiting: dict[bytes, None] = {}
        """The rows that are to go into the graph."""

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
        return bool(self._waiting) or graph.is_worn or graph.is_unsought or self._is_small

    def add(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Take in keys that are not here."""
        self._keep(keys, vectors)
        if self._graph is not None:
            self._waiting.update(dict.fromkeys(keys))

    def discard(self, key: bytes) -> None:
        """Forget a key that is here."""
        place = self._places.pop(key)
        if place < 0:
            assert self._graph is not None  # noqa: S101 - the place says so
            self._graph.discard(~place)
            return
        self._waiting.pop(key, None)
        self._remove_row(place)

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
        places = [self._places[key] for key in keys]
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
            self._waiting = dict.fromkeys(self._rows.keys)
        elif self._is_small:
            self._keep(*self._graph.take(_TAKE))
            if not len(self._graph):
                self._graph = None
                self._waiting = {}
        elif self._graph.is_worn:
            if self._graph.renew(_STEP):
                self._waiting = dict.fromkeys(self._rows.keys)
        elif self._waiting:
            self._link(self._graph)
        elif self._graph.is_unsought:
            self._keep(*self._graph.seek(_STEP))

    @property
    def _is_small(self) -> bool:
        # Half of the bound that it grew over, so that it does not go to and fro.
        return len(self) <= self._scan_below // 2

    def _keep(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        first = self._rows.extend(keys, vectors)
        self._places.update(zip(keys, range(first, first + len(keys)), strict=True))

    def _link(self, graph: Graph) -> None:
        keys = [self._waiting.popitem()[0] for _ in range(min(_STEP, len(self._waiting)))]
        numbers = graph.add(keys, self._rows.vectors([self._places[key] for key in keys]))
        for key, number in zip(keys, numbers, strict=True):
            if number is not None:
                self._remove_row(self._places[key])
                self._places[key] = ~number

    def _remove_row(self, row: int) -> None:
        moved = self._rows.remove(row)
        if moved is not None:
            self._places[moved] = row
