"""What a change does to the rows of the file. Runs in the thread that owns the connection.

A row's `seq` is new with every change, so that the rows are the log of what has changed too.
`about` is the key of the answer that an alias leads to; of a purge, a mark that it is done. A `+`
before a column keeps SQLite from an index that would make it sort.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from proxy.core.cache.change import (
    Aliased,
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.core.cache.freshness import KEPT_STALE_SECONDS
from proxy.store.codec import MAX_BYTES, Unreadable, decode, encode, key_of

TOMBSTONE_SECONDS = 3600.0
"""The others have seen by then what was deleted."""
PURGE_SECONDS = 7 * 86400.0
MAX_PURGES = 256
MAX_REJECTED = 65_536
MAX_ALIASED = 65_536
MAX_BARRED = 65_536
BOUNDS = {
    "purged": MAX_PURGES,
    "rejected": MAX_REJECTED,
    "aliased": MAX_ALIASED,
    "barred": MAX_BARRED,
}
"""How many rows of a kind there may be; the oldest go first."""
AT_ONCE = 256
"""Rows of one transaction, and of one piece of what is loaded."""
_DECODED_AT_ONCE = 16
_ENVELOPE_BYTES = 12
_LAST_DIGEST = b"\xff" * 8
_DONE = b"\x01"

T = TypeVar("T")


class Purge(NamedTuple):
    """A purge that holds for what comes late, too."""

    seq: int
    change: Purged
    is_done: bool
    """What was there before is gone."""


class Row(NamedTuple):
    """A row that was read, and what it says; None where it cannot be read."""

    seq: int
    change: Change | None


class Place(NamedTuple):
    """What is written beside a value."""

    at: float
    expires: float | None
    about: bytes | None = None


def read_purges(connection: sqlite3.Connection) -> list[Purge]:
    """The purges that are kept, the latest first."""
    found = connection.execute("SELECT seq, value, about FROM record WHERE kind = 'purged'")
    purges = [
        Purge(seq, change, about == _DONE)
        for seq, value, about in found
        if isinstance(change := read_value(value), Purged)
    ]
    return sorted(purges, key=lambda purge: -purge.change.at)


def read_value(value: object) -> Change | None:
    """The change that a row's value is; None where it is none."""
    if not isinstance(value, bytes):
        return None
    try:
        return decode(value)
    except Unreadable:
        return None


def without_haste(rows: Iterable[T]) -> Iterator[T]:
    """The same rows; between a few of them the event loop may have the interpreter."""
    for count, row in enumerate(rows):
        if count % _DECODED_AT_ONCE == 0:
            time.sleep(0)
        yield row


class Writer:
    """Writes changes, inside a transaction of the caller's."""

    def __init__(
        self, connection: sqlite3.Connection, writer: int, purges: Sequence[Purge], now: float
    ) -> None:
        """`writer` is the number of this process, `now` the wall time in seconds."""
        self._connection = connection
        self._writer = writer
        self._purges = [purge.change for purge in purges]
        self._now = now

    def write(self, change: Change) -> None:
        """Keep one change, if what is there is not later."""
        match change:
            case Put():
                self._put(change)
            case Deleted(key, at):
                self._remove(key, at)
                expires = max(at, self._now) + TOMBSTONE_SECONDS
                self._keep(change, Place(at, expires))
            case Learnt():
                if change.until > self._now and not self._is_gone(change.key):
                    self._keep(change, Place(self._now, change.until))
            case Aliased():
                self._keep(change, Place(change.at, None, change.target))
            case Rejected(key, at):
                self._remove(key, at)
                self._execute("DELETE FROM record WHERE kind = 'aliased' AND about = ?", key)
                self._keep(change, Place(at, None))
            case Purged():
                self._keep(change, Place(change.at, max(change.at, self._now) + PURGE_SECONDS))
                self._purges.append(change)
            case Renewed():
                self._keep(change, Place(change.at, None))
            case Barred():
                # That nobody is refused is so without being said; it undoes what was said before.
                until = max(change.at, self._now) + TOMBSTONE_SECONDS
                self._keep(change, Place(change.at, None if change.is_refused else until))

    def _put(self, change: Put) -> None:
        created = change.stored.created
        for purge in self._purges:
            if created <= purge.at and purge.selector.selects(change.stored):
                if not purge.soft:
                    return
                change = _stale(change)
        expires = created + change.stored.ttl + KEPT_STALE_SECONDS
        if expires > self._now and created > self._undone(change.stored.key):
            self._keep(change, Place(created, expires))

    def _undone(self, key: bytes) -> float:
        """The last moment for which it was said that what was stored under a key has to go."""
        found = self._execute(
            "SELECT max(at) FROM record WHERE kind = 'rejected' AND key BETWEEN ? AND ? "
            "UNION ALL SELECT at FROM record WHERE kind = 'deleted' AND key = ?",
            key,
            key + _LAST_DIGEST,
            key,
        )
        return max((at for (at,) in found if at is not None), default=float("-inf"))

    def _is_gone(self, key: bytes) -> bool:
        """Whether what is found so has gone, and nothing is there in its place."""
        if self._undone(key) == float("-inf"):
            return False
        there = self._execute("SELECT 1 FROM record WHERE kind = 'put' AND key = ?", key)
        return there.fetchone() is None

    def _remove(self, key: bytes, at: float) -> None:
        """What is stored under a key up to a moment goes, and how it is found."""
        self._execute("DELETE FROM record WHERE kind = 'put' AND key = ? AND at <= ?", key, at)
        self._execute(
            "DELETE FROM record WHERE kind = 'learnt' AND key = ? AND NOT EXISTS "
            "(SELECT 1 FROM record WHERE kind = 'put' AND key = ?)",
            key,
            key,
        )

    def _keep(self, change: Change, place: Place) -> None:
        kind, key = key_of(change)
        value = encode(change)
        if len(value) > MAX_BYTES:
            return
        there = self._execute(
            "SELECT at, substr(value, 1, ?) FROM record WHERE kind = ? AND key = ?",
            _ENVELOPE_BYTES,
            kind,
            key,
        ).fetchone()
        # The envelope has the checksum: the same is not written again.
        if there is not None and (there[0] > place.at or there[1] == value[:_ENVELOPE_BYTES]):
            return
        self._execute(
            "INSERT OR REPLACE INTO record (kind, key, writer, at, expires, about, value) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(kind, key, self._writer, *place, value),
        )

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)


