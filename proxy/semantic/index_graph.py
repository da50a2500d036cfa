"""Vectors in an HNSW graph (Malkov and Yashunin 2016), by hnswlib where that is installed.

A graph forgets by marking: what was discarded stays in it as a way to others, and its place is not
used again, since that cuts others off. When a tenth of a graph is of that kind it is built anew
beside itself. A few vectors of any graph cannot be reached from where searches begin: they are
looked for, and handed back to whoever can compare them one by one.
"""

from collections.abc import Sequence

import numpy as np

from proxy.ports import Vector
from proxy.semantic.index_rows import Matrix

try:
    import hnswlib
except ImportError:
    hnswlib = None  # an extra: it is source only, and needs a C++ compiler

_NEIGHBOURS = 16
_EF_CONSTRUCTION = 200
_EF = 128
_SEED = 100
_SPARE_ELEMENTS = 1024
_WORN = 10
"""One of so many may be of no use, or not yet looked for."""
_ROUNDING = 1e-5


def is_available() -> bool:
    """Whether hnswlib is installed."""
    return hnswlib is not None


class Graph:
    """Vectors under their keys, each with a number of its own. Belongs to one thread.

    The methods that take several entries let other threads run while they compare.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._links = self._make()
        self._keys: list[bytes | None] = []
        """By number; None is discarded."""
        self._free: list[int] = []
        """Numbers that no element of the graph has."""
        self._count = 0
        self._discarded = 0
        """Since it was built."""
        self._successor: hnswlib.Index | None = None
        self._discarded_of_successor = 0
        self._passed = 0
        """All entries with smaller numbers are in the successor; or were looked for."""
        self._passed_free: list[int] = []
        self._unsought = 0
        """How many came since all were looked for."""

    def __len__(self) -> int:
        return self._count

    @property
    def is_worn(self) -> bool:
        """Whether `renew` has something to do."""
        return self._successor is not None or self._discarded * _WORN > self._count

    @property
    def is_unsought(self) -> bool:
        """Whether `seek` has something to do."""
        return self._unsought * _WORN > self._count

    def add(self, keys: Sequence[bytes], vectors: Matrix) -> list[int | None]:
        """Take entries in, and tell their numbers; None is not found by its own vector.

        Not while it `is_worn`.
        """
        numbers = [self._number(key) for key in keys]
        _link(self._links, numbers, vectors)
        self._count += len(numbers)
        self._unsought += len(numbers)
        for number in self._unreachable(numbers, vectors):
            self._forget(number)
        return [None if self._keys[number] is None else number for number in numbers]

    def discard(self, number: int) -> None:
        """Forget an entry."""
        self._forget(number)
        self._discarded += 1
        if self._successor is not None and number < self._passed:
            self._successor.mark_deleted(number)
            self._discarded_of_successor += 1

    def vectors(self, numbers: Sequence[int]) -> Matrix:
        """Copies of some vectors, in the order asked for. 20 us each."""
        chosen: Matrix = self._links.get_items(numbers)
        return chosen

    def search(self, vector: Vector, limit: int) -> list[tuple[float, bytes]]:
        """Near ones, nearest first, with their similarities: with few exceptions the nearest."""
        limit = min(limit, self._count)
        while limit:
            try:
                numbers, distances = self._links.knn_query(vector, k=limit, num_threads=1)
            except RuntimeError:
                limit //= 2  # it reached fewer, and does not say how many
                continue
            near = zip(numbers[0].tolist(), distances[0].tolist(), strict=True)
            return [
                (1.0 - distance, key)
                for number, distance in near
                if (key := self._keys[number]) is not None
            ]
        return []

    def renew(self, count: int) -> bool:
        """Go on building it anew, by so many entries; tells whether that is done."""
        if self._successor is None:
            self._successor = self._make()
            self._discarded_of_successor = self._passed = 0
            self._passed_free = []
        numbers = self._pass(count)
        if numbers:
            _link(self._successor, numbers, self.vectors(numbers))
        if self._passed < len(self._keys):
            return False
        self._links, self._successor = self._successor, None
        self._free, self._passed_free = self._passed_free, []
        self._discarded = self._discarded_of_successor
        self._passed, self._unsought = 0, self._count
        return True

    def seek(self, count: int) -> tuple[list[bytes], Matrix]:
        """Go on looking for each by its own vector, by so many; takes out what is not found."""
        numbers = self._pass(count)
        if self._passed == len(self._keys):
            self._passed = self._unsought = 0
        if not numbers:
            return self._taken([])
        return self._taken(self._unreachable(numbers, self.vectors(numbers)))

    def take(self, count: int) -> tuple[list[bytes], Matrix]:
        """Take so many entries out, or fewer; again and again takes all."""
        if self._successor is not None:
            self._successor, self._passed = None, 0
        numbers = self._pass(count)
        if self._passed == len(self._keys):
            self._passed = 0
        return self._taken(numbers)

    def _make(self) -> "hnswlib.Index":
        links = hnswlib.Index("ip", self._dimensions)
        links.init_index(
            _SPARE_ELEMENTS,
            M=_NEIGHBOURS,
            ef_construction=_EF_CONSTRUCTION,
            random_seed=_SEED,
        )
        links.set_ef(_EF)
        return links

    def _number(self, key: bytes) -> int:
        if self._free:
            number = self._free.pop()
            self._keys[number] = key
            return number
        self._keys.append(key)
        return len(self._keys) - 1

    def _forget(self, number: int) -> None:
        self._links.mark_deleted(number)
        self._keys[number] = None
        self._count -= 1

    def _pass(self, count: int) -> list[int]:
        """The next numbers that have an entry."""
        numbers: list[int] = []
        while self._passed < len(self._keys) and len(numbers) < count:
            if self._keys[self._passed] is not None:
                numbers.append(self._passed)
            elif self._successor is not None:
                self._passed_free.append(self._passed)
            self._passed += 1
        return numbers

    def _unreachable(self, numbers: list[int], vectors: Matrix) -> list[int]:
        """Which of these a search by their own vector finds neither themselves nor an equal."""
        try:
            found, distances = self._links.knn_query(vectors, k=1, num_threads=1)
        except RuntimeError:
            return numbers  # for one of them it found nothing, and does not say for which
        own = 1.0 - np.einsum("ij,ij->i", vectors, vectors) + _ROUNDING
        missed = (found[:, 0] != np.array(numbers, np.uint64)) & (distances[:, 0] > own)
        return [numbers[row] for row in np.flatnonzero(missed).tolist()]

    def _taken(self, numbers: list[int]) -> tuple[list[bytes], Matrix]:
        if not numbers:
            return [], np.empty((0, self._dimensions), np.float32)
        keys = [key for number in numbers if (key := self._keys[number]) is not None]
        vectors = self.vectors(numbers)
        for number in numbers:
            self._forget(number)
        return keys, vectors


def _link(links: "hnswlib.Index", numbers: list[int], vectors: Matrix) -> None:
    room = links.max_elements
    if links.element_count + len(numbers) > room:
        # Step by step, for nothing else runs meanwhile: 3 ms at 100,000, and 14 for all at once.
        links.resize_index(room + room // 8 + _SPARE_ELEMENTS)
    links.add_items(vectors, numbers, num_threads=1)
