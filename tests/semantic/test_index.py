"""The vector index in memory: the contract, order, files, and the end of its thread."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.ports import Neighbour, Vector, VectorIndex
from proxy.semantic import index_graph
from proxy.semantic.index import PartitionedIndex
from proxy.semantic.index_file import UnusableIndexFile
from tests.contracts.vector_index import (
    HERE,
    THERE,
    VectorIndexContract,
    key,
    keys,
    unit,
    vector,
)

IDENTITY = "a model and its digest"
DEADLINE = 20.0


class Lines:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Fulfils proxy.telemetry.log.Log."""
        self.events.append(f"{level}: {event} {sorted(fields)}")


@asynccontextmanager
async def index_of(
    scan_below: int = 4096, *, max_waiting: int = 10_000, log: Lines | None = None
) -> AsyncIterator[PartitionedIndex]:
    index = PartitionedIndex(scan_below=scan_below, log=log or Lines(), max_waiting=max_waiting)
    try:
        yield index
    finally:
        await index.close()


class TestContract(VectorIndexContract):
    """Memory fulfils the port."""

    def make(self) -> AbstractAsyncContextManager[VectorIndex]:
        return index_of()


class TestContractOfAGraph(VectorIndexContract):
    """It does so too where nearly all partitions have a graph."""

    def make(self) -> AbstractAsyncContextManager[VectorIndex]:
        return index_of(scan_below=1)


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def everyone(_: bytes) -> bool:
    return True


async def saved(path: Path, count: int = 600) -> None:
    """Write an index of two partitions, of which one has a graph."""
    async with index_of(scan_below=300) as index:
        for number in range(count):
            index.add(HERE if number % 3 else THERE, key(number), vector(number))
        assert await index.save(path, IDENTITY) == count


