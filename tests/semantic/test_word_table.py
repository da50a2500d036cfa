"""Word embeddings are read from a mapped file in two forms."""

from pathlib import Path

import numpy as np
import pytest

from proxy.semantic.word_table import WordTable


def test_half_floats_become_floats(tmp_path: Path) -> None:
    rows = np.arange(12, dtype=np.float16).reshape(4, 3)
    np.save(tmp_path / "words.npy", rows)
    table = WordTable(tmp_path / "words.npy")
    found = table[np.array([[3, 0], [1, 1]])]
    assert found.dtype == np.float32
    assert found.shape == (2, 2, 3)
    assert found[0].tolist() == [[9, 10, 11], [0, 1, 2]]


def test_four_bit_blocks_become_floats(tmp_path: Path) -> None:
    scales = np.array([0.5, -2.0], np.float16)
    low, high = np.arange(16, dtype=np.uint8), np.full(16, 3, np.uint8)
    block = low | (high << 4)
    row = b"".join(scale.tobytes() + block.tobytes() for scale in scales)
    np.save(tmp_path / "words.npy", np.frombuffer(row * 2, np.uint8).reshape(2, -1))
    found = WordTable(tmp_path / "words.npy")[np.array([1])]
    values = np.concatenate([low.astype(np.float32) - 8, np.full(16, -5, np.float32)])
    assert found.shape == (1, 64)
    assert np.array_equal(found[0], np.concatenate([values * 0.5, values * -2.0]))


def test_other_tables_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "words.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="float64"):
        WordTable(tmp_path / "words.npy")
    (tmp_path / "words.npy").write_bytes(b"something else")
    with pytest.raises(ValueError):  # noqa: PT011 - the message is numpy's
        WordTable(tmp_path / "words.npy")
