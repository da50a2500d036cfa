"""The file of what was learnt, as the one thread that owns its connection uses it (design 8).

Several processes have it open. Whoever commits takes the next numbers; the others ask for what is
above the last number that they have seen, and do so only where SQLite says that somebody has
committed.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from proxy.core.cache.change import Change, Purged
from proxy.ports import Clock
from proxy.store.codec import key_of
from proxy.store.disk_open import (
    Identity,
    Opened,
    Why,
    identity_of,
    is_busy,
    is_damage,
    open_file,
    set_aside,
)
from proxy.store.disk_rows import (
    AT_ONCE,
    Purge,
    Writer,
    apply_purge,
    finish_purge,
    live_bytes,
    oldest,
    over_bounds,
    purge_slice,
    read_purges,
    read_value,
    remove_rows,
    without_haste,
)
from proxy.telemetry.log import Log

SWEEP_SECONDS = 60.0
_ORDER = ("renewed", "purged", "rejected", "barred", "deleted", "aliased", "put", "learnt")
"""What is handed over first is what the rest is judged by."""
_POLLED_AT_ONCE = 4 * AT_ONCE
_FREE_PAGES = 256
"""They stay in the file for what comes next."""
_VACUUMED_AT_ONCE = 1024

T = TypeVar("T")
_Row: TypeAlias = tuple[int, object, object, object, object]
"""Number, kind, key, end of its time, and value; all but the number may be planted."""


class DiskTrouble(Exception):
    """The disk does not do what was asked for now; the message says why."""

    def __init__(self, why: str, *, is_busy: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy
        """Others are at work for longer than usual: nothing is wrong with the disk."""


class DiskFile:
    """All methods block, and are for one thread."""

    def __init__(self, path: Path, *, max_bytes: int, writer: int, clock: Clock, log: Log) -> None:
        """`writer` is the number of this process among those that have the file open."""
        self.is_another = False
        """A file without what was written before has taken the place of the one that was there."""
        self.rows = 0
        self.size_bytes = 0
        """What the rows take."""
        self.unreadable = 0
        """Rows that were left out since the start."""
        self._path = path
        self._max_bytes = max_bytes
        self._writer = writer
        self._clock = clock
        self._log = log
        self._opened: Opened | None = None
        self._last: Identity | None = None
        """The file that was open last."""
        self._seen = 0
        """The last number up to which everything is known here."""
        self._is_listed = False
        """Others are asked for what has changed since everything was listed."""
        self._version: int | None = None
        """Of the data, when `_seen` was true; it changes when somebody else commits."""
        self._purges: list[Purge] = []
        self._purging = (0, 0)
        """The purge that is under way, and the row up to which it has come."""
        self._sweep_at = 0.0

    def exchange(self, changes: Sequence[Change]) -> list[Change]:
        """Write what is changed here; what was changed elsewhere since the last time.

        Of others it tells only after `listing`.

        Raises DiskTrouble: what was to be written may be written then in part, or not.
        """

        def work(connection: sqlite3.Connection) -> list[Change]:
            for start in range(0, len(changes), AT_ONCE):
                self._write(connection, changes[start : start + AT_ONCE])
            self.size_bytes = live_bytes(connection)
            return self._poll(connection)

        return self._perform(work)

    def listing(self) -> list[list[int]]:
        """The numbers of all that is to be handed over at the start, in pieces and in order.

        What is changed from now on is told by `exchange`. Raises DiskTrouble.
        """

        def work(connection: sqlite3.Connection) -> list[list[int]]:
            self._is_listed = True
            self._version = _version(connection)
            self._seen = _top(connection)
            pieces = []
            for kind in _ORDER:
                found = connection.execute(
                    "SELECT seq FROM record WHERE kind = ? ORDER BY seq", (kind,)
                )
                rows = [seq for (seq,) in found]
                pieces += [rows[at : at + AT_ONCE] for at in range(0, len(rows), AT_ONCE)]
                self.rows += len(rows)
            return pieces

        self.rows = 0
        return self._perform(work)

    def read(self, rows: Sequence[int]) -> list[Change]:
        """What these rows say, without those that have had their time. Raises DiskTrouble.

        Those that cannot be read are counted and removed.
        """

        def work(connection: sqlite3.Connection) -> list[Change]:
            places = ", ".join("?" * len(rows))
            found = connection.execute(
                f"SELECT seq, kind, key, expires, value FROM record WHERE seq IN ({places}) "  # noqa: S608 - question marks
                "ORDER BY seq",
                rows,
            ).fetchall()
            now = self._clock.now()
            changes, broken = _decoded([row for row in found if row[3] is None or row[3] >= now])
            if broken:
                self.unreadable += len(broken)
                with _transaction(connection):
                    remove_rows(connection, broken)
            return changes

        return self._perform(work)

    def purge(self) -> bool:
        """Do a piece of the purges that were asked for; whether there is more to do.

        Raises DiskTrouble.
        """

        def work(connection: sqlite3.Connection) -> bool:
            waiting = [purge for purge in self._purges if not purge.is_done]
            if not waiting:
                return False
            purge = waiting[-1]
            begun, after = self._purging
            following, chosen = purge_slice(connection, purge, after if begun == purge.seq else 0)
            with _transaction(connection):
                apply_purge(connection, purge, chosen)
                if following is None:
                    finish_purge(connection, purge)
            self._purging = (purge.seq, following or 0)
            if following is None:
                self._purges = read_purges(connection)
            return following is not None or len(waiting) > 1

        return self._perform(work)

    def upkeep(self) -> bool:
        """Do a piece of what keeps the file within its bounds; whether there is more to do.

        Raises DiskTrouble.
        """

        def work(connection: sqlite3.Connection) -> bool:
            is_full = live_bytes(connection) > self._max_bytes
            is_due = self._clock.monotonic() >= self._sweep_at
            rows = oldest(connection) if is_full else []
            if is_due and not rows:
                rows = over_bounds(connection, self._clock.now())
            if rows:
                with _transaction(connection):
                    remove_rows(connection, rows)
                return True
            return is_due and self._end_sweep(connection)

        return self._perform(work)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._opened is not None:
            # SQLite puts what is in the log into the file, if it can.
            with contextlib.suppress(sqlite3.Error):
                self._opened.connection.close()
            self._opened = None
        self._purges = []
        self._purging = (0, 0)
        self._version = None

    def _perform(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the file, once more on a new one if it is damaged."""
        try:
            try:
                return work(self._connection())
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                self._give_up_file()
                return work(self._connection())
        except sqlite3.Error as error:
            if is_busy(error):
                raise DiskTrouble(str(error), is_busy=True) from error
            self.close()
            raise DiskTrouble(str(error)) from error
        except OSError as error:
            self.close()
            raise DiskTrouble(error.strerror or type(error).__name__) from error

    def _connection(self) -> sqlite3.Connection:
        # Another process may have set the file aside, or somebody has removed it.
        if self._opened is not None and identity_of(self._path) != self._opened.identity:
            self.close()
            self._lose()
        return (self._opened or self._open()).connection

    def _open(self) -> Opened:
        opened = self._opened = open_file(self._path, self._clock.now)
        if opened.aside is not None:
            self._tell(*opened.aside)
        if self._last is not None and opened.identity != self._last:
            self._lose()
        self._last = opened.identity
        self._purges = read_purges(opened.connection)
        return opened

    def _lose(self) -> None:
        """Take note that the file is another one. Its inode may be the same: they are reused."""
        self.is_another = True
        self._last = None
        self._seen = 0

    def _give_up_file(self) -> None:
        self.close()
        if self._last is not None:
            aside = set_aside(self._path, self._last, self._clock.now)
            self._lose()
            if aside is not None:
                self._tell(aside, Why.DAMAGED)

    def _tell(self, aside: Path, why: Why) -> None:
        told = {
            "why": why.value,
            "path": str(self._path),
            "moved_to": str(aside),
            "remedy": "none is needed: a new file is begun; remove the old one when it is of no "
            "use, or move it back with a version that reads it",
        }
        self._log.emit("error", "what was kept on disk is set aside", told)

    def _write(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
        with _transaction(connection):
            is_alone = _version(connection) == self._version
            if not is_alone:
                self._purges = read_purges(connection)
            writer = Writer(connection, self._writer, self._purges, self._clock.now())
            for change in changes:
                writer.write(change)
            top = _top(connection)
        if is_alone:
            # Nobody came between: all numbers up to the last are our own.
            self._seen = top
        if any(isinstance(change, Purged) for change in changes):
            self._purges = read_purges(connection)

    def _poll(self, connection: sqlite3.Connection) -> list[Change]:
        version = _version(connection)
        if version == self._version or not self._is_listed:
            return []
        top = _top(connection)
        rows = connection.execute(
            "SELECT seq, kind, key, expires, value FROM record "
            "WHERE seq > ? AND seq <= ? AND writer <> ? "
            "ORDER BY seq LIMIT ?",
            (self._seen, top, self._writer, _POLLED_AT_ONCE),
        ).fetchall()
        if len(rows) < _POLLED_AT_ONCE:
            self._seen, self._version = top, version
        else:
            self._seen = rows[-1][0]
        changes, broken = _decoded(rows)
        self.unreadable += len(broken)
        if any(isinstance(change, Purged) for change in changes):
            self._purges = read_purges(connection)
        return changes

    def _end_sweep(self, connection: sqlite3.Connection) -> bool:
        free = connection.execute("PRAGMA freelist_count").fetchone()[0] - _FREE_PAGES
        if free > 0:
            # A script is stepped to its end; of a statement without columns one step is done.
            connection.executescript(f"PRAGMA incremental_vacuum({min(free, _VACUUMED_AT_ONCE)})")
        if free > _VACUUMED_AT_ONCE:
            return True
        self.rows = connection.execute("SELECT count(*) FROM record").fetchone()[0]
        self.size_bytes = live_bytes(connection)
        self._sweep_at = self._clock.monotonic() + SWEEP_SECONDS
        return False


def _decoded(rows: Sequence[_Row]) -> tuple[list[Change], list[int]]:
    """What rows say, and the numbers of those that cannot be read."""
    changes: list[Change] = []
    broken = []
    for seq, kind, key, _, value in without_haste(rows):
        change = read_value(value)
        if change is None or key_of(change) != (kind, key):
            broken.append(seq)
        else:
            changes.append(change)
    return changes, broken


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            # SQLite has rolled back by itself where it had to.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _top(connection: sqlite3.Connection) -> int:
    """The last number that was taken."""
    return int(connection.execute("SELECT max(seq) FROM record").fetchone()[0] or 0)
