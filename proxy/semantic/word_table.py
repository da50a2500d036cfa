"""The word embeddings of an encoder in a file that is mapped, not read: rows in use are in memory.

A .npy file in one of two forms: float16 (words, dimensions), or uint8 (words, dimensions / 32 * 18)
with 4-bit blocks of 32 values: a float16 scale, then 16 bytes; byte i holds value i in its low half
and value i + 16 in its high half, both with 8 added.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

_BLOCK = 32
_BLOCK_BYTES = 18


class WordTable:
    """Looks up the embeddings of words."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises OSError, or ValueError where it is in neither form."""
        self._rows = np.load(path, mmap_mode="r", allow_pickle=False)
        if self._rows.ndim != 2 or self._rows.dtype not in (np.float16, np.uint8):
            raise ValueError(f"a table of {self._rows.dtype} in {self._rows.ndim} dimensions")

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The embeddings of an array of ids, as float32 (*ids.shape, dimensions)."""
        rows = self._rows[ids]
        if rows.dtype == np.float16:
            return np.asarray(rows, np.float32)
        blocks = rows.reshape(*ids.shape, -1, _BLOCK_BYTES)
        scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
        halves = blocks[..., 2:]
        values = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32)
        found: npt.NDArray[np.float32] = (values - 8) * scales
        return found.reshape(*ids.shape, -1)
