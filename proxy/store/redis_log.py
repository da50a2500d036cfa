"""The change log that all replicas follow: one stream of small records.

What is large lies under keys of its own; the log tells that it is there. What is small travels in
the log.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from proxy.core.cache.change import Change, Learnt, Put
from proxy.redis_link.reading import ask_all
from proxy.redis_link.scripts import Command
from proxy.redis_link.urls import Client
from proxy.store.codec import encode
from proxy.store.redis_names import DIGEST_BYTES, digest_of
from proxy.store.snapshot_format import is_position

Position: TypeAlias = tuple[int, int]
"""A place in the log."""
BEGIN: Position = (0, 0)

PUT, LEARNT, WHOLE = b"p", b"l", b"w"
"""What a record tells: an answer, how to find one, or any other change, which is in it."""


class Record(NamedTuple):
    """One line of the log."""

    position: Position
    kind: bytes
    """One that is not known comes from a newer version, or from somebody else."""
    digest: bytes
    """That of the answer (redis_names.py); empty where the change is whole."""
    writer: bytes
    """Tells the process that wrote it from all others."""
    data: bytes
    """The change as bytes (codec.py) where it is whole."""


class LogState(NamedTuple):
    """How far a log reaches."""

    length: int
    first: Position
    """The first record that it still has; the last one where it has none."""
    last: Position
    """The last that there ever was."""
    added: int | None
    """How many there ever were; None before Redis 7."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was ever trimmed from it."""
        return self.added == self.length

    def has_all_after(self, position: Position) -> bool:
        """Whether it has all that was written after a place, and that place is of this log."""
        if position == BEGIN:
            return self.is_whole
        return self.first <= position <= self.last


class ChangeLog:
    """The commands for the log. All raise the errors of the link's library."""

    def __init__(self, prefix: str, *, max_entries: int) -> None:
        self.key = f"{prefix}:log"
        self._max_entries = max_entries

    def command(self, change: Change, writer: bytes) -> Command:
        """What adds a record of a change, and drops the oldest over the bound."""
        fields: tuple[bytes, ...]
        match change:
            case Put(stored):
                fields = (b"k", PUT, b"x", digest_of(stored.key))
            case Learnt():
                fields = (b"k", LEARNT, b"x", digest_of(change.key))
            case _:
                fields = (b"k", WHOLE, b"d", encode(change))
        bound = ("MAXLEN", "~", self._max_entries)
        return ("XADD", self.key, *bound, "*", *fields, b"w", writer)

    async def state(self, client: Client) -> LogState | None:
        """How far it reaches; None where there is no log."""
        kind = await client.execute_command("TYPE", self.key)
        if kind not in (b"stream", b"none"):
            await client.execute_command("DEL", self.key)  # it is in our place, and is not ours
        return await self.reach(client) if kind == b"stream" else None

    async def reach(self, client: Client) -> LogState | None:
        """The same, where something was just read from it."""
        [answer] = await ask_all(client, [("XINFO", "STREAM", self.key)])
        return _state(answer) if answer else None

    async def read(self, client: Client, after: Position, count: int) -> list[Record]:
        """The next records after a place, if there are any."""
        found = await client.execute_command(
            "XRANGE", self.key, f"({position_text(after)}", "+", "COUNT", count
        )
        return _records(found or ())

    async def wait(
        self, client: Client, after: Position, count: int, milliseconds: int
    ) -> list[Record]:
        """The same, and wait for one."""
        arguments = ("COUNT", count, "BLOCK", milliseconds, "STREAMS", self.key)
        found = await client.execute_command("XREAD", *arguments, position_text(after))
        return _records(found[0][1]) if found else []


def position_text(position: Position) -> str:
    """A position as Redis writes it."""
    return f"{position[0]}-{position[1]}"


def parse_position(text: str) -> Position:
    """A position from the text of one. Raises ValueError."""
    if not is_position(text):
        raise ValueError("no position in a log")
    milliseconds, _, number = text.partition("-")
    return int(milliseconds), int(number)


def _state(answer: list[Any]) -> LogState:
    members = dict(zip(answer[::2], answer[1::2], strict=False))
    last = _position(members[b"last-generated-id"])
    first = members[b"first-entry"]
    added = members.get(b"entries-added")
    return LogState(members[b"length"], _position(first[0]) if first else last, last, added)


def _records(found: Iterable[Any]) -> list[Record]:
    return [_record(_position(place), fields or {}) for place, fields in found]


def _position(text: bytes) -> Position:
    milliseconds, _, number = text.partition(b"-")
    return int(milliseconds), int(number)


def _record(position: Position, fields: dict[bytes, bytes]) -> Record:
    kind, digest = fields.get(b"k", b""), fields.get(b"x", b"")
    if kind in (PUT, LEARNT) and len(digest) != DIGEST_BYTES:
        kind = b""  # nobody knows what it is about
    return Record(position, kind, digest, fields.get(b"w", b""), fields.get(b"d", b""))
