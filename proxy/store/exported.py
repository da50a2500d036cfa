"""A set of stored responses as a file, for another proxy to start from (mission G5).

    file   = magic, frames
    frame  = length (4 bytes, big endian), as many bytes
    frames = head (JSON), one for each change (store/codec.py), an empty one at the end

Written and read as a stream. Each change is whole and checked before the next is looked at, so
that what came before a flaw is good.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Protocol

import orjson

from proxy.core.cache.change import Change
from proxy.store.codec import MAX_BYTES, Flaw, Unreadable, decode, encode

FORMAT = 1
MAGIC = b"reprise set\n"
END = bytes(4)
_MAX_HEAD_BYTES = 1 << 20


class ExportFlaw(ValueError):
    """A file is no exported set, or not a whole one; the message says where and what helps."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a set says of itself."""

    entries: int
    """How many stored responses it has."""
    secret: str
    """Digest of the tenancy's secret: with another one no key is ever asked for."""
    upstreams: tuple[str, ...]
    """The names of the upstreams, which are part of the keys."""
    made: float
    """Wall time in seconds."""


class Source(Protocol):
    """Where the bytes of a file come from, as asyncio.StreamReader gives them."""

    async def readexactly(self, n: int) -> bytes:
        """The next n bytes. Raises asyncio.IncompleteReadError where there are not so many."""


def begin(head: Head) -> bytes:
    """The file's beginning."""
    return MAGIC + _frame(orjson.dumps({"format": FORMAT, **asdict(head)}))


def frame(change: Change) -> bytes:
    """A change as it stands in the file."""
    return _frame(encode(change))


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class ExportReader:
    """Reads a file from its beginning."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0
        self._record = 0

    async def head(self) -> Head:
        """What the set says of itself. Raises ExportFlaw."""
        try:
            magic = await self._source.readexactly(len(MAGIC))
        except asyncio.IncompleteReadError as error:
            raise ExportFlaw(_NO_SET) from error
        if magic != MAGIC:
            raise ExportFlaw(_NO_SET)
        self._offset = len(MAGIC)
        told = _object(await self._next(_MAX_HEAD_BYTES))
        if told is None or not isinstance(told.get("format"), int):
            raise ExportFlaw(_NO_SET)
        if told["format"] != FORMAT:
            raise ExportFlaw(
                f"it is of format {told['format']}, and this version reads {FORMAT}: "
                "import it with the version that wrote it, or export it again from this one"
            )
        return _head(told)

    async def changes(self) -> AsyncIterator[Change]:
        """Every change, in order, up to the end of the file. Raises ExportFlaw."""
        while data := await self._next(MAX_BYTES):
            self._record += 1
            try:
                yield decode(data)
            except Unreadable as error:
                remedy = "export it again"
                if error.reason is Flaw.NEWER:
                    remedy = "a later version wrote it: import it with that one"
                raise self._flaw(f"is not readable ({error.reason}); {remedy}") from error

    async def _next(self, most: int) -> bytes:
        try:
            length = int.from_bytes(await self._source.readexactly(4), "big")
            if length > most:
                raise self._flaw(f"would have {length} bytes; export it again")
            data = await self._source.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise self._flaw("is cut; copy or export it again") from error
        self._offset += 4 + length
        return data

    def _flaw(self, text: str) -> ExportFlaw:
        return ExportFlaw(f"record {self._record + 1} at byte {self._offset} {text}")


_NO_SET = "it is no exported set: make one with `reprise export`"


def _object(data: bytes) -> dict[str, object] | None:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _head(told: dict[str, object]) -> Head:
    entries, secret, made = told.get("entries"), told.get("secret"), told.get("made")
    names = told.get("upstreams")
    if not (isinstance(entries, int) and isinstance(secret, str) and isinstance(made, float)):
        raise ExportFlaw(_NO_SET)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ExportFlaw(_NO_SET)
    return Head(entries, secret, tuple(names), made)
