"""What changes do to the rows."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.core.cache.change import Change, Deleted, Purged, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.store import disk_rows
from proxy.store.disk_open import open_file
from proxy.store.disk_rows import (
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
)
from tests.core.values import NOW
from tests.store.changes import aliased, comparable, key, learnt, put

PAIRS = ((b"a" * 16, b"b" * 16),)


class Table:
    """A file's rows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def write(self, *changes: Change, now: float = NOW) -> None:
        """Write changes as one process does."""
        writer = Writer(self.connection, 1, read_purges(self.connection), now)
        for change in changes:
            writer.write(change)

    def rows(self) -> list[object]:
        """What the rows say, in the order of their numbers."""
        found = self.connection.execute("SELECT value FROM record ORDER BY seq")
        changes = [read_value(value) for (value,) in found]
        return [comparable(change) for change in changes if change is not None]

    def numbers(self) -> list[int]:
        """The numbers of the rows."""
        return [seq for (seq,) in self.connection.execute("SELECT seq FROM record ORDER BY seq")]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """An empty one."""
    opened = open_file(tmp_path / "entries.sqlite", lambda: NOW)
    with contextlib.closing(opened.connection) as connection:
        yield Table(connection)


def test_the_later_answer_takes_the_place_and_a_new_number(table: Table) -> None:
    table.write(put(1), put(2))
    table.write(put(1, created=NOW + 1), put(2, created=NOW - 1))
    assert table.rows() == [comparable(put(2)), comparable(put(1, created=NOW + 1))]
    assert table.numbers() == [2, 3]


def test_the_same_is_not_written_again(table: Table) -> None:
    changes: list[Change] = [
        put(1),
        learnt(1),
        aliased(2, 1),
        Deleted(key(3), NOW),
        Renewed("m", "1", NOW),
    ]
    table.write(*changes)
    table.write(*changes)
    assert table.numbers() == [1, 2, 3, 4, 5]


def test_a_number_is_never_used_again(table: Table) -> None:
    table.write(put(1))
    table.write(Deleted(key(1), NOW))
    remove_rows(table.connection, table.numbers())
    table.write(put(2))
    assert table.numbers() == [3]


def test_a_delete_takes_the_answer_and_how_it_is_found(table: Table) -> None:
    table.write(put(1), learnt(1), put(2), learnt(2))
    table.write(Deleted(key(1), NOW))
    table.write(put(1), learnt(1))
    assert table.rows() == [comparable(put(2)), learnt(2), Deleted(key(1), NOW)]


def test_a_delete_leaves_what_is_later(table: Table) -> None:
    later = put(1, created=NOW + 1)
    table.write(later, learnt(1))
    table.write(Deleted(key(1), NOW))
    table.write(learnt(1, text="again"))
    assert table.rows() == [comparable(later), Deleted(key(1), NOW), learnt(1, text="again")]


def test_the_later_delete_counts(table: Table) -> None:
    table.write(Deleted(key(1), NOW + 5))
    table.write(Deleted(key(1), NOW))
    table.write(put(1, created=NOW + 4))
    assert table.rows() == [Deleted(key(1), NOW + 5)]


def test_a_rejection_takes_the_aliases_too_and_lasts(table: Table) -> None:
    table.write(put(1), learnt(1), aliased(2, 1), aliased(3, 4), put(4))
    rejected = Rejected(key(1), NOW, PAIRS)
    table.write(rejected)
    table.write(put(1, created=NOW - 1), now=NOW + 5)
    assert table.rows() == [aliased(3, 4), comparable(put(4)), rejected]
    assert over_bounds(table.connection, NOW + 1e8) == [5]  # put(4), and not the rejection


def test_what_has_had_its_time_is_not_written(table: Table) -> None:
    table.write(put(1, ttl=1.0), learnt(1, until=NOW + 1), now=NOW + 1000)
    assert table.rows() == []


def test_what_is_too_long_to_be_read_again_is_not_written(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_rows, "MAX_BYTES", 1000)
    table.write(put(1, body=bytes(1000)), put(2))
    assert table.rows() == [comparable(put(2))]


