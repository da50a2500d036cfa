"""Changes go to the journals, and those of others are taken in, whatever their order."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from proxy.core.cache.change import (
    Aliased,
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.core.cache.selector import Selector
from proxy.core.meaning.negatives import Negatives
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.feedback import Feedback
from proxy.pipeline.ledger import Ledger
from proxy.ports import TakeIn
from proxy.store.memory import MemoryStore
from tests.core.values import NOW, stored_response
from tests.fakes.clock import FakeClock

KEY, OTHER = b"k" * 32, b"o" * 32
ALIASED = Aliased(OTHER, KEY, 0.9, b"a" * 16, b"b" * 16, judge=b"judge", at=NOW)
LEARNT = Learnt(KEY, b"s" * 32, b"t" * 32, b"h" * 32, "Q", NOW + 100, "encoder", bytes(8))


class Journal:
    """Only takes down what it is told; fulfils proxy.ports.Journal."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def append(self, change: Change) -> None:
        self.changes.append(change)

    async def start(self, take_in: TakeIn) -> None:
        """Nothing was kept."""

    async def close(self) -> None:
        """Nothing waits."""


class Learner:
    """Takes down what it is to learn."""

    def __init__(self) -> None:
        self.taken: list[Learnt] = []

    async def adopt(self, learnt: Sequence[Learnt]) -> None:
        self.taken += learnt

    async def learnt(self, keys: Sequence[bytes]) -> list[Learnt]:
        return [one for one in self.taken if one.key in keys]