def purge_slice(
    connection: sqlite3.Connection, purge: Purge, after: int
) -> tuple[int | None, list[Row]]:
    """Look at the next answers that were stored before a purge.

    Where to go on after, None at the end; and those that it is about, of soft ones as they are
    to be. `apply_purge` is to follow.
    """
    rows = connection.execute(
        "SELECT seq, value FROM record WHERE +kind = 'put' AND seq > ? AND seq < ? AND at <= ? "
        "ORDER BY seq LIMIT ?",
        (after, purge.seq, purge.change.at, AT_ONCE),
    ).fetchall()
    chosen = []
    for seq, value in without_haste(rows):
        change = read_value(value)
        if isinstance(change, Put) and purge.change.selector.selects(change.stored):
            chosen.append(Row(seq, _stale(change)))
    return (rows[-1][0] if len(rows) == AT_ONCE else None), chosen


def _stale(change: Put) -> Put:
    return replace(change, stored=replace(change.stored, ttl=0.0))


def apply_purge(connection: sqlite3.Connection, purge: Purge, chosen: Iterable[Row]) -> None:
    """Take rows out, or make them stale, inside a transaction of the caller's."""
    for row in chosen:
        if not isinstance(row.change, Put):
            continue
        stored = row.change.stored
        if not purge.change.soft:
            remove_rows(connection, [row.seq])
            continue
        connection.execute(
            "UPDATE record SET value = ?, expires = ? WHERE seq = ?",
            (encode(row.change), stored.created + KEPT_STALE_SECONDS, row.seq),
        )


def finish_purge(connection: sqlite3.Connection, purge: Purge) -> None:
    """Take note that what was there before a purge is gone."""
    connection.execute("UPDATE record SET about = ? WHERE seq = ?", (_DONE, purge.seq))


def remove_rows(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Take rows out, and with an answer how it is found."""
    for seq in rows:
        connection.execute(
            "DELETE FROM record WHERE kind = 'learnt' AND key = "
            "(SELECT key FROM record WHERE seq = ? AND kind = 'put')",
            (seq,),
        )
        connection.execute("DELETE FROM record WHERE seq = ?", (seq,))


def over_bounds(connection: sqlite3.Connection, now: float) -> list[int]:
    """Some of the rows that have had their time, or are too many of their kind."""
    found = connection.execute(
        "SELECT seq FROM record WHERE expires < ? LIMIT ?", (now, AT_ONCE)
    ).fetchall()
    for kind, most in BOUNDS.items():
        # The index has kind, key and seq: no row is read.
        found += connection.execute(
            "SELECT seq FROM record WHERE kind = ? ORDER BY seq DESC LIMIT ? OFFSET ?",
            (kind, AT_ONCE, most),
        ).fetchall()
    # Looks at every alias, so only when all else is done.
    found += (
        ()
        if found
        else connection.execute(
            "SELECT seq FROM record AS alias WHERE kind = 'aliased' AND at < ? AND NOT EXISTS "
            "(SELECT 1 FROM record WHERE kind = 'put' AND key = alias.about) LIMIT ?",
            (now - KEPT_STALE_SECONDS, AT_ONCE),
        ).fetchall()
    )
    return [seq for (seq,) in found]


def oldest(connection: sqlite3.Connection) -> list[int]:
    """The rows that go first where there is no more room."""
    found = connection.execute(
        "SELECT seq FROM record WHERE +kind IN ('put', 'learnt', 'aliased') ORDER BY seq LIMIT ?",
        (AT_ONCE // 4,),
    )
    return [seq for (seq,) in found]


def live_bytes(connection: sqlite3.Connection) -> int:
    """What the rows take, in whole pages of the file."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
