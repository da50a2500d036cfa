"""What every VectorIndex must do. An adapter's test file subclasses it and says how one is made."""

import asyncio
from contextlib import AbstractAsyncContextManager

import numpy as np
import pytest

from proxy.ports import Neighbour, Vector, VectorIndex

DIMENSIONS = 16
HERE, THERE = b"h" * 32, b"t" * 32
"""Two partitions."""


def key(number: int) -> bytes:
    """The exact key of a number."""
    return number.to_bytes(32, "big")


def vector(number: int, *, dimensions: int = DIMENSIONS) -> Vector:
    """A direction of its own for every number."""
    return unit(np.random.default_rng(number).standard_normal(dimensions))


def unit(direction: np.typing.ArrayLike) -> Vector:
    """The vector of length 1 in a direction."""
    array = np.asarray(direction, np.float64)
    return (array / np.linalg.norm(array)).astype(np.float32)


def between(one: Vector, other: Vector, share: float) -> Vector:
    """A vector on the way from one to the other."""
    return unit((1 - share) * one + share * other)


def keys(found: list[Neighbour]) -> list[bytes]:
    """What was found, in its order."""
    return [near.key for near in found]


class VectorIndexContract:
    """The VectorIndex port's suite."""

    similarity_tolerance = 1e-5
    """An engine that keeps vectors in fewer bits says so."""

    def make(self) -> AbstractAsyncContextManager[VectorIndex]:
        """An empty index of DIMENSIONS."""
        raise NotImplementedError

    async def settle(self, index: VectorIndex) -> None:
        """Wait until all that was changed can be seen, where that is not at once."""

    async def test_an_empty_index_finds_nothing(self) -> None:
        async with self.make() as index:
            assert await index.search(HERE, vector(1), 5) == []
            assert await index.search_all(vector(1), 5) == []
            assert len(index) == 0

    async def test_what_was_added_is_found(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            await self.settle(index)
            (found,) = await index.search(HERE, vector(1), 5)
            assert found.key == key(1)
            assert found.similarity == pytest.approx(1.0, abs=self.similarity_tolerance)
            assert len(index) == 1

    async def test_the_nearest_comes_first_and_the_similarity_is_the_cosine(self) -> None:
        asked, other = vector(1), vector(2)
        async with self.make() as index:
            for number, share in ((3, 0.6), (1, 0.1), (2, 0.3)):
                index.add(HERE, key(number), between(asked, other, share))
            await self.settle(index)
            found = await index.search(HERE, asked, 5)
            assert keys(found) == [key(1), key(2), key(3)]
            for near, share in zip(found, (0.1, 0.3, 0.6), strict=True):
                cosine = float(asked @ between(asked, other, share))
                assert near.similarity == pytest.approx(cosine, abs=self.similarity_tolerance)

    async def test_opposite_vectors_are_found_with_a_negative_similarity(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), -vector(1))
            await self.settle(index)
            (found,) = await index.search(HERE, vector(1), 1)
            assert found.similarity == pytest.approx(-1.0, abs=self.similarity_tolerance)

    async def test_no_more_are_found_than_were_asked_for(self) -> None:
        async with self.make() as index:
            for number in range(9):
                index.add(HERE, key(number), vector(number))
            await self.settle(index)
            assert len(await index.search(HERE, vector(1), 4)) == 4
            assert len(await index.search_all(vector(1), 4)) == 4
            assert len(await index.search(HERE, vector(1), 100)) == 9

    async def test_partitions_do_not_see_each_other(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(THERE, key(2), vector(1))
            await self.settle(index)
            assert keys(await index.search(HERE, vector(1), 5)) == [key(1)]
            assert keys(await index.search(THERE, vector(1), 5)) == [key(2)]
            assert await index.search(b"n" * 32, vector(1), 5) == []

    async def test_all_partitions_can_be_searched_together(self) -> None:
        asked, other = vector(1), vector(2)
        async with self.make() as index:
            index.add(HERE, key(1), between(asked, other, 0.5))
            index.add(THERE, key(2), between(asked, other, 0.2))
            index.add(HERE, key(3), between(asked, other, 0.1))
            await self.settle(index)
            assert keys(await index.search_all(asked, 2)) == [key(3), key(2)]

    async def test_many_are_taken_in_at_once_and_those_that_are_here_stay(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            await self.settle(index)
            numbers = [1, 2, 3]
            vectors = np.stack([vector(10 * number) for number in numbers])
            await index.take_in(HERE, [key(number) for number in numbers], vectors)
            await self.settle(index)
            assert keys(await index.search(HERE, vector(30), 1)) == [key(3)]
            assert keys(await index.search(HERE, vector(1), 1)) == [key(1)]
            assert len(index) == 3

    async def test_vectors_are_told_of_those_that_are_here(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(HERE, key(2), vector(2))
            await self.settle(index)
            found = await index.vectors(HERE, [key(2), key(3), key(1)])
            assert set(found) == {key(1), key(2)}
            assert float(found[key(2)] @ vector(2)) == pytest.approx(1.0, abs=1e-3)

    async def test_what_was_discarded_is_not_found(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(HERE, key(2), vector(2))
            await self.settle(index)
            index.discard(HERE, key(1))
            assert keys(await index.search(HERE, vector(1), 5)) == [key(2)]
            assert keys(await index.search_all(vector(1), 5)) == [key(2)]
            await self.settle(index)
            assert len(index) == 1

    async def test_discarding_the_unknown_changes_nothing(self) -> None:
        async with self.make() as index:
            index.discard(HERE, key(1))
            index.add(HERE, key(2), vector(2))
            index.discard(HERE, key(1))
            await self.settle(index)
            assert keys(await index.search(HERE, vector(2), 5)) == [key(2)]

    async def test_a_later_vector_takes_the_place_of_an_earlier_one(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(HERE, key(1), vector(2))
            await self.settle(index)
            (found,) = await index.search(HERE, vector(2), 5)
            assert found.similarity == pytest.approx(1.0, abs=self.similarity_tolerance)
            assert len(index) == 1

    async def test_an_entry_can_move_to_another_partition(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(THERE, key(1), vector(1))
            await self.settle(index)
            assert await index.search(HERE, vector(1), 5) == []
            assert keys(await index.search(THERE, vector(1), 5)) == [key(1)]
            assert len(index) == 1

    async def test_a_search_on_its_way_does_not_return_what_is_discarded_meanwhile(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            index.add(HERE, key(2), vector(2))
            await self.settle(index)
            search = asyncio.gather(index.search(HERE, vector(1), 5))
            await asyncio.sleep(0)
            index.discard(HERE, key(1))
            assert [keys(found) for found in await search] == [[key(2)]]

    async def test_a_cancelled_search_leaves_the_index_as_it_was(self) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            await self.settle(index)
            search = asyncio.gather(*(index.search(HERE, vector(1), 5) for _ in range(9)))
            await asyncio.sleep(0)
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search
            assert keys(await index.search(HERE, vector(1), 5)) == [key(1)]

    @pytest.mark.parametrize(
        "bad",
        [
            np.zeros(DIMENSIONS, np.float32),
            np.full(DIMENSIONS, np.nan, np.float32),
            np.full(DIMENSIONS, np.inf, np.float32),
            np.ones(DIMENSIONS, np.float32),
            vector(1)[:-1],
            np.stack([vector(1)]),
        ],
        ids=["zero", "nan", "infinite", "too long", "too few dimensions", "two axes"],
    )
    async def test_what_is_no_vector_of_length_1_is_refused(self, bad: Vector) -> None:
        async with self.make() as index:
            index.add(HERE, key(1), vector(1))
            with pytest.raises(ValueError, match="vector"):
                index.add(HERE, key(1), bad)
            with pytest.raises(ValueError, match="vector"):
                await index.search(HERE, bad, 1)
            with pytest.raises(ValueError, match="vector"):
                await index.search_all(bad, 1)
            await self.settle(index)
            assert keys(await index.search(HERE, vector(1), 1)) == [key(1)]

    async def test_the_vector_may_be_changed_after_it_was_added(self) -> None:
        async with self.make() as index:
            mine = vector(1)
            index.add(HERE, key(1), mine)
            mine[:] = vector(2)
            await self.settle(index)
            (found,) = await index.search(HERE, vector(1), 1)
            assert found.similarity == pytest.approx(1.0, abs=self.similarity_tolerance)

    async def test_many_tasks_use_it_at_once(self) -> None:
        async def use(number: int) -> None:
            partition = (HERE, THERE)[number % 2]
            for turn in range(10):
                mine = 1000 * number + turn
                index.add(partition, key(mine), vector(mine))
                await self.settle(index)
                found = await index.search(partition, vector(mine), 3)
                assert found[0].key == key(mine)
                assert {int.from_bytes(one, "big") // 1000 % 2 for one in keys(found)} == {
                    number % 2
                }
                if turn % 2:
                    index.discard(partition, key(mine))
                    assert key(mine) not in keys(await index.search(partition, vector(mine), 3))

        async with self.make() as index:
            await asyncio.gather(*map(use, range(20)))
            await self.settle(index)
            assert len(index) == 100
