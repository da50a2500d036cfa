"""Vectors as bytes and back."""

import numpy as np

from proxy.core.meaning.vectors import are_vectors, from_bytes, to_bytes


def test_vectors_come_back_as_the_rows_of_a_matrix() -> None:
    vectors = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    packed = [to_bytes(vector) for vector in vectors]
    assert {len(one) for one in packed} == {32}
    assert np.array_equal(from_bytes(packed), vectors)


def test_what_is_no_vector_of_length_1_is_told_apart() -> None:
    one = to_bytes(np.array([0.6, 0.8, 0.0, 0.0], np.float32))
    long = to_bytes(np.array([0.6, 0.8, 1.0, 0.0], np.float32))
    odd = to_bytes(np.array([np.nan, 1.0, 0.0, 0.0], np.float32))
    other = to_bytes(np.array([1.0, 0.0], np.float32))
    assert are_vectors([one, long, odd, bytes(16), one], 4) == [True, False, False, False, True]
    assert are_vectors([other, one[:-1], long, one], 4) == [False, False, False, True]
    assert are_vectors([other, b""], 4) == [False, False]
    assert are_vectors([b"", one], 0) == [False, False]
