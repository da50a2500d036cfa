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


def are_vectors(packed: Sequence[bytes]) -> list[bool]:
    """Of each, whether it is a vector of length 1, and as long as the first."""
    sizes = [len(one) == len(packed[0]) and len(one) % _FLOAT32.itemsize == 0 for one in packed]
    if not all(sizes):
        return [is_one and are_vectors([one])[0] for is_one, one in zip(sizes, packed, strict=True)]
    lengths = np.linalg.norm(from_bytes(packed), axis=1)
    # What is no number is within no bound.
    return [bool(one) for one in np.abs(lengths - 1.0) < _LENGTH_TOLERANCE]
