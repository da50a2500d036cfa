"""Vectors as bytes, for journals."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_FLOAT32 = np.dtype("<f4")


def to_bytes(vector: npt.NDArray[np.float32]) -> bytes:
    """Float32, little endian."""
    return vector.astype(_FLOAT32).tobytes()


def from_bytes(packed: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """A matrix with a row for each, which must be equally long."""
    return np.frombuffer(b"".join(packed), _FLOAT32).reshape(len(packed), -1)
