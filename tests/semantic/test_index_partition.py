"""One partition: whatever moves between its rows and its graph, all is found and nothing twice."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.ports import Vector
from proxy.semantic import index_graph, index_partition
from proxy.semantic.index_graph import Graph
from proxy.semantic.index_partition import Partition
from proxy.semantic.index_places import Places
from proxy.semantic.index_rows import Matrix
from tests.contracts.vector_index import HERE, key, keys
from tests.semantic.test_index_graph import directions

VECTORS = directions(3000)


def partition_of(vectors: Matrix, *, scan_below: int) -> tuple[Partition, Places]:
    places = Places()
    partition = Partition(HERE, 0, places, scan_below=scan_below)
    partition.add([key(number) for number in range(len(vectors))], vectors)
    return partition, places


def finish(partition: Partition) -> int:
    """Do all that can wait, and tell in how many steps."""
    steps = 0
    while partition.has_work:
        partition.work()
        steps += 1
    return steps


def check(partition: Partition, places: Places, expected: dict[bytes, Vector]) -> None:
    """Every key is in one place, with its vector, and is found by it."""
    assert len(partition) == len(places) == len(expected)
    assert places.keys() == expected.keys()
    stored = partition.stored(list(expected))
    assert sorted(stored.keys) == sorted(expected)
    for one, row in zip(stored.keys, stored.vectors, strict=True):
        assert np.array_equal(row, expected[one])
        near = partition.search(row, 1)
        assert near[0].similarity == pytest.approx(1.0, abs=1e-4)


def linked(partition: Partition) -> int:
    """How many are in the graph."""
    return len(partition) - len(partition._rows)


def test_up_to_the_bound_all_are_compared() -> None:
    partition, _ = partition_of(VECTORS[:500], scan_below=500)
    assert not partition.has_work
    partition.add([key(500)], VECTORS[500:501])
    assert partition.has_work


def test_above_the_bound_nearly_all_go_into_the_graph() -> None:
    partition, places = partition_of(VECTORS[:2000], scan_below=500)
    expected = {key(number): VECTORS[number] for number in range(2000)}
    for _ in range(200):
        partition.work()
    assert 0 < linked(partition) < 2000
    check(partition, places, expected)  # half way
    finish(partition)
    assert linked(partition) > 1950
    check(partition, places, expected)
    one, other = partition.search(VECTORS[9], 2)
    assert (one.key, one.similarity >= other.similarity) == (key(9), True)


def test_below_half_the_bound_all_are_compared_again() -> None:
    partition, places = partition_of(VECTORS[:1200], scan_below=1000)
    finish(partition)
    assert linked(partition)
    for number in range(600):
        partition.discard(key(number))
    finish(partition)
    assert linked(partition) == len(partition) - len(partition._rows) > 0
    for number in range(600, 700):
        partition.discard(key(number))
    for _ in range(3):
        partition.work()
    assert 0 < linked(partition) < 400
    expected = {key(number): VECTORS[number] for number in range(700, 1200)}
    check(partition, places, expected)
    finish(partition)
    assert linked(partition) == 0
    check(partition, places, expected)


def test_a_partition_that_grows_again_while_it_leaves_the_graph_stays_whole() -> None:
    partition, places = partition_of(VECTORS[:1200], scan_below=1000)
    finish(partition)
    for number in range(800):
        partition.discard(key(number))
    partition.work()
    partition.work()
    partition.add([key(number) for number in range(2000, 3000)], VECTORS[2000:])
    finish(partition)
    expected = {key(number): VECTORS[number] for number in (*range(800, 1200), *range(2000, 3000))}
    check(partition, places, expected)
    assert linked(partition) > 1300


def test_every_entry_is_found_after_all_were_replaced_time_and_again() -> None:
    partition, places = partition_of(VECTORS[:1200], scan_below=500)
    finish(partition)
    expected = {key(number): VECTORS[number] for number in range(1200)}
    rng = np.random.default_rng(4)
    for turn, number in enumerate(rng.integers(0, 1200, 2400).tolist()):
        fresh = VECTORS[(number + turn) % 3000]
        partition.discard(key(number))
        partition.add([key(number)], fresh[np.newaxis])
        expected[key(number)] = fresh
        near = partition.search(fresh, 1)  # at once
        assert near[0].similarity == pytest.approx(1.0, abs=1e-4)
        if turn % 2:
            for _ in range(3):
                if partition.has_work:
                    partition.work()
    finish(partition)
    check(partition, places, expected)
    assert len(partition._rows) < 60


def test_a_discarded_key_is_never_found_again() -> None:
    partition, _ = partition_of(VECTORS[:1500], scan_below=500)
    gone: set[bytes] = set()
    for number in range(900):
        if partition.has_work:
            partition.work()
        partition.discard(key(number))
        gone.add(key(number))
        assert not gone & set(keys(partition.search(VECTORS[number], 20)))
    while partition.has_work:
        partition.work()
        assert not gone & set(keys(partition.search(VECTORS[len(gone) - 1], 20)))
    for number in range(900):
        assert not gone & set(keys(partition.search(VECTORS[number], 20)))


def test_equal_vectors_are_no_endless_work() -> None:
    partition, places = partition_of(np.tile(VECTORS[0], (400, 1)), scan_below=50)
    assert finish(partition) < 1000
    check(partition, places, {key(number): VECTORS[0] for number in range(400)})
    for number in range(100):
        partition.discard(key(number))
    assert finish(partition) < 1000
    check(partition, places, {key(number): VECTORS[0] for number in range(100, 400)})


def test_without_hnswlib_all_are_compared_whatever_the_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_graph, "hnswlib", None)
    partition, places = partition_of(VECTORS, scan_below=100)
    assert partition.is_large
    assert not partition.has_work
    check(partition, places, {key(number): VECTORS[number] for number in range(3000)})


class PickyGraph(Graph):
    """A graph that does not find every second one."""

    def _unreachable(self, numbers: list[int], vectors: Matrix) -> list[int]:
        return sorted({*super()._unreachable(numbers, vectors), *numbers[::2]})


@pytest.mark.parametrize("graph", [Graph, PickyGraph])
@settings(max_examples=25)
@given(st.data())
def test_any_changes_leave_what_should_be_there(graph: type[Graph], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_partition, "Graph", graph)
        partition, places = partition_of(VECTORS[:60], scan_below=data.draw(st.integers(0, 60)))
        expected = {key(number): VECTORS[number] for number in range(60)}
        for number in data.draw(st.lists(st.integers(0, 119), max_size=150)):
            if key(number) in expected:
                partition.discard(key(number))
                del expected[key(number)]
            else:
                partition.add([key(number)], VECTORS[number : number + 1])
                expected[key(number)] = VECTORS[number]
            if partition.has_work and len(partition):
                partition.work()
        if expected:
            finish(partition)
            check(partition, places, expected)


def test_rows_that_the_graph_would_not_find_stay_whatever_else_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_partition, "Graph", PickyGraph)
    partition, places = partition_of(VECTORS[:400], scan_below=100)
    expected = {key(number): VECTORS[number] for number in range(400)}
    finish(partition)
    rows = list(partition._rows.keys)
    assert 200 <= len(rows) < 400
    for turn, gone in enumerate(rows[::20]):
        partition.discard(gone)
        del expected[gone]
        partition.add([key(400 + turn)], VECTORS[400 + turn : 401 + turn])
        expected[key(400 + turn)] = VECTORS[400 + turn]
    check(partition, places, expected)
    finish(partition)
    check(partition, places, expected)
    assert set(rows) - set(rows[::20]) <= set(partition._rows.keys)


_MEMORY = """
import numpy as np
from proxy.semantic.index_partition import Partition
from proxy.semantic.index_places import Places

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def fill(first, count):
    for start in range(first, count, 50):
        rows = rng.standard_normal((50, 384)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        partition.add([b"%032d" % (start + row) for row in range(50)], rows)
        while partition.has_work:
            partition.work()

rng = np.random.default_rng(0)
partition = Partition(b"p", 0, Places(), scan_below=300)
fill(0, 600)
before = resident()
fill(600, 2200)
print((resident() - before) / 1600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_entry_of_a_graph_takes_little_more_than_its_vector() -> None:
    ran = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True, timeout=60
    )
    assert float(ran.stdout) < 2200
