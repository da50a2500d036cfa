"""What every index asks of a vector before it takes it."""

import numpy as np

from proxy.ports import Matrix, Vector

_LENGTH_TOLERANCE = 1e-3


def checked(vector: Vector, dimensions: int | None) -> Vector:
    """A copy of a vector, of the given size where one is given.

    Raises ValueError for a vector that is not of that size and of length 1.
    """
    copy = np.array(vector, np.float32)
    if copy.ndim != 1 or dimensions not in {None, len(copy)}:
        raise ValueError(f"a vector of shape {copy.shape}, not ({dimensions},)")
    # Not a number is not within any bound.
    if not abs(float(np.linalg.norm(copy)) - 1.0) < _LENGTH_TOLERANCE:
        raise ValueError("a vector whose length is not 1")
    return copy


def checked_rows(vectors: Matrix, dimensions: int | None) -> Matrix:
    """As `checked`, of several at once. Raises ValueError where one of them is not so."""
    copy = np.array(vectors, np.float32)
    if copy.ndim != 2 or dimensions not in {None, copy.shape[1]}:
        raise ValueError(f"vectors of shape {copy.shape}, not (n, {dimensions})")
    if not bool((np.abs(np.linalg.norm(copy, axis=1) - 1.0) < _LENGTH_TOLERANCE).all()):
        raise ValueError("a vector whose length is not 1")
    return copy
