"""The file is opened, made, or set aside; never two at a time."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from proxy.store.disk_open import (
    Opened,
    Why,
    identity_of,
    is_busy,
    is_damage,
    open_file,
    set_aside,
)
from tests.core.values import NOW

INSERT = "INSERT INTO record (kind, key, writer, at, value) VALUES ('put', x'00', 1, 1.0, x'00')"


def now() -> float:
    return NOW


def opened(path: Path) -> "contextlib.closing[sqlite3.Connection]":
    return contextlib.closing(open_file(path, now).connection)


def count(path: Path) -> int:
    with opened(path) as connection:
        return int(connection.execute("SELECT count(*) FROM record").fetchone()[0])


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "entries.sqlite"
    with opened(path) as connection:
        connection.execute(INSERT)
        for file in path.parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA page_size").fetchone() == (8192,)
    assert count(path) == 1


def test_a_path_with_signs_in_it_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro#x%20" / "entries.sqlite"
    with opened(path):
        assert path.exists()


def test_only_the_file_that_was_damaged_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "entries.sqlite"
    first = open_file(path, now)
    other = open_file(path, now)
    first.connection.execute(INSERT)
    first.connection.close()
    aside = set_aside(path, first.identity, now)
    assert aside == tmp_path / "entries.sqlite.20251009T085320.000000Z-damaged"
    assert identity_of(path) is None
    fresh = open_file(path, now)
    fresh.connection.execute(INSERT)
    # The other process finds it damaged too, a little later.
    assert set_aside(path, other.identity, now) is None
    # And its going away takes nothing from the new file.
    other.connection.close()
    fresh.connection.close()
    assert count(path) == 1
    with contextlib.closing(sqlite3.connect(aside)) as connection:
        assert connection.execute("SELECT count(*) FROM record").fetchone() == (1,)


def test_what_is_set_aside_is_told(tmp_path: Path) -> None:
    path = tmp_path / "entries.sqlite"
    path.write_bytes(b"no file of ours, and long enough to be looked at" * 20)
    found: Opened = open_file(path, now)
    found.connection.close()
    assert found.aside is not None
    assert found.aside[1] is Why.DAMAGED


def test_a_file_that_cannot_be_opened_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        open_file(tmp_path / "file" / "entries.sqlite", now)


def test_which_errors_mean_what() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        with pytest.raises(sqlite3.Error) as caught:
            connection.execute("SELECT")
        assert not is_damage(caught.value)
        assert not is_busy(caught.value)
        with pytest.raises(sqlite3.Error) as caught:
            connection.execute("SELECT CAST(x'ff' AS TEXT)").fetchall()
        assert is_damage(caught.value)
    with pytest.raises(sqlite3.Error) as caught:
        connection.execute("SELECT 1")
    assert not is_damage(caught.value)
