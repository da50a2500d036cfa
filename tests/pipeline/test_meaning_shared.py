"""Looking by meaning in an index that several processes have in common."""

from collections.abc import Sequence

import pytest

from proxy.core.cache.change import Change, Learnt
from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse
from proxy.pipeline.purge import purge
from tests.fakes.semantic import FakeIndex, vector_of
from tests.pipeline.level import ASKED, OTHER, STORED, Level, near

PENGUINS = "Where do penguins live?"


class Replicas:
    """Two levels over one index, and what they told a journal."""

    def __init__(self) -> None:
        self.index = FakeIndex(is_shared=True)
        self.stored: dict[bytes, StoredResponse] = {}
        self.learnt: dict[bytes, Learnt] = {}
        self.asked: list[bytes] = []
        """What was to be brought in."""
        self.one = Level(index=self.index, max_entries=2)
        self.other = Level(index=self.index, max_entries=2, recall=self.recall)
        self.one.note = self.note

    def note(self, change: Change) -> None:
        if isinstance(change, Learnt):
            self.learnt[change.key] = change

    async def know(self, text: str) -> StoredResponse:
        """Let the one store an answer."""
        stored = await self.one.know(near(text))
        self.stored[stored.key] = stored
        return stored

    async def recall(self, keys: Sequence[bytes]) -> list[bytes]:
        """Bring in for the other what the journal has."""
        self.asked += keys
        for key in keys:
            if key in self.stored:
                self.other.store.put(self.stored[key])
                await self.other.meaning.adopt([self.learnt[key]])
        return [key for key in keys if key not in self.stored]


@pytest.fixture
async def replicas() -> Replicas:
    return Replicas()


async def test_what_another_has_stored_is_brought_in_and_served(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    assert await replicas.other.finds(near(ASKED)) == stored.key
    assert replicas.asked == [stored.key]
    assert await replicas.other.finds(near(f"So, {ASKED}")) == stored.key
    assert replicas.asked == [stored.key]


async def test_an_explanation_brings_it_in_too(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    explanation = await replicas.other.meaning.explain(near(ASKED))
    assert [finding.candidate.key for finding in explanation.findings] == [stored.key]


async def test_what_memory_has_no_room_for_is_found_again(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    assert await replicas.other.finds(near(ASKED)) == stored.key
    for text in (OTHER, PENGUINS):
        await replicas.other.know(near(text))
    assert replicas.other.store.peek(stored.key) is None
    assert await replicas.other.finds(near(f"So, {ASKED}")) == stored.key


async def test_what_was_purged_is_taken_out_for_all(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    assert await purge(replicas.one.store, Selector(model="m1"), soft=False) == 1
    assert len(replicas.index) == 0
    assert await replicas.other.why(near(ASKED)) == "absent"
    assert replicas.asked == []
    assert stored.key not in replicas.other.meaning._known


async def test_what_nobody_has_any_more_is_taken_out(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    del replicas.stored[stored.key]
    assert await replicas.other.why(near(ASKED)) == "absent"
    assert len(replicas.index) == 0


async def test_what_has_expired_here_may_have_been_prolonged_elsewhere(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    assert await replicas.other.finds(near(ASKED)) == stored.key
    for level in (replicas.one, replicas.other):
        level.clock.advance(900.0)
    later = await replicas.know(STORED)
    for level in (replicas.one, replicas.other):
        level.clock.advance(900.0)
    assert replicas.index.ends[stored.key] == later.created + 1000.0
    assert await replicas.other.finds(near(f"So, {ASKED}")) == stored.key
    assert replicas.asked == [stored.key, stored.key]


async def test_what_was_asked_again_is_put_back_where_redis_has_lost_it(replicas: Replicas) -> None:
    stored = await replicas.know(STORED)
    replicas.index.discard(near(STORED).key.history, stored.key)
    assert await replicas.one.why(near(STORED)) == "absent"
    await replicas.know(STORED)
    assert await replicas.other.finds(near(ASKED)) == stored.key


async def test_vectors_that_were_lost_are_made_anew_when_everything_is_told(
    replicas: Replicas,
) -> None:
    stored = await replicas.know(STORED)
    told = replicas.learnt.pop(stored.key)
    replicas.index.discard(near(STORED).key.history, stored.key)
    assert await replicas.one.meaning.learnt([stored.key]) == []
    await replicas.one.settled()
    assert replicas.learnt == {stored.key: told}
    assert await replicas.other.finds(near(ASKED)) == stored.key
    assert await replicas.one.meaning.learnt([stored.key]) == [told]


async def test_an_entry_of_another_partition_is_not_served_whatever_the_index_says(
    replicas: Replicas,
) -> None:
    tenant = ("Authorization", "Bearer somebody")
    stored = await replicas.one.know(near(STORED, tenant))
    replicas.stored[stored.key] = stored
    # As if somebody had written it there.
    replicas.index.add(near(ASKED).key.history, stored.key, vector_of(ASKED))
    assert await replicas.other.why(near(ASKED)) == "absent"
    assert replicas.asked == [stored.key]
    assert (await replicas.other.meaning.explain(near(ASKED))).findings == ()
