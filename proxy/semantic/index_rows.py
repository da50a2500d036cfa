"""Vectors in matrices, with their keys: a search compares all of them."""

import mmap
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from proxy.ports import Vector

Matrix: TypeAlias = npt.NDArray[np.float32]
"""Shape (vectors, dimensions), each row of length 1."""

BLOCK_ROWS = 256
"""Rows of a full matrix. One that grew with all of them would be copied for tens of milliseconds;
smaller ones are slower to compare."""
_FEW_ROWS = 64
"""From so many on a block has all its rows at once; their memory is taken as they are used."""
_SPARE = 16
"""One row in so many of a smaller one is room for more."""


class Rows:
    """Vectors and keys in the same order, without gaps. Belongs to one thread."""

    __slots__ = ("_blocks", "keys")

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self._blocks: list[Matrix] = []
        """All but the last are full; that has a row that is used, and a little room."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def dimensions(self) -> int:
        """Of its vectors; 0 where there is none."""
        return self._blocks[0].shape[1] if self._blocks else 0

    def extend(self, keys: Sequence[bytes], vectors: Matrix) -> int:
        """Put entries at the end, and tell the row of the first."""
        first, taken = len(self.keys), 0
        while taken < len(keys):
            row = len(self.keys) % BLOCK_ROWS
            count = min(BLOCK_ROWS - row, len(keys) - taken)
            if not row:
                self._blocks.append(_with_room(vectors[:0], count))
            elif row + count > len(self._blocks[-1]):
                self._blocks[-1] = _with_room(self._blocks[-1][:row], row + count)
            self._blocks[-1][row : row + count] = vectors[taken : taken + count]
            self.keys.extend(keys[taken : taken + count])
            taken += count
        return first

    def remove(self, row: int) -> bytes | None:
        """Take an entry out; the last one gets its row. Tells the key of the one that moved."""
        moved, last = self.keys.pop(), len(self.keys)
        block, used = self._blocks[-1], last % BLOCK_ROWS
        if row < last:
            self._blocks[row // BLOCK_ROWS][row % BLOCK_ROWS] = block[used]
            self.keys[row] = moved
        if not used:
            self._blocks.pop()
        elif _room(used + 2 * (used // _SPARE)) < len(block):
            self._blocks[-1] = _with_room(block[:used], used)
        return moved if row < last else None

    def exchange(self, one: int, other: int) -> None:
        """Let two entries have each other's rows."""
        keys = self.keys
        keys[one], keys[other] = keys[other], keys[one]
        mine = self._blocks[one // BLOCK_ROWS][one % BLOCK_ROWS]
        yours = self._blocks[other // BLOCK_ROWS][other % BLOCK_ROWS]
        mine[:], yours[:] = yours.copy(), mine.copy()

    def vectors(self, rows: Sequence[int]) -> Matrix:
        """Copies of some vectors, in the order asked for."""
        return np.stack([self._blocks[row // BLOCK_ROWS][row % BLOCK_ROWS] for row in rows])

    def search(self, vector: Vector, limit: int) -> list[tuple[float, bytes]]:
        """The nearest, nearest first, with their similarities."""
        if not self._blocks:
            return []
        similarities = np.concatenate([block @ vector for block in self._blocks])[: len(self.keys)]
        return [(float(similarities[row]), self.keys[row]) for row in _largest(similarities, limit)]


def _room(count: int) -> int:
    # Most partitions hold an entry or two, and shall not pay for more.
    return BLOCK_ROWS if count >= _FEW_ROWS else count + count // _SPARE


def _with_room(vectors: Matrix, count: int) -> Matrix:
    """A copy that has room for `count` rows and a few more."""
    room, dimensions = _room(count), vectors.shape[1]
    if room < BLOCK_ROWS:
        rows = np.zeros((room, dimensions), np.float32)
    else:
        # Mapped by itself, so that it goes back to the system whatever lies around it in the heap.
        memory = mmap.mmap(-1, 4 * room * dimensions, access=mmap.ACCESS_COPY)
        rows = np.frombuffer(memory, np.float32).reshape(room, dimensions)
    rows[: len(vectors)] = vectors
    return rows


def _largest(values: npt.NDArray[np.float32], limit: int) -> list[int]:
    """Where the largest values are, largest first."""
    if limit < len(values):
        places = values.argpartition(len(values) - limit)[len(values) - limit :]
    else:
        places = np.arange(len(values))
    order: list[int] = places[values[places].argsort()[::-1]].tolist()
    return order
