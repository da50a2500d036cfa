"""What is kept of entries: as it was given, until the last of a partition is gone."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.key import Key
from proxy.pipeline.known import Known, KnownEntries
from tests.fakes.semantic import FakeIndex

INDEX, OTHER_INDEX = FakeIndex(), FakeIndex()


def key(exact: int, *, history: bytes = b"h") -> Key:
    return Key(b"scope", b"settings", history, exact.to_bytes(32, "big"))


def get(entries: KnownEntries, exact: int) -> Known:
    known = entries.get(key(exact).exact)
    assert known is not None
    return known


@given(st.text(st.characters(exclude_categories=())), st.floats(allow_nan=False))
def test_an_entry_is_given_back_as_it_was(text: str, until: float) -> None:
    entries = KnownEntries()
    entries.add(key(1), text, INDEX, until)
    known = get(entries, 1)
    assert (known.text, known.until) == (text, until)
    assert entries[key(1).exact] == known
    partition = known.partition
    assert (partition.scope, partition.settings, partition.history) == (b"scope", b"settings", b"h")
    assert partition.index is INDEX


def test_an_entry_that_is_not_there_is_none() -> None:
    entries = KnownEntries()
    entries.add(key(1), "Q", INDEX, 1.0)
    assert len(entries) == 1
    assert key(1).exact in entries
    assert entries.pop(key(1).exact) is not None
    assert len(entries) == 0
    assert key(1).exact not in entries
    assert entries.get(key(1).exact) is None
    assert entries.pop(key(1).exact) is None
    with pytest.raises(KeyError):
        entries[key(1).exact]


def test_entries_share_a_partition_where_history_and_index_are_the_same() -> None:
    entries = KnownEntries()
    entries.add(key(1), "one", INDEX, 1.0)
    entries.add(key(2), "two", INDEX, 2.0)
    entries.add(key(3), "three", OTHER_INDEX, 3.0)
    entries.add(key(4, history=b"other"), "four", INDEX, 4.0)
    shared = get(entries, 1).partition
    assert get(entries, 2).partition is shared
    assert get(entries, 3).partition is not shared
    assert get(entries, 3).partition.index is OTHER_INDEX
    assert get(entries, 4).partition.history == b"other"
    assert [get(entries, number).partition.count for number in (1, 3, 4)] == [2, 1, 1]


def test_a_partition_goes_with_its_last_entry() -> None:
    entries = KnownEntries()
    entries.add(key(1), "one", INDEX, 1.0)
    entries.add(key(2), "two", INDEX, 2.0)
    entries.pop(key(1).exact)
    assert get(entries, 2).partition.count == 1
    entries.pop(key(2).exact)
    assert (entries._partitions, entries._numbered) == ({}, {})
    entries.add(key(3), "three", INDEX, 3.0)
    assert (get(entries, 3).text, get(entries, 3).partition.count) == ("three", 1)


def test_only_the_time_of_an_entry_that_is_prolonged_changes() -> None:
    entries = KnownEntries()
    entries.add(key(1), "one", INDEX, 1.0)
    before = get(entries, 1)
    entries.prolong(key(1).exact, 5.5)
    assert get(entries, 1) == before._replace(until=5.5)
    assert before.partition.count == 1


def test_an_entry_takes_little_more_than_its_text() -> None:
    entries = KnownEntries()
    entries.add(key(1), "x" * 100, INDEX, 1.0)
    (packed,) = entries._packed.values()
    assert sys.getsizeof(packed) - 100 < 50
