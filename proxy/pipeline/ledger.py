"""Changes on their way: ours to the journals, and those of others into this process (design 8)."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Protocol, assert_never

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
from proxy.core.cache.purges import MAX_PURGES, Effect, Purges
from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse
from proxy.core.meaning.negatives import MAX_PAIRS
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import MAX_ALIASES, Alias, Aliases
from proxy.pipeline.feedback import Feedback
from proxy.pipeline.purge import purge
from proxy.ports import Clock, Journal, Store, TakeIn

SLICE_SECONDS = 0.001
"""How long taking in keeps the event loop at a time."""
SLICE_CHANGES = 256
LEARNT_AT_ONCE = 64
"""A thread takes in what was learnt: the way there and back costs more than an entry."""
MAX_DELETED = 65536
MAX_UNLEARNT = 4096
"""What is learnt while nothing can be compared yet; more has to wait."""


class Learner(Protocol):
    """What finds answers by meaning (pipeline/meaning.py)."""

    async def adopt(self, learnt: Sequence[Learnt]) -> None:
        """Take in what others have learnt of entries that are here."""

    async def learnt(self, keys: Sequence[bytes]) -> Sequence[Learnt]:
        """What is known of some entries, for others to take in."""


class Ledger:
    """Tells the journals what changes here, and takes in what they tell."""

    def __init__(
        self,
        *,
        store: Store,
        aliases: Aliases,
        feedback: Feedback,
        acceptance: Acceptance,
        on_purged: Callable[[Purged], None],
        on_renewed: Callable[[Renewed], None],
        clock: Clock,
    ) -> None:
        """`store` is the one in memory itself: what is taken in is not told again.

        `on_purged` and `on_renewed` are told of what others have purged and renewed.
        """
        self.purges = Purges()
        self.judge = b""
        """The digest of what decides by meaning now; aliases that another one made do not count."""
        self._store = store
        self._aliases = aliases
        self._feedback = feedback
        self._acceptance = acceptance
        self._on_purged = on_purged
        self._on_renewed = on_renewed
        self._clock = clock
        self._journals: list[Journal] = []
        self._rejected: OrderedDict[bytes, Rejected] = OrderedDict()
        """What was said to be wrong, by its key."""
        self.doubted: dict[bytes, None] = {}
        """Keys whose answer was said to be wrong, and was not asked for since: an upstream that is
        a cache too may still have it."""
        self._deleted: OrderedDict[bytes, float] = OrderedDict()
        """When what was stored under a key was forgotten: an older answer may still be on its way
        from elsewhere."""
        self._renewed: dict[str, Renewed] = {}
        self._learner: Learner | None = None
        self._can_learn = asyncio.Event()
        self._unlearnt: list[Learnt] = []
        self._unjudged: deque[Aliased] = deque(maxlen=MAX_ALIASES)

    def keep_in(self, journals: Sequence[Journal]) -> None:
        """The journals, the nearest first: what one tells is kept in those before it too."""
        self._journals = list(journals)

    def note(self, change: Change) -> None:
        """Something has changed here. Never blocks."""
        match change:
            case Rejected():
                self._note_rejected(change)
            case Deleted(key, at):
                self._note_deleted(key, at)
            case Renewed(model):
                self._renewed[model] = change
            case _:
                pass  # others hold it
        for journal in self._journals:
            journal.append(change)

    async def learn_by(self, learner: Learner) -> None:
        """From now on, what others have learnt goes there."""
        self._learner = learner
        self._can_learn.set()
        while self._unjudged:
            self._take_alias(self._unjudged.popleft())
        waiting, self._unlearnt = self._unlearnt, []
        await learner.adopt(waiting)

    def learn_nothing(self) -> None:
        """Nothing is compared here: what others have learnt is let go."""
        self._can_learn.set()
        self._unlearnt = []
        self._unjudged.clear()

    def taking_in(self, journal: Journal) -> TakeIn:
        """What a journal hands its changes to."""
        nearer = self._journals[: self._journals.index(journal)]

        async def take_in(changes: Sequence[Change]) -> None:
            await self._take_in(changes)
            for one in nearer:
                for change in changes:
                    one.append(change)

        return take_in

    async def purge(self, selector: Selector, *, soft: bool, by: str = "") -> int:
        """Take out what a selector names, here and everywhere; how many were stored here."""
        # Before a clock that is ahead of ours: what is here is meant, whoever stored it.
        latest = max((stored.created for stored in self._store.scan()), default=0.0)
        purged = Purged(selector, soft, max(self._clock.now(), latest), by)
        self.purges.add(purged)
        self.note(purged)
        return await purge(self._store, selector, soft=soft)

    def admit(self, stored: StoredResponse) -> bool:
        """Keep an answer that another process has stored; False where it is not to be served."""
        there = self._store.peek(stored.key)
        if there is not None and there.created >= stored.created:
            return True  # its journal was faster, or something fresher has come
        effect = self.purges.effect(stored)
        is_deleted = stored.created <= self._deleted.get(stored.key, float("-inf"))
        if is_deleted or effect is Effect.GONE:
            return False
        if effect is Effect.STALE:
            stored = replace(stored, ttl=0.0)
        return self._store.put(stored)

    async def take_over(self, changes: Sequence[Change]) -> None:
        """Take in what was exported elsewhere, and tell the journals as of changes made here."""
        self._acceptance.has_past = True
        await self._take_in(changes)
        for change in changes:
            self.note(change)

    async def everything(self) -> AsyncIterator[Sequence[Change]]:
        """All that is known here, in slices, for a journal that has lost what it had."""
        yield [*self._renewed.values(), *self.purges.latest(MAX_PURGES)]
        yield [*self._rejected.values(), *self._acceptance.barred()]
        now = self._clock.now()
        aliases = self._aliases.items()
        entries = list(self._store.scan())
        for first in range(0, len(aliases), SLICE_CHANGES):
            yield [
                Aliased(key, *alias, judge=self.judge, at=now)
                for key, alias in aliases[first : first + SLICE_CHANGES]
            ]
        for first in range(0, len(entries), SLICE_CHANGES):
            # What has gone meanwhile was told of.
            present = [
                stored
                for stored in entries[first : first + SLICE_CHANGES]
                if self._store.peek(stored.key) is stored
            ]
            yield [Put(stored) for stored in present]
            if self._learner is not None:
                yield await self._learner.learnt([stored.key for stored in present])

    async def _take_in(self, changes: Sequence[Change]) -> None:
        learnt: list[Learnt] = []
        end = self._clock.monotonic() + SLICE_SECONDS
        for change in changes:
            if isinstance(change, Learnt):
                learnt.append(change)
                continue
            if learnt and not (isinstance(change, Put) and len(learnt) < LEARNT_AT_ONCE):
                await self._learn(learnt)
                learnt = []
            if isinstance(change, Purged):
                await self._purged(change)
            else:
                self._take(change)
            if self._clock.monotonic() >= end:
                await asyncio.sleep(0)
                end = self._clock.monotonic() + SLICE_SECONDS
        if learnt:
            await self._learn(learnt)

    def _take(self, change: Put | Deleted | Aliased | Rejected | Renewed | Barred) -> None:
        match change:
            case Put(stored, followed):
                self._aliases.follow(followed, stored.key)
                self.admit(stored)
            case Deleted(key, at):
                self._note_deleted(key, at)
                there = self._store.peek(key)
                if there is not None and there.created <= at:
                    self._store.delete(key)
            case Aliased():
                self._take_alias(change)
            case Rejected():
                self._note_rejected(change)
                self._feedback.heard_elsewhere(change)
            case Barred():
                self._acceptance.take_in(change)
            case Renewed():
                known = self._renewed.get(change.model)
                if known is None or known.at < change.at:
                    self._renewed[change.model] = change
                    self._on_renewed(change)
            case _:
                assert_never(change)

    def _take_alias(self, change: Aliased) -> None:
        if not (self.judge or self._can_learn.is_set()):
            self._unjudged.append(change)  # who judges here is not known yet
            return
        rejected = self._rejected.get(change.target)
        is_taken_back = rejected is not None and change.at <= rejected.at
        if change.judge == self.judge and not is_taken_back:
            alias = Alias(change.target, change.similarity, change.asked, change.answer)
            self._aliases.put(change.key, alias)

    def _note_deleted(self, key: bytes, at: float) -> None:
        self._deleted[key] = max(at, self._deleted.get(key, at))
        self._deleted.move_to_end(key)
        if len(self._deleted) > MAX_DELETED:
            self._deleted.popitem(last=False)

    def _note_rejected(self, rejected: Rejected) -> None:
        self._note_deleted(rejected.key, rejected.at)
        self.doubted[rejected.key] = None
        if len(self.doubted) > MAX_PAIRS:
            del self.doubted[next(iter(self.doubted))]
        known = self._rejected.pop(rejected.key, None)
        if known is not None:
            pairs = tuple(dict.fromkeys((*known.pairs, *rejected.pairs)))
            rejected = Rejected(rejected.key, max(known.at, rejected.at), pairs)
        self._rejected[rejected.key] = rejected
        if len(self._rejected) > MAX_PAIRS:
            self._rejected.popitem(last=False)

    async def _purged(self, purged: Purged) -> None:
        if self.purges.add(purged):
            self._on_purged(purged)
            await purge(self._store, purged.selector, soft=purged.soft, until=purged.at)

    async def _learn(self, learnt: list[Learnt]) -> None:
        if not self._can_learn.is_set() and len(self._unlearnt) < MAX_UNLEARNT:
            # The libraries that compare are still loading: nobody need wait for that.
            self._unlearnt += learnt
            return
        await self._can_learn.wait()
        if self._learner is not None:
            waiting, self._unlearnt = self._unlearnt, []
            await self._learner.adopt([*waiting, *learnt])
