"""An index as a file: framed records with checksums, in a format that is data and nothing else.

    record  = length (4), BLAKE2b of the body (16), body
    file    = head, cell..., tail
    head    = JSON: format, dimensions, identity of the encoder
    cell    = "C", lengths, partition, keys, vectors (float32), all little-endian
    tail    = JSON: how many entries the cells hold

What comes back is not trusted: every record is checked as a whole before any of it is used.
"""

import hashlib
import struct
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

_FORMAT = "reprise-index-1"
_FRAME = struct.Struct("<I16s")
_CELL = struct.Struct("<cHI")
_CELL_MARK = b"C"
_MAX_BODY_BYTES = 64 << 20
_MAX_DIMENSIONS = 1 << 16
_LENGTH_TOLERANCE = 1e-3


class UnusableIndexFile(Exception):
    """The file is damaged, or is of another format, encoder or size; the message says which."""


class StoredCell(NamedTuple):
    """Entries of one partition."""

    partition: bytes
    keys: Sequence[bytes]
    vectors: npt.NDArray[np.float32]
    """Shape (entries, dimensions)."""


def encode_head(dimensions: int, identity: str) -> bytes:
    """The first record."""
    head = {"format": _FORMAT, "dimensions": dimensions, "identity": identity}
    return _framed(orjson.dumps(head))


def encode_cell(cell: StoredCell) -> bytes:
    """One record of entries."""
    lengths = np.array([len(key) for key in cell.keys], "<u2")
    parts = [
        _CELL.pack(_CELL_MARK, len(cell.partition), len(cell.keys)),
        cell.partition,
        lengths.tobytes(),
        *cell.keys,
        cell.vectors.astype("<f4", copy=False).tobytes(),
    ]
    return _framed(b"".join(parts))


def encode_tail(entries: int) -> bytes:
    """The last record."""
    return _framed(orjson.dumps({"entries": entries}))


def verify(path: Path, *, dimensions: int | None, identity: str) -> int:
    """Read a file to its end and tell how many entries it holds.

    Raises UnusableIndexFile and OSError.
    """
    cells = read(path, dimensions=dimensions, identity=identity)
    return sum(len(cell.keys) for cell in cells)


def read(path: Path, *, dimensions: int | None, identity: str) -> Generator[StoredCell, None, None]:
    """The cells of a file, one by one; with `dimensions` None, vectors of any size.

    Raises UnusableIndexFile, at the latest at its end, and OSError.
    """
    with path.open("rb") as file:
        head = _member(_body(file, path), path)
        size = _check_head(head, path, dimensions=dimensions, identity=identity)
        seen: set[bytes] = set()
        body = _body(file, path)
        while body.startswith(_CELL_MARK):
            cell = _decode_cell(body, size, path)
            expected_count = len(seen) + len(cell.keys)
            seen.update(cell.keys)
            if len(seen) != expected_count:
                raise UnusableIndexFile(f"{path}: a key is there twice")
            yield cell
            body = _body(file, path)
        if _member(body, path) != {"entries": len(seen)} or file.read(1):
            raise UnusableIndexFile(f"{path}: does not end as it should")


def _framed(body: bytes) -> bytes:
    return _FRAME.pack(len(body), _digest(body)) + body


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _body(file: BinaryIO, path: Path) -> bytes:
    frame = file.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        raise UnusableIndexFile(f"{path}: ends too early")
    length, digest = _FRAME.unpack(frame)
    if length > _MAX_BODY_BYTES:
        raise UnusableIndexFile(f"{path}: a record of {length} bytes")
    body = file.read(length)
    if len(body) < length:
        raise UnusableIndexFile(f"{path}: ends too early")
    if _digest(body) != digest:
        raise UnusableIndexFile(f"{path}: a checksum is wrong")
    return body


def _member(body: bytes, path: Path) -> dict[str, object]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnusableIndexFile(f"{path}: not an index") from error
    if not isinstance(value, dict):
        raise UnusableIndexFile(f"{path}: not an index")
    return value


def _check_head(
    head: dict[str, object], path: Path, *, dimensions: int | None, identity: str
) -> int:
    """The dimensions of what follows."""
    size = head.get("dimensions")
    # An index that never had a vector has no dimensions, and is as good as any.
    expected = size if dimensions is None or size == 0 else dimensions
    for name, value in (("format", _FORMAT), ("dimensions", expected), ("identity", identity)):
        if head.get(name) != value:
            raise UnusableIndexFile(f"{path}: {name} is {head.get(name)!r}, not {value!r}")
    if not isinstance(size, int) or not 0 <= size <= _MAX_DIMENSIONS:
        raise UnusableIndexFile(f"{path}: dimensions is {size!r}")
    return size


def _decode_cell(body: bytes, dimensions: int, path: Path) -> StoredCell:
    if len(body) < _CELL.size:
        raise UnusableIndexFile(f"{path}: a cell is cut off")
    _, partition_length, count = _CELL.unpack_from(body)
    start = _CELL.size + partition_length
    if not count or start + 2 * count > len(body):
        raise UnusableIndexFile(f"{path}: a cell is cut off")
    lengths = np.frombuffer(body, "<u2", count, start).tolist()
    at = start + 2 * count
    if at + sum(lengths) + 4 * dimensions * count != len(body):
        raise UnusableIndexFile(f"{path}: a cell has the wrong size")
    keys = []
    for length in lengths:
        keys.append(body[at : at + length])
        at += length
    vectors = np.frombuffer(body, "<f4", count * dimensions, at).astype(np.float32)
    vectors = vectors.reshape(count, dimensions)
    lengths_of_vectors = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    # Not a number is not within any bound.
    if not (np.abs(lengths_of_vectors - 1) < _LENGTH_TOLERANCE).all():
        raise UnusableIndexFile(f"{path}: a vector has not the length 1")
    return StoredCell(body[_CELL.size : start], keys, vectors)
