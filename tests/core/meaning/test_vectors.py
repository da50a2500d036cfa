"""Vectors as bytes and back."""

import numpy as np

from proxy.core.meaning.vectors import from_bytes, to_bytes


def test_vectors_come_back_as_the_rows_of_a_matrix() -> None:
    vectors = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    packed = [to_bytes(vector) for vector in vectors]
    assert {len(one) for one in packed} == {32}
    assert np.array_equal(from_bytes(packed), vectors)
