"""Opens the file of what was learnt; one that cannot be used is set aside, once (mission C2).

All functions block. The file is opened and set aside under a lock, or two processes that find it
damaged would each set aside what the other has made anew.
"""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from proxy.store import directory as places

FORMAT = 1
"""Of the table; that of the values is of codec.py."""
MAX_ASIDE = 3
"""Files set aside that are kept; the newest."""
_APPLICATION = 0x52657072  # "Repr"
BUSY_SECONDS = 5.0
"""How long another process may write before we look at what else there is to do."""
_PAGE_BYTES = 8_192
"""Answers of a few kilobytes leave half of smaller pages empty."""
_SCHEMA = {
    "record": (
        "CREATE TABLE record (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, "
        "key BLOB NOT NULL, writer INTEGER NOT NULL, at REAL NOT NULL, expires REAL, about BLOB, "
        "value BLOB NOT NULL, UNIQUE (kind, key))"
    ),
    "record_expires": "CREATE INDEX record_expires ON record (expires) WHERE expires IS NOT NULL",
}
"""What is kept, and at once the log of what has changed: each change takes a new `seq`."""
_MADE_BY_SQLITE = "sqlite_"


class Why(StrEnum):
    """Why a file is set aside."""

    DAMAGED = "damaged"
    NEWER = "newer"
    FOREIGN = "foreign"
    """It is no file of ours."""


class Identity(NamedTuple):
    """Tells a file from another one that has taken its place."""

    device: int
    inode: int


class UnusableFile(Exception):
    """The file is of no use as it is."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


class Opened(NamedTuple):
    """A file that is in use."""

    connection: sqlite3.Connection
    identity: Identity
    aside: tuple[Path, Why] | None
    """Where the one that was there before has been put."""


def open_file(path: Path, now: Callable[[], float]) -> Opened:
    """Open the file, made where there is none; one that is of no use is set aside before.

    Raises OSError and sqlite3.Error where the disk does not let us.
    """
    places.make(path.parent)
    with places.locked(path.parent):
        try:
            return Opened(*_open(path), None)
        except UnusableFile as error:
            aside = _move_aside(path, error.why, now())
            return Opened(*_open(path), (aside, error.why))


def set_aside(path: Path, identity: Identity, now: Callable[[], float]) -> Path | None:
    """Put a file that turned out to be damaged aside; None where another process has done so.

    Its connection must be closed. Raises OSError.
    """
    with places.locked(path.parent):
        if identity_of(path) != identity:
            return None
        return _move_aside(path, Why.DAMAGED, now())


def identity_of(path: Path) -> Identity | None:
    """Which file is there; None where there is none. Raises OSError."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return Identity(found.st_dev, found.st_ino)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is not what it should be."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Text that is none, for which Python has no code.
        return isinstance(error, sqlite3.OperationalError)
    return code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether an error says that others are at work, and no more."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _open(path: Path) -> tuple[sqlite3.Connection, Identity]:
    if path.is_dir():
        raise UnusableFile(Why.FOREIGN)
    if not path.exists():
        path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _prepare(connection)
        identity = identity_of(path)
        if identity is None:
            raise FileNotFoundError(str(path))
    except sqlite3.Error as error:
        connection.close()
        # Until the tables are known to be ours, what does not fit them is damage too.
        if is_damage(error) or error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise UnusableFile(Why.DAMAGED) from error
        raise
    except (UnusableFile, OSError):
        connection.close()
        raise
    return connection, identity


def _prepare(connection: sqlite3.Connection) -> None:
    # Nothing that is in the file, a trigger or a view, may do anything.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if _is_empty(connection):
        # Before the first table: later they are without effect.
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    _check(connection)
    # A power cut may take the last commits, a killed process none.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    # What is deleted is written over.
    connection.execute("PRAGMA secure_delete = ON")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]


def _check(connection: sqlite3.Connection) -> None:
    """Raises UnusableFile where the tables are not ours, to the letter."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise UnusableFile(Why.FOREIGN)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise UnusableFile(Why.NEWER if version > FORMAT else Why.DAMAGED)
    tables = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    found = {name: sql for name, sql in tables if not str(name).startswith(_MADE_BY_SQLITE)}
    if found != _SCHEMA:
        raise UnusableFile(Why.DAMAGED)


def _move_aside(path: Path, why: Why, now: float) -> Path:
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = path.with_name(f"{path.name}.{moment}-{why}")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            # SQLite finds what belongs together by these names.
            beside.replace(aside.with_name(aside.name + suffix))
    _prune(path)
    return aside


def _prune(path: Path) -> None:
    """Let only the newest of those set aside be; directories are not ours to remove."""
    found = sorted(path.parent.glob(f"{path.name}.*Z-*"), key=lambda one: one.name, reverse=True)
    whole = [one for one in found if not one.name.endswith(("-wal", "-shm"))]
    for old in whole[MAX_ASIDE:]:
        if old.is_file():
            for suffix in ("", "-wal", "-shm"):
                old.with_name(old.name + suffix).unlink(missing_ok=True)
