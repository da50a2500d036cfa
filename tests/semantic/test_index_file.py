"""The file of an index: what was written is read, and nothing else is."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.semantic.index_file import (
    StoredCell,
    UnusableIndexFile,
    _framed,
    encode_cell,
    encode_head,
    encode_tail,
    read,
    verify,
)
from tests.contracts.vector_index import DIMENSIONS, HERE, THERE, key, vector

IDENTITY = "模型 and digest"


def cell(*numbers: int, partition: bytes = HERE) -> StoredCell:
    vectors = np.stack([vector(number) for number in numbers])
    return StoredCell(partition, [key(number) for number in numbers], vectors)


# A partition of 123 bytes has a length whose first byte is an opening brace.
CELLS = [cell(1, 2, 3), cell(4, partition=THERE), cell(5, partition=b"p" * 123)]


def data_of(*cells: StoredCell, entries: int | None = None) -> bytes:
    count = sum(len(one.keys) for one in cells) if entries is None else entries
    records = [encode_head(DIMENSIONS, IDENTITY), *map(encode_cell, cells), encode_tail(count)]
    return b"".join(records)


def file_of(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def refused(path: Path, data: bytes, *, why: str) -> None:
    file = file_of(path / "index", data)
    with pytest.raises(UnusableIndexFile, match=why):
        verify(file, dimensions=DIMENSIONS, identity=IDENTITY)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = file_of(tmp_path / "index", data_of(*CELLS))
    assert verify(file, dimensions=DIMENSIONS, identity=IDENTITY) == 5
    found = list(read(file, dimensions=DIMENSIONS, identity=IDENTITY))
    for one, other in zip(found, CELLS, strict=True):
        assert (one.partition, one.keys) == (other.partition, other.keys)
        assert np.array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("dimensions", [DIMENSIONS, 0])
def test_an_index_without_entries_is_read(tmp_path: Path, dimensions: int) -> None:
    data = encode_head(dimensions, IDENTITY) + encode_tail(0)
    file = file_of(tmp_path / "index", data)
    assert list(read(file, dimensions=DIMENSIONS, identity=IDENTITY)) == []


def test_vectors_of_any_size_are_read_where_none_is_known(tmp_path: Path) -> None:
    file = file_of(tmp_path / "index", data_of(*CELLS))
    found = list(read(file, dimensions=None, identity=IDENTITY))
    assert [one.vectors.shape[1] for one in found] == [DIMENSIONS] * 3


@pytest.mark.parametrize("dimensions", [-1, 1 << 17, "16", None])
def test_dimensions_that_cannot_be_are_refused(tmp_path: Path, dimensions: object) -> None:
    head = {"format": "reprise-index-1", "dimensions": dimensions, "identity": IDENTITY}
    file = file_of(tmp_path / "index", _framed(orjson.dumps(head)) + encode_tail(0))
    with pytest.raises(UnusableIndexFile, match="dimensions is"):
        verify(file, dimensions=None, identity=IDENTITY)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (encode_head(DIMENSIONS + 1, IDENTITY), "dimensions is 17, not 16"),
        (encode_head(DIMENSIONS, "other"), "identity is 'other'"),
        (_framed(orjson.dumps({"format": "reprise-index-0"})), "format is"),
        (_framed(b"[]"), "not an index"),
        (_framed(b"{"), "not an index"),
    ],
)
def test_another_kind_of_file_is_refused(tmp_path: Path, head: bytes, why: str) -> None:
    refused(tmp_path, head + encode_tail(0), why=why)


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, data_of(cell(1, 2), cell(2)), why="twice")


@pytest.mark.parametrize("entries", [4, 6])
def test_another_number_of_entries_is_refused(tmp_path: Path, entries: int) -> None:
    refused(tmp_path, data_of(*CELLS, entries=entries), why="does not end")


def test_a_record_that_is_left_out_is_noticed(tmp_path: Path) -> None:
    data = data_of(*CELLS).replace(encode_cell(CELLS[1]), b"")
    refused(tmp_path, data, why="does not end")


def test_what_follows_the_end_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, data_of(*CELLS) + b"x", why="does not end")


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, 2.0])
def test_a_vector_that_has_not_the_length_1_is_refused(tmp_path: Path, bad: float) -> None:
    vectors = np.stack([vector(1), np.full(DIMENSIONS, bad, np.float32)])
    refused(tmp_path, data_of(StoredCell(HERE, [key(1), key(2)], vectors)), why="length 1")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"C", "cut off"),
        (b"C\xff\xff\x01\x00\x00\x00", "cut off"),
        (b"C\x00\x00\x00\x00\x00\x00", "cut off"),
        (b"C\x00\x00\xff\xff\xff\xff", "cut off"),
        (b"C\x00\x00\x01\x00\x00\x00\x05\x00abcde", "wrong size"),
        (b"?", "not an index"),
    ],
)
def test_a_record_whose_lengths_are_untrue_is_refused(
    tmp_path: Path, body: bytes, why: str
) -> None:
    refused(tmp_path, encode_head(DIMENSIONS, IDENTITY) + _framed(body), why=why)


def test_a_record_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    refused(tmp_path, b"\xff" * 40, why="a record of 4294967295 bytes")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    whole = data_of(*CELLS)
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:place]
    else:
        other = whole[place] ^ data.draw(st.integers(1, 255))
        damaged = whole[:place] + bytes([other]) + whole[place + 1 :]
    refused(tmp_path, damaged, why=str(tmp_path))