async def test_what_was_saved_can_be_loaded(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    async with index_of() as index:
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 600
        assert len(index) == 600
        assert await index.counts() == {HERE: 400, THERE: 200}
        for number in range(0, 600, 7):
            found = await index.search(HERE if number % 3 else THERE, vector(number), 1)
            assert keys(found) == [key(number)]
            assert found[0].similarity == pytest.approx(1.0, abs=1e-5)
        index.discard(HERE, key(7))
        index.add(HERE, key(900), vector(900))
        assert key(7) not in keys(await index.search(HERE, vector(7), 5))
        assert keys(await index.search(HERE, vector(900), 1)) == [key(900)]
    assert names(tmp_path) == ["index"]


async def test_only_what_is_wanted_is_loaded(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    wanted = {key(number) for number in range(0, 600, 5)}
    async with index_of() as index:
        loaded = await index.load(tmp_path / "index", IDENTITY, is_wanted=wanted.__contains__)
        assert (loaded, len(index)) == (120, 120)
        assert key(1) not in keys(await index.search(HERE, vector(1), 600))


async def test_loading_leaves_what_was_added_meanwhile_as_it_is(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    async with index_of() as index:
        index.add(THERE, key(1), vector(1001))
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 599
        assert keys(await index.search(THERE, vector(1001), 1)) == [key(1)]
        assert key(1) not in keys(await index.search(HERE, vector(1), 600))


async def test_a_save_holds_what_was_there_when_it_began(tmp_path: Path) -> None:
    async with index_of(scan_below=300) as index:
        for number in range(2000):
            index.add(HERE, key(number), vector(number))
        save = asyncio.gather(index.save(tmp_path / "index", IDENTITY))
        await index.counts()  # the snapshot has begun
        number = 0
        while not save.done():
            index.discard(HERE, key(number % 2000))
            index.add(HERE, key(5000 + number), vector(number % 50))
            number += 1
            await asyncio.sleep(0)
        assert list(await save) == [2000]
    async with index_of() as index:
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 2000
        for number in range(0, 2000, 37):
            assert keys(await index.search(HERE, vector(number), 1)) == [key(number)]


async def test_a_later_save_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    async with index_of() as index:
        for number in range(3):
            index.add(HERE, key(number), vector(number))
            await asyncio.gather(*(index.save(tmp_path / "index", IDENTITY) for _ in range(3)))
    async with index_of() as index:
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 3


async def test_a_save_that_fails_leaves_the_earlier_file(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    (tmp_path / "index.part").mkdir()
    async with index_of() as index:
        with pytest.raises(OSError, match="part"):
            await index.save(tmp_path / "index", IDENTITY)
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 600


async def test_a_cancelled_save_leaves_the_earlier_file(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    async with index_of() as index:
        for number in range(3000):
            index.add(HERE, key(number), vector(number))
        save = asyncio.gather(index.save(tmp_path / "index", IDENTITY))
        await index.counts()
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
        assert keys(await index.search(HERE, vector(3), 1)) == [key(3)]
    assert names(tmp_path) == ["index"]
    async with index_of() as index:
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 600


async def test_of_a_damaged_file_nothing_is_taken(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    data[-200] ^= 1
    (tmp_path / "index").write_bytes(data)
    async with index_of() as index:
        with pytest.raises(UnusableIndexFile, match="checksum"):
            await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone)
        assert len(index) == 0
        assert await index.search(HERE, vector(1), 1) == []


async def test_vectors_of_another_encoder_are_refused(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    async with index_of() as index:
        with pytest.raises(UnusableIndexFile, match="identity"):
            await index.load(tmp_path / "index", "another", is_wanted=everyone)
    async with index_of() as index:
        index.add(HERE, key(1), vector(1, dimensions=8))
        with pytest.raises(UnusableIndexFile, match="dimensions"):
            await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone)


async def test_an_index_without_entries_can_be_saved_and_loaded(tmp_path: Path) -> None:
    async with index_of() as index:
        assert await index.save(tmp_path / "index", IDENTITY) == 0
    async with index_of() as index:
        index.add(HERE, key(1), vector(1))
        assert await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone) == 0


async def test_the_first_vector_says_how_many_dimensions_all_have(tmp_path: Path) -> None:
    await saved(tmp_path / "index")
    async with index_of() as index:
        index.add(HERE, key(1), vector(1, dimensions=8))
        with pytest.raises(ValueError, match="shape"):
            index.add(HERE, key(2), vector(2))
    async with index_of() as index:
        await index.load(tmp_path / "index", IDENTITY, is_wanted=everyone)
        with pytest.raises(ValueError, match="shape"):
            await index.search(HERE, vector(1, dimensions=8), 1)


async def test_what_is_added_to_a_full_queue_is_left_out() -> None:
    async with index_of(max_waiting=0) as index:
        index.add(HERE, key(1), vector(1))
        assert await index.search(HERE, vector(1), 1) == []
        assert len(index) == 0


async def test_a_replacement_that_is_left_out_still_ends_what_it_replaces() -> None:
    async with index_of(max_waiting=1) as index:
        index.add(HERE, key(1), vector(1))
        assert keys(await index.search(HERE, vector(1), 1)) == [key(1)]
        may_go_on = threading.Event()
        index._jobs.put(may_go_on.wait)
        index.discard(HERE, key(2))  # waits
        index.add(HERE, key(1), vector(2))
        may_go_on.set()
        assert await index.search(HERE, vector(1), 1) == []


async def test_what_is_asked_of_a_closed_index_says_so() -> None:
    async with index_of() as index:
        index.add(HERE, key(1), vector(1))
        waiting = asyncio.gather(index.search(HERE, vector(1), 1))
        await asyncio.sleep(0)
        await index.close()
        assert [keys(found) for found in await waiting] == [[key(1)]]
        with pytest.raises(NotCompared, match=Uncompared.BROKEN):
            await index.search(HERE, vector(1), 1)
        index.add(HERE, key(2), vector(2))
        index.discard(HERE, key(1))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_nobody_waits_for_a_thread_that_has_died() -> None:
    async with index_of() as index:
        index.add(["not hashable"], key(1), vector(1))  # type: ignore[arg-type] # a broken caller
        asked = [index.search(HERE, vector(1), 1) for _ in range(3)]
        async with asyncio.timeout(DEADLINE):
            ends = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(end) for end in ends] == [NotCompared] * 3


async def test_the_loop_goes_on_while_a_large_partition_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_search = threading.Event()
    async with index_of(scan_below=10_000) as index:
        search = index._partitions.search

        def held(partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
            assert may_search.wait(DEADLINE), "the loop stands still meanwhile"
            return search(partition, vector, limit)

        monkeypatch.setattr(index._partitions, "search", held)
        rng = np.random.default_rng(0)
        vectors = [unit(row) for row in rng.standard_normal((5000, 64))]
        for number, one in enumerate(vectors):
            index.add(HERE, key(number), one)
        searches = asyncio.gather(*(index.search(HERE, one, 3) for one in vectors[:300]))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not searches.done()
        may_search.set()
        found = await searches
        assert [near[0].key for near in found] == [key(number) for number in range(300)]


async def finished(index: PartitionedIndex) -> None:
    """Wait until nothing is left that could wait."""
    async with asyncio.timeout(DEADLINE):
        while await index._ask(lambda: index._partitions.has_work):
            pass  # each turn lets the thread do a little


async def test_the_bound_is_crossed_both_ways_while_many_use_it() -> None:
    async def use(number: int) -> None:
        mine = range(1000 * number, 1000 * number + 150)
        for one in mine:
            index.add(HERE, key(one), vector(one))
            assert keys(await index.search(HERE, vector(one), 1)) == [key(one)]
        for one in mine[10:]:
            index.discard(HERE, key(one))
            assert key(one) not in keys(await index.search(HERE, vector(one), 3))
        for one in mine[:10]:
            assert keys(await index.search(HERE, vector(one), 1)) == [key(one)]

    async with index_of(scan_below=200) as index:
        await asyncio.gather(*map(use, range(8)))
        assert await index.counts() == {HERE: 80}
        await finished(index)
        for one in range(10):
            assert keys(await index.search(HERE, vector(one), 1)) == [key(one)]


async def test_a_graph_is_built_though_searches_never_pause() -> None:
    async with index_of(scan_below=200) as index:
        for number in range(600):
            index.add(HERE, key(number), vector(number))
        async with asyncio.timeout(DEADLINE):
            while await index._ask(lambda: index._partitions.has_work):
                await asyncio.gather(*(index.search(HERE, vector(one), 1) for one in range(50)))
        for number in range(600):
            assert keys(await index.search(HERE, vector(number), 1)) == [key(number)]


async def test_without_hnswlib_a_large_partition_is_compared_whole_and_told_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_graph, "hnswlib", None)
    log = Lines()
    async with index_of(scan_below=100, log=log) as index:
        for number in range(400):
            index.add(HERE if number % 2 else THERE, key(number), vector(number))
        for number in range(400):
            found = await index.search(HERE if number % 2 else THERE, vector(number), 1)
            assert keys(found) == [key(number)]
    told = "warning: large partition compared whole ['entries', 'missing', 'scan_below']"
    assert log.events == [told]


async def test_with_hnswlib_a_large_partition_is_no_news() -> None:
    log = Lines()
    async with index_of(scan_below=10, log=log) as index:
        for number in range(40):
            index.add(HERE, key(number), vector(number))
        await finished(index)
    assert log.events == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 11), st.integers(0, 1), st.integers(0, 20)),
        st.tuples(st.just("discard"), st.integers(0, 11), st.just(0), st.just(0)),
        st.tuples(st.just("search"), st.integers(1, 14), st.integers(0, 1), st.integers(0, 20)),
        st.tuples(st.just("reload"), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=40,
)


class Beside:
    """An index, and the dictionary that it must equal."""

    def __init__(self, path: Path) -> None:
        self.index = PartitionedIndex(scan_below=4, log=Lines())
        self.model: dict[bytes, tuple[bytes, Vector]] = {}
        self.path = path

    async def step(self, action: str, number: int, partition: int, direction: int) -> None:
        where, one = (HERE, THERE)[partition], vector(direction)
        match action:
            case "add":
                self.index.add(where, key(number), one)
                self.model[key(number)] = (where, one)
            case "discard":
                self.index.discard(HERE, key(number))
                self.model.pop(key(number), None)
            case "reload":
                await self.index.save(self.path, IDENTITY)
                await self.index.close()
                self.index = PartitionedIndex(scan_below=4, log=Lines())
                await self.index.load(self.path, IDENTITY, is_wanted=everyone)
            case _:
                await self.compare(where, one, number)

    async def compare(self, where: bytes, asked: Vector, limit: int) -> None:
        found = await self.index.search(where, asked, limit)
        assert len(self.index) == len(self.model)
        there = {one: float(v @ asked) for one, (at, v) in self.model.items() if at == where}
        assert len(set(keys(found))) == len(found) == min(limit, len(there))
        best = sorted(there.values(), reverse=True)[:limit]
        assert [near.similarity for near in found] == pytest.approx(best, abs=1e-5)
        for near in found:
            assert near.similarity == pytest.approx(there[near.key], abs=1e-5)


@settings(max_examples=60)
@given(STEPS)
async def test_it_behaves_like_a_dictionary_that_is_compared_whole(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]]
) -> None:
    beside = Beside(tmp_path_factory.getbasetemp() / "index")
    try:
        for step in steps:
            await beside.step(*step)
        await beside.compare(HERE, vector(0), 12)
    finally:
        await beside.index.close()
