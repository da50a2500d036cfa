"""A snapshot as bytes: chunks, and the pointer that says which of them are one.

    chunk   = "Rs", version (1), checksum (32), items
    item    = kind (1), length (4) of what follows, digest (16), the rest
    pointer = generation in decimal digits, "|", JSON

The checksum of a chunk is over its generation and number too: a chunk of another generation, or
in another place, is not taken for it. The digest in the pointer is over the pointer itself and the
checksums of all chunks in order: what it points at is whole, or nothing (case B39).
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import NamedTuple

import orjson

from proxy.core.cache.change import Change, Learnt, Put
from proxy.store.codec import Flaw, Unreadable, encode
from proxy.store.redis_names import DIGEST_BYTES, digest_of

CHUNK_BYTES = 256 << 10
"""A chunk ends with the item that goes beyond."""

_VERSION = 1
_HEADER = b"Rs" + bytes((_VERSION,))
_CHECKSUM_BYTES = 32
_BODY = len(_HEADER) + _CHECKSUM_BYTES
_ITEM = struct.Struct(">cI")
_PLACE = struct.Struct(">QI")
_MAX_CHUNKS = 1 << 20
_MAX_POINTER_BYTES = 64 << 10
_MAX_EXACT = 2**53
"""Scripts of Redis count in floating point."""


class Kind(Enum):
    """What an item is."""

    ENTRY = b"e"
    """The digest of an answer that lies in Redis by itself (redis_names.py)."""
    LEARNT = b"l"
    """A change, as are the others; how the answer of this digest is found."""
    OTHER = b"o"


class Item(NamedTuple):
    """One thing in a snapshot."""

    kind: Kind
    digest: bytes
    data: bytes
    """The change as bytes (codec.py); empty for an entry."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which chunks are a snapshot."""

    generation: int
    """Microseconds; a later snapshot has a larger one."""
    chunks: int
    count: int
    """Items in all chunks."""
    position: str
    """What stands in the log up to here is in the snapshot."""
    written: float
    """Wall time in seconds."""
    encoders: tuple[str, ...]
    """Identities of those that made the vectors."""
    digest: str = ""