def test_a_purge_holds_for_what_comes_late(table: Table) -> None:
    hard = Purged(Selector(model="old"), soft=False, at=NOW)
    soft = Purged(Selector(tag="news"), soft=True, at=NOW)
    table.write(hard, soft)
    table.write(put(1, model="old"), put(2, tags=("news",)), put(3, model="old", created=NOW + 1))
    assert table.rows()[2:] == [
        comparable(put(2, tags=("news",), ttl=0.0)),
        comparable(put(3, model="old", created=NOW + 1)),
    ]


@pytest.mark.parametrize("soft", [False, True])
def test_a_purge_of_what_is_there_goes_in_slices(
    table: Table, soft: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_rows, "AT_ONCE", 3)
    for number in range(10):
        table.write(put(number, model="old" if number % 2 else "new"), learnt(number))
    table.write(put(20, model="old", created=NOW + 1))
    table.write(Purged(Selector(model="old"), soft=soft, at=NOW))
    (purge,) = read_purges(table.connection)
    slices, after = 0, 0
    while True:
        at, chosen = purge_slice(table.connection, purge, after)
        apply_purge(table.connection, purge, chosen)
        slices += 1
        if at is None:
            break
        after = at
    finish_purge(table.connection, purge)
    assert slices == 4
    assert [one.is_done for one in read_purges(table.connection)] == [True]
    rows = table.rows()
    for number in range(10):
        stale = comparable(put(number, model="old", ttl=0.0))
        as_it_was = comparable(put(number, model="old" if number % 2 else "new"))
        assert (as_it_was in rows) == (number % 2 == 0)
        assert (stale in rows) == (soft and number % 2 == 1)
        assert (learnt(number) in rows) == (soft or number % 2 == 0)
    assert comparable(put(20, model="old", created=NOW + 1)) in rows


def test_purges_that_cannot_be_read_are_none(table: Table) -> None:
    table.write(Purged(Selector(model="old"), soft=False, at=NOW))
    table.connection.execute("UPDATE record SET value = 'text'")
    assert read_purges(table.connection) == []


def test_what_is_over_the_bounds_goes_oldest_first(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_rows, "BOUNDS", {"purged": 2, "rejected": 1, "aliased": 3})
    for number in range(4):
        table.write(
            Purged(Selector(model=f"{number}"), soft=False, at=NOW + number),
            Rejected(key(number), NOW, PAIRS),
            aliased(number, 50),
        )
    table.write(put(50))
    assert sorted(over_bounds(table.connection, NOW)) == [1, 2, 3, 4, 5, 8]


def test_an_alias_of_nothing_goes_after_a_while(table: Table) -> None:
    table.write(put(1, ttl=5000.0), aliased(2, 1), aliased(3, 99))
    assert over_bounds(table.connection, NOW) == []
    assert over_bounds(table.connection, NOW + 601) == [3]


def test_the_oldest_are_answers_and_what_belongs_to_them(table: Table) -> None:
    table.write(Renewed("m", "1", NOW), put(1), learnt(1), put(2))
    assert oldest(table.connection) == [2, 3, 4]
    remove_rows(table.connection, [2])
    assert table.numbers() == [1, 4]


def test_what_is_removed_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "secure.sqlite"
    body = b"something that nobody may find " * 9
    with contextlib.closing(open_file(path, lambda: NOW).connection) as connection:
        table = Table(connection)
        table.write(put(1, body=body), put(2))
        table.write(Deleted(key(1), NOW))
    assert body not in path.read_bytes()


def test_the_bytes_are_those_of_pages_in_use(table: Table) -> None:
    before = live_bytes(table.connection)
    table.write(*(put(number, body=bytes(20_000)) for number in range(20)))
    full = live_bytes(table.connection)
    assert full > before + 400_000
    remove_rows(table.connection, table.numbers())
    assert live_bytes(table.connection) < before + 50_000
