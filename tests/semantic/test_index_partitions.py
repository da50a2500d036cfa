"""All partitions: none is left empty, and a snapshot is of one moment."""

from pathlib import Path

import numpy as np

from proxy.semantic.index_file import encode_head, encode_tail, read
from proxy.semantic.index_partitions import Partitions
from tests.contracts.vector_index import DIMENSIONS, HERE, THERE, key, keys, vector


def ignore(_: int) -> None:
    """Take no note of a size."""


def partitions_of(*numbers: int) -> Partitions:
    """Odd numbers are here, even ones there; of 201 or more some are in graphs."""
    partitions = Partitions(scan_below=100, on_large=ignore)
    for number in numbers:
        partitions.add((THERE, HERE)[number % 2], key(number), vector(number))
    for _ in range(100):
        if partitions.has_work:
            partitions.work()
    return partitions


def stored(path: Path, entries: int, records: bytes) -> dict[bytes, bytes]:
    """The keys of a snapshot with their partitions."""
    path.write_bytes(encode_head(DIMENSIONS, "m") + records + encode_tail(entries))
    found: dict[bytes, bytes] = {}
    for cell in read(path, dimensions=DIMENSIONS, identity="m"):
        for one, row in zip(cell.keys, cell.vectors, strict=True):
            assert np.array_equal(row, vector(int.from_bytes(one, "big")))
            found[one] = cell.partition
    return found


def test_a_partition_without_entries_is_forgotten() -> None:
    partitions = partitions_of(1, 2, 3)
    assert partitions.counts() == {HERE: 2, THERE: 1}
    partitions.discard(key(2))
    assert partitions.counts() == {HERE: 2}
    partitions.add(THERE, key(1), vector(1))
    partitions.add(THERE, key(3), vector(3))
    assert partitions.counts() == {THERE: 2}


def test_of_a_cell_only_what_is_missing_is_taken_in() -> None:
    partitions = partitions_of(1, 2)
    vectors = np.stack([vector(number) for number in (11, 12, 3)])
    assert partitions.add_missing(THERE, [key(1), key(2), key(3)], vectors) == 1
    assert partitions.add_missing(THERE, [key(1), key(3)], vectors[1:]) == 0
    assert (len(partitions), partitions.counts()) == (3, {HERE: 1, THERE: 2})
    (found,) = partitions.search(HERE, vector(1), 5)
    assert found.similarity > 0.99


def test_replacing_the_only_entry_keeps_it_findable() -> None:
    partitions = partitions_of(1)
    partitions.add(HERE, key(1), vector(5))
    assert partitions.counts() == {HERE: 1}
    assert keys(partitions.search(HERE, vector(5), 3)) == [key(1)]


def test_all_partitions_are_searched_for_the_nearest() -> None:
    partitions = partitions_of(*range(50))
    for number in range(50):
        assert keys(partitions.search_all(vector(number), 1)) == [key(number)]
    found = partitions.search_all(vector(1), 50)
    assert len(found) == 50
    assert found == sorted(found, key=lambda near: -near.similarity)


def test_a_snapshot_is_of_the_moment_it_began(tmp_path: Path) -> None:
    partitions = partitions_of(*range(900))
    entries = partitions.begin_snapshot()
    records = partitions.next_records(1)
    for number in range(0, 900, 2):
        partitions.discard(key(number))
        partitions.add(HERE, key(1000 + number), vector(1000 + number))
        partitions.work()
    while more := partitions.next_records(100_000):
        records += more
    assert entries == 900
    assert stored(tmp_path / "index", entries, records) == {
        key(number): (THERE, HERE)[number % 2] for number in range(900)
    }


def test_records_come_in_the_portions_asked_for() -> None:
    partitions = partitions_of(*range(900))
    partitions.begin_snapshot()
    one = partitions.next_records(1)
    rest = partitions.next_records(1 << 30)
    assert len(one) < len(rest)
    assert partitions.next_records(1) == b""


def test_a_snapshot_that_is_given_up_leaves_nothing() -> None:
    partitions = partitions_of(*range(9))
    partitions.begin_snapshot()
    partitions.discard(key(1))
    partitions.end_snapshot()
    assert partitions.next_records(1) == b""
    assert partitions.begin_snapshot() == 8


def test_the_size_of_each_partition_that_grows_over_the_bound_is_told() -> None:
    told: list[int] = []
    partitions = Partitions(scan_below=3, on_large=told.append)
    for number in range(9):
        partitions.add((THERE, HERE)[number % 2], key(number), vector(number))
    assert told == [4, 4]


def test_partitions_take_turns_with_what_can_wait_and_one_that_is_gone_has_none() -> None:
    partitions = Partitions(scan_below=20, on_large=ignore)
    for number in range(100):
        partitions.add((THERE, HERE)[number % 2], key(number), vector(number))
    for number in range(0, 100, 2):
        partitions.discard(key(number))
    while partitions.has_work:
        partitions.work()
    assert partitions.counts() == {HERE: 50}
    for number in range(1, 100, 2):
        assert keys(partitions.search(HERE, vector(number), 1)) == [key(number)]