class ChunkCutter:
    """Makes chunks of changes."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._body = bytearray()
        """One object: the items by themselves would take a multiple, and leave gaps behind."""
        self._checksums: list[bytes] = []
        self._encoders: set[str] = set()
        self._count = 0

    def add(self, changes: Iterable[Change]) -> list[bytes]:
        """Take changes in, in order; the chunks that are full now."""
        full = []
        for change in changes:
            self._add(change)
            if len(self._body) >= CHUNK_BYTES:
                full.append(self._cut())
        return full

    def add_digests(self, digests: Iterable[bytes]) -> list[bytes]:
        """Take digests of answers in; the chunks that are full now."""
        full = []
        for digest in digests:
            self._append(Kind.ENTRY, digest, b"")
            if len(self._body) >= CHUNK_BYTES:
                full.append(self._cut())
        return full

    def finish(self, position: str, written: float) -> tuple[list[bytes], Pointer]:
        """The last chunk, if there is one, and the pointer to all."""
        rest = [self._cut()] if self._body else []
        pointer = Pointer(
            self._generation,
            len(self._checksums),
            self._count,
            position,
            written,
            tuple(sorted(self._encoders)),
        )
        return rest, _with_digest(pointer, self._checksums)

    def _add(self, change: Change) -> None:
        match change:
            case Put(stored):
                self._append(Kind.ENTRY, digest_of(stored.key), b"")
            case Learnt():
                self._append(Kind.LEARNT, digest_of(change.key), encode(change))
                self._encoders.add(change.encoder)
            case _:
                self._append(Kind.OTHER, bytes(DIGEST_BYTES), encode(change))

    def _append(self, kind: Kind, digest: bytes, data: bytes) -> None:
        self._body += _ITEM.pack(kind.value, DIGEST_BYTES + len(data))
        self._body += digest
        self._body += data
        self._count += 1

    def _cut(self) -> bytes:
        body, self._body = self._body, bytearray()
        checksum = _checksum(self._generation, len(self._checksums), body)
        self._checksums.append(checksum)
        return b"".join((_HEADER, checksum, body))


class ChunkReader:
    """Checks the chunks of one snapshot."""

    def __init__(self, pointer: Pointer) -> None:
        self._pointer = pointer
        self._checksums: list[bytes] = []

    def check(self, chunk: bytes | None) -> bytes:
        """The next chunk, if it is what it should be. Raises Unreadable."""
        if chunk is None or len(chunk) <= _BODY or not chunk.startswith(_HEADER[:-1]):
            raise Unreadable(Flaw.FORMAT)
        if chunk[2] != _VERSION:
            raise Unreadable(Flaw.NEWER if chunk[2] > _VERSION else Flaw.FORMAT)
        body = memoryview(chunk)[_BODY:]
        checksum = _checksum(self._pointer.generation, len(self._checksums), body)
        if checksum != chunk[len(_HEADER) : _BODY]:
            raise Unreadable(Flaw.CHECKSUM)
        self._checksums.append(checksum)
        return chunk

    def finish(self) -> None:
        """Raises Unreadable where these are not all chunks that the pointer means."""
        if _with_digest(self._pointer, self._checksums) != self._pointer:
            raise Unreadable(Flaw.CHECKSUM)


def items(chunk: bytes) -> Iterator[Item]:
    """What is in a chunk that was checked. Raises Unreadable at what is not in order."""
    at, end = _BODY, len(chunk)
    while at < end:
        if end - at < _ITEM.size + DIGEST_BYTES:
            raise Unreadable(Flaw.FORMAT)
        letter, length = _ITEM.unpack_from(chunk, at)
        kind = _KINDS.get(letter)
        at += _ITEM.size
        if kind is None or not DIGEST_BYTES <= length <= end - at:
            raise Unreadable(Flaw.FORMAT)
        middle = at + DIGEST_BYTES
        yield Item(kind, chunk[at:middle], chunk[middle : at + length])
        at += length


def encode_pointer(pointer: Pointer) -> bytes:
    """A pointer as bytes."""
    return b"%d|%s" % (pointer.generation, orjson.dumps(_members(pointer)))


def decode_pointer(data: bytes) -> Pointer:
    """The pointer in some bytes. Raises Unreadable, and nothing else, whatever they are."""
    number, bar, text = data[:_MAX_POINTER_BYTES].partition(b"|")
    try:
        members = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Unreadable(Flaw.FORMAT) from error
    if (
        not bar
        or type(members) is not dict
        or type(version := members.pop("version", 0)) is not int
    ):
        raise Unreadable(Flaw.FORMAT)
    if version != _VERSION:
        raise Unreadable(Flaw.NEWER if version > _VERSION else Flaw.FORMAT)
    pointer = _pointer(members)
    if number != b"%d" % pointer.generation:
        raise Unreadable(Flaw.VALUE)
    return pointer


def _pointer(members: dict[str, object]) -> Pointer:
    match members:
        case {
            "generation": int(generation),
            "chunks": int(chunks),
            "count": int(count),
            "position": str(position),
            "written": float(written),
            "encoders": list(encoders),
            "digest": str(digest),
        } if (
            0 < generation < _MAX_EXACT
            and 0 <= chunks <= _MAX_CHUNKS
            and count >= 0
            and is_position(position)
            and all(type(encoder) is str for encoder in encoders)
        ):
            names = tuple(map(str, encoders))
            return Pointer(generation, chunks, count, position, written, names, digest)
        case _:
            raise Unreadable(Flaw.VALUE)


def is_position(text: str) -> bool:
    """Whether it is the id of a place in a stream."""
    milliseconds, dash, number = text.partition("-")
    return dash == "-" and all(
        part.isascii() and part.isdigit() and len(part) <= 20 for part in (milliseconds, number)
    )


def _with_digest(pointer: Pointer, checksums: Sequence[bytes]) -> Pointer:
    digest = hashlib.sha256(orjson.dumps(_members(pointer) | {"digest": ""}))
    for checksum in checksums:
        digest.update(checksum)
    return replace(pointer, digest=digest.hexdigest())


def _members(pointer: Pointer) -> dict[str, object]:
    return {"version": _VERSION} | asdict(pointer)


def _checksum(generation: int, number: int, body: bytearray | memoryview) -> bytes:
    digest = hashlib.sha256(_HEADER + _PLACE.pack(generation, number))
    digest.update(body)
    return digest.digest()


_KINDS = {kind.value: kind for kind in Kind}