class Scene:
    """A ledger with two journals, the nearer one first."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.store = MemoryStore(max_bytes=1 << 20, max_entries=1000, max_entry_bytes=1 << 16)
        self.aliases = Aliases()
        self.negatives = Negatives()
        self.acceptance = Acceptance(self.clock)
        self.purged: list[Purged] = []
        self.renewed: list[Renewed] = []
        self.ledger = Ledger(
            store=self.store,
            aliases=self.aliases,
            feedback=Feedback(
                store=self.store,
                aliases=self.aliases,
                negatives=self.negatives,
                clock=self.clock,
                on_opinion=lambda opinion, level: None,
            ),
            acceptance=self.acceptance,
            on_purged=self.purged.append,
            on_renewed=self.renewed.append,
            clock=self.clock,
        )
        self.ledger.judge = b"judge"
        self.near, self.far = Journal(), Journal()
        self.ledger.keep_in([self.near, self.far])
        self.learner = Learner()

    async def hear(self, *changes: Change, of: Journal | None = None) -> None:
        """Take in what a journal tells, the farther one unless told otherwise."""
        await self.ledger.taking_in(of or self.far)(changes)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_what_changes_here_is_told_to_all_journals(scene: Scene) -> None:
    change = Deleted(KEY, NOW)
    scene.ledger.note(change)
    assert scene.near.changes == scene.far.changes == [change]


async def test_what_a_far_journal_tells_is_kept_nearer_too(scene: Scene) -> None:
    put = Put(stored_response())
    await scene.hear(put)
    assert (scene.near.changes, scene.far.changes) == ([put], [])
    await scene.hear(put, of=scene.near)
    assert (scene.near.changes, scene.far.changes) == ([put], [])


async def test_the_later_answer_stays(scene: Scene) -> None:
    earlier, later = stored_response(created=NOW - 5), stored_response(created=NOW - 1)
    await scene.hear(Put(later), Put(earlier), Put(replace(later)))
    assert scene.store.peek(KEY) is later


async def test_what_was_deleted_goes_unless_it_is_later(scene: Scene) -> None:
    await scene.hear(Put(stored_response(created=NOW - 5)), Deleted(KEY, NOW - 5))
    assert scene.store.peek(KEY) is None
    later = stored_response(created=NOW)
    await scene.hear(Put(later), Deleted(KEY, NOW - 1), Deleted(OTHER, NOW))
    assert scene.store.peek(KEY) is later
    assert scene.far.changes == []


async def test_a_purge_of_others_is_made_here_once(scene: Scene) -> None:
    selector = Selector(tag="a")
    scene.store.put(stored_response(tags=("a",), created=NOW - 1))
    scene.store.put(stored_response(key=OTHER, tags=("a",), created=NOW + 1))
    purged = Purged(selector, soft=False, at=NOW)
    await scene.hear(purged, purged)
    assert scene.store.peek(KEY) is None
    assert scene.store.peek(OTHER) is not None
    assert scene.purged == [purged]


async def test_what_was_purged_does_not_come_back(scene: Scene) -> None:
    await scene.ledger.purge(Selector(tag="a"), soft=False, by="me")
    await scene.ledger.purge(Selector(tag="b"), soft=True)
    (gone, stale) = scene.far.changes
    assert gone == Purged(Selector(tag="a"), soft=False, at=NOW, by="me")
    await scene.hear(Put(stored_response(tags=("a",), created=NOW - 1)))
    assert scene.store.peek(KEY) is None
    await scene.hear(Put(stored_response(tags=("b",), created=NOW - 1)))
    found = scene.store.peek(KEY)
    assert found is not None
    assert found.ttl == 0.0
    assert stale == Purged(Selector(tag="b"), soft=True, at=NOW)


async def test_a_purge_covers_what_a_clock_that_is_ahead_has_stored(scene: Scene) -> None:
    scene.store.put(stored_response(created=NOW + 30, tags=("a",)))
    assert await scene.ledger.purge(Selector(tag="a"), soft=False) == 1
    (purged,) = scene.far.changes
    assert isinstance(purged, Purged)
    assert purged.at == NOW + 30


async def test_aliases_of_the_same_judge_are_taken_in(scene: Scene) -> None:
    await scene.hear(ALIASED, replace(ALIASED, key=b"x" * 32, judge=b"another"))
    assert scene.aliases.get(OTHER) == Alias(KEY, 0.9, b"a" * 16, b"b" * 16)
    assert len(scene.aliases) == 1


async def test_aliases_wait_until_it_is_known_who_judges(scene: Scene) -> None:
    scene.ledger.judge = b""
    await scene.hear(ALIASED, replace(ALIASED, key=b"x" * 32, judge=b"another"))
    assert len(scene.aliases) == 0
    scene.ledger.judge = b"judge"
    await scene.ledger.learn_by(Learner())
    assert scene.aliases.get(OTHER) is not None
    assert len(scene.aliases) == 1


async def test_what_somebody_called_wrong_goes_with_all_that_was_answered_with_it(
    scene: Scene,
) -> None:
    follower = b"f" * 32
    await scene.hear(
        ALIASED,
        Put(stored_response(created=NOW - 1)),
        Put(stored_response(key=follower, created=NOW - 1), followed=(OTHER,)),
        Rejected(KEY, NOW, ((b"1" * 16, b"2" * 16),)),
    )
    assert list(scene.store.scan()) == []
    assert len(scene.aliases) == 0
    assert scene.negatives.has(b"2" * 16, b"1" * 16)


async def test_an_alias_from_before_it_was_called_wrong_does_not_come_back(scene: Scene) -> None:
    scene.ledger.note(Rejected(KEY, NOW, ()))
    await scene.hear(ALIASED)
    assert len(scene.aliases) == 0
    await scene.hear(replace(ALIASED, at=NOW + 1))
    assert len(scene.aliases) == 1


async def test_a_later_answer_outlives_an_earlier_rejection(scene: Scene) -> None:
    later = stored_response(created=NOW + 1)
    await scene.hear(Put(later), Rejected(KEY, NOW, ()))
    assert scene.store.peek(KEY) is later


async def test_epochs_are_told(scene: Scene) -> None:
    renewed = Renewed("m*", "2", NOW)
    await scene.hear(renewed)
    assert scene.renewed == [renewed]


async def test_what_is_learnt_waits_for_the_libraries_that_compare(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.pipeline.ledger.MAX_UNLEARNT", 1)
    await scene.hear(Put(stored_response()), LEARNT)
    hearing = asyncio.gather(scene.hear(replace(LEARNT, text="later"), Deleted(OTHER, NOW)))
    await asyncio.sleep(0)
    assert scene.learner.taken == []
    assert not hearing.done()
    await scene.ledger.learn_by(scene.learner)
    async with asyncio.timeout(5):
        await hearing
    assert [learnt.text for learnt in scene.learner.taken] == ["Q", "later"]


async def test_where_nothing_is_compared_nothing_is_learnt(scene: Scene) -> None:
    scene.ledger.learn_nothing()
    async with asyncio.timeout(5):
        await scene.hear(LEARNT, Put(stored_response()))
    assert scene.store.peek(KEY) is not None


async def test_others_get_their_turn_while_much_is_taken_in(scene: Scene) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            scene.clock.advance(0.01)
            await asyncio.sleep(0)

    counting = asyncio.gather(count())
    await asyncio.sleep(0)
    scene.clock.advance(1.0)

    class Passing(FakeClock):
        def monotonic(self) -> float:
            self.advance(0.0004)
            return super().monotonic()

    scene.ledger._clock = Passing(NOW)
    await scene.hear(*(Deleted(OTHER, NOW) for _ in range(100)))
    counting.cancel()
    assert turns > 10


async def test_a_journal_that_has_lost_all_is_told_everything(scene: Scene) -> None:
    await scene.ledger.learn_by(scene.learner)
    entries = [
        Put(stored_response(key=bytes([number % 256, number // 256] * 16), created=NOW - 1))
        for number in range(600)
    ]
    put = Put(stored_response(created=NOW - 1))
    purged = Purged(Selector(tag="a"), soft=False, at=NOW - 5)
    rejected = Rejected(b"w" * 32, NOW - 3, ((b"1" * 16, b"2" * 16),))
    again = Rejected(b"w" * 32, NOW - 2, ((b"1" * 16, b"3" * 16),))
    renewed = Renewed("m*", "2", NOW - 5)
    barred = Barred(b"c" * 32, True, NOW - 1)
    await scene.hear(renewed, purged, rejected, again, barred, *entries, put, LEARNT, ALIASED)
    told = [
        change for part in [part async for part in scene.ledger.everything()] for change in part
    ]
    both = Rejected(b"w" * 32, NOW - 2, (*rejected.pairs, *again.pairs))
    assert told[:5] == [renewed, purged, both, barred, ALIASED]
    stored = {change.stored.key for change in told if isinstance(change, Put)}
    assert (len(stored), LEARNT in told) == (601, True)


async def test_the_last_epoch_of_a_model_counts(scene: Scene) -> None:
    renewed = Renewed("m*", "2", NOW)
    scene.ledger.note(renewed)
    await scene.hear(Renewed("m*", "1", NOW - 1))
    assert scene.renewed == []


async def test_whom_the_upstream_refuses_gets_nothing_anywhere(scene: Scene) -> None:
    await scene.hear(Barred(b"c" * 32, True, NOW))
    assert scene.acceptance.is_refused(b"c" * 32)


@pytest.mark.parametrize("change", [Deleted(KEY, NOW), Rejected(KEY, NOW, ())])
async def test_what_was_forgotten_does_not_come_back_from_elsewhere(
    scene: Scene, change: Change
) -> None:
    scene.ledger.note(change)
    assert not scene.ledger.admit(stored_response(created=NOW))
    await scene.hear(Put(stored_response(created=NOW - 1)))
    assert scene.store.peek(KEY) is None
    assert scene.ledger.admit(stored_response(created=NOW + 1))


async def test_what_others_have_forgotten_does_not_come_back_either(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.pipeline.ledger.MAX_DELETED", 1)
    await scene.hear(Deleted(KEY, NOW), Put(stored_response(created=NOW)))
    assert scene.store.peek(KEY) is None
    await scene.hear(Deleted(OTHER, NOW), Put(stored_response(created=NOW)))
    assert scene.store.peek(KEY) is not None
