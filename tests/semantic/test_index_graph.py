"""The graph: near ones are found, discarded ones never, whatever was built anew meanwhile."""

import runpy
import sys

import numpy as np
import pytest

from proxy.semantic import index_graph
from proxy.semantic.index_graph import Graph
from proxy.semantic.index_rows import Matrix
from tests.contracts.vector_index import key, unit

DIMENSIONS = 24
COUNT = 1500


def directions(count: int, *, seed: int = 0) -> Matrix:
    """Vectors in clusters of about ten, as questions about the same matters are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // 10), DIMENSIONS))
    rows = centres[rng.integers(0, len(centres), count)]
    return np.stack([unit(row) for row in rows + 0.5 * rng.standard_normal(rows.shape)])


VECTORS = directions(COUNT)


def graph_of(vectors: Matrix) -> tuple[Graph, dict[bytes, int]]:
    """A graph, and the numbers of the keys in it."""
    graph = Graph(vectors.shape[1])
    numbers: dict[bytes, int] = {}
    fill(graph, numbers, range(len(vectors)), vectors)
    return graph, numbers


def fill(graph: Graph, numbers: dict[bytes, int], names: range, vectors: Matrix) -> None:
    """Add a few at a time, as the index does."""
    for start in range(0, len(vectors), 4):
        keys = [key(name) for name in names[start : start + 4]]
        put = zip(keys, graph.add(keys, vectors[start : start + 4]), strict=True)
        numbers.update((one, number) for one, number in put if number is not None)


def renewed(graph: Graph) -> bool:
    """Renew it if it is worn, and tell whether it was."""
    was_worn = graph.is_worn
    while graph.is_worn:
        assert graph.renew(50) != graph.is_worn
    return was_worn


def found(graph: Graph, asked: Matrix) -> list[bytes]:
    """The nearest of each."""
    return [graph.search(one, 1)[0][1] for one in asked]


def test_nearly_all_that_is_there_is_found() -> None:
    graph, numbers = graph_of(VECTORS)
    assert len(graph) == len(numbers)
    right = sum(one == key(n) for n, one in enumerate(found(graph, VECTORS)))
    assert right >= 0.99 * COUNT
    near = graph.search(VECTORS[3], 5)
    assert near == sorted(near, reverse=True)
    assert near[0][1] == key(3)
    assert near[0][0] == pytest.approx(1.0, abs=1e-5)


def test_an_empty_graph_finds_nothing() -> None:
    assert Graph(DIMENSIONS).search(VECTORS[0], 3) == []


def test_more_may_be_asked_for_than_there_are() -> None:
    graph, numbers = graph_of(VECTORS[:30])
    for number in range(25):
        graph.discard(numbers[key(number)])
    assert len(graph.search(VECTORS[0], 1000)) == len(graph) == 5


def test_what_was_emptied_finds_nothing() -> None:
    graph, numbers = graph_of(VECTORS[:30])
    for number in numbers.values():
        graph.discard(number)
    assert graph.search(VECTORS[0], 1000) == []


def test_what_cannot_be_reached_is_handed_back_and_fails_no_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With so few links a graph falls into parts.
    monkeypatch.setattr(index_graph, "_NEIGHBOURS", 2)
    monkeypatch.setattr(index_graph, "_EF_CONSTRUCTION", 2)
    graph, numbers = graph_of(VECTORS)
    reached = {one for asked in VECTORS for _, one in graph.search(asked, len(graph))}
    assert 0 < len(reached) < len(graph)
    for one in reached:
        graph.discard(numbers.pop(one))
    assert graph.search(VECTORS[0], 5) == []
    rest = set(numbers)
    while len(graph):
        rest -= set(graph.seek(10)[0])
    assert rest == set()


def test_vectors_come_back_as_they_were() -> None:
    graph, numbers = graph_of(VECTORS[:50])
    assert np.array_equal(graph.vectors([numbers[key(n)] for n in (7, 3)]), VECTORS[[7, 3]])


def test_a_tenth_of_discarded_ones_wears_it_out_and_renewing_mends_it() -> None:
    graph, numbers = graph_of(VECTORS)
    names = list(numbers)
    for one in names[: len(names) // 12]:
        graph.discard(numbers[one])
    assert not renewed(graph)
    for one in names[len(names) // 12 : len(names) // 8]:
        graph.discard(numbers[one])
    kept = names[len(names) // 8 :]
    assert renewed(graph)
    assert len(graph) == len(kept)
    # Numbers outlive it, and those of discarded ones are used again.
    assert np.array_equal(graph.vectors([numbers[kept[5]]]), VECTORS[[names.index(kept[5])]])
    before = max(numbers.values())
    fill(graph, numbers, range(5000, 5100), directions(100, seed=5))
    assert max(numbers.values()) == before
    assert len(graph.search(VECTORS[0], 5)) == 5


def test_what_is_discarded_while_it_is_renewed_is_not_found_later() -> None:
    graph, numbers = graph_of(VECTORS)
    names = list(numbers)
    for one in names[:300]:
        graph.discard(numbers[one])
    gone, rest = set(names[:300]), names[300:]
    while not graph.renew(40):
        for one in (rest.pop(), rest.pop(0)):  # not yet in the new one, and perhaps in it
            graph.discard(numbers[one])
            gone.add(one)
        assert not gone & {one for _, one in graph.search(VECTORS[len(gone)], 50)}
    assert len(graph) == len(rest)
    for asked in VECTORS[::10]:
        assert not gone & {one for _, one in graph.search(asked, 50)}


def test_those_that_are_not_found_by_their_own_vector_are_handed_back() -> None:
    graph, numbers = graph_of(VECTORS)
    kept = set(numbers)
    while graph.is_unsought:
        keys, vectors = graph.seek(64)
        assert len(keys) == len(vectors)
        kept -= set(keys)
    assert kept
    assert len(graph) == len(kept)
    for one in kept:
        own = VECTORS[int.from_bytes(one, "big")]
        assert graph.search(own, 1)[0][0] == pytest.approx(1.0, abs=1e-4)


def test_all_can_be_taken_out() -> None:
    graph, numbers = graph_of(VECTORS[:300])
    for one in list(numbers)[:60]:
        graph.discard(numbers.pop(one))
    graph.renew(10)
    taken: dict[bytes, int] = {}
    while len(graph):
        keys, vectors = graph.take(64)
        for one, row in zip(keys, vectors, strict=True):
            assert np.array_equal(row, VECTORS[int.from_bytes(one, "big")])
            taken[one] = 1
    assert taken.keys() == numbers.keys()


def test_without_the_package_there_is_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    assert index_graph.is_available()
    monkeypatch.setitem(sys.modules, "hnswlib", None)  # cannot be imported
    fresh = runpy.run_path(str(index_graph.__file__))
    assert not fresh["is_available"]()
