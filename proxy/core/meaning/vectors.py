"""Vectors as bytes, for journals."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_FLOAT32 = np.dtype("<f4")
_LENGTH_TOLERANCE = 1e-3


def to_bytes(vector: npt.NDArray[np.float32]) -> bytes:
    """Float32, little endian."""
    return vector.astype(_FLOAT32).tobytes()


def from_bytes(packed: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """A matrix with a row for each, which must be equally long."""
    return np.frombuffer(b"".join(packed), _FLOAT32).reshape(len(packed), -1)


def are_vectors(packed: Sequence[bytes], dimensions: int) -> list[bool]:
    """Of each, whether it is a vector of length 1 and of so many dimensions."""
    size = dimensions * _FLOAT32.itemsize
    sized = [one for one in packed if len(one) == size > 0]
    if not sized:
        return [False] * len(packed)
    # What is no number is within no bound.
    are_long = np.abs(np.linalg.norm(from_bytes(sized), axis=1) - 1.0) < _LENGTH_TOLERANCE
    found = iter(are_long.tolist())
    return [len(one) == size and next(found) for one in packed]
