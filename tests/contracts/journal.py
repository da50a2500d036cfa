"""What every Journal must do. An adapter's test file subclasses it and says how one is made."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from proxy.clock import SystemClock
from proxy.core.cache.change import Barred, Change, Deleted, Purged, Put, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.ports import Journal
from tests.store.changes import aliased, comparable, key, learnt, put

WITHIN = 1.0
"""Seconds in which a change reaches the others (design 8)."""
SLACK = 9.0
"""Seconds more that a crowded machine may take; the figures are of the benchmarks."""
PAIRS = ((b"a" * 16, b"b" * 16),)


class Heard:
    """A TakeIn that remembers what it was given, and lets a test wait for more."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._news = asyncio.Event()

    async def __call__(self, changes: Sequence[Change]) -> None:
        self.changes += changes
        self._news.set()
        await asyncio.sleep(0)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so. Fails after a deadline."""
        async with asyncio.timeout(WITHIN + SLACK):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def gets(self, *changes: Change) -> None:
        """Wait until all of these have come."""
        expected = [comparable(change) for change in changes]
        await self.until(lambda: all(one in self.values() for one in expected))

    def values(self) -> list[object]:
        """What has come, as values that can be compared."""
        return [comparable(change) for change in self.changes]

    def of(self, *changes: Change) -> list[object]:
        """Those of some changes that have come, in the order in which they came."""
        wanted = [comparable(change) for change in changes]
        return [value for value in self.values() if value in wanted]


class JournalContract:
    """The Journal port's suite."""

    def make(self) -> Journal:
        """A journal as a new process has it, on the same place as all others of this test.

        It is not started. Its clock is the machine's.
        """
        raise NotImplementedError

    @asynccontextmanager
    async def started(self) -> AsyncIterator[tuple[Journal, Heard]]:
        """A journal that has started, and what it has handed over."""
        journal, heard = self.make(), Heard()
        await journal.start(heard)
        try:
            yield journal, heard
        finally:
            await journal.close()

    async def kept(self) -> Heard:
        """What a new process is given when it starts."""
        async with self.started() as (_, heard):
            return heard

    async def test_a_new_one_has_nothing(self) -> None:
        assert (await self.kept()).changes == []

    async def test_what_one_changes_the_others_get_in_order(self) -> None:
        sent = every_kind()
        async with self.started() as (one, heard), self.started() as (_, other):
            for change in sent:
                one.append(change)
            await other.gets(*sent)
            assert other.of(*sent) == [comparable(change) for change in sent]
            assert heard.changes == []

    async def test_both_get_what_the_other_changes(self) -> None:
        async with (
            self.started() as (one, heard_by_one),
            self.started() as (other, heard_by_other),
        ):
            mine, yours = [recent(n) for n in range(20)], [recent(n) for n in range(20, 40)]
            for left, right in zip(mine, yours, strict=True):
                one.append(left)
                other.append(right)
            await heard_by_one.gets(*yours)
            await heard_by_other.gets(*mine)
            assert heard_by_one.of(*mine) == []
            assert heard_by_other.of(*yours) == []

    async def test_everything_is_there_after_a_restart(self) -> None:
        sent = every_kind()
        async with self.started() as (journal, _):
            for change in sent:
                journal.append(change)
        await (await self.kept()).gets(*sent)

    async def test_many_are_there_after_a_restart(self) -> None:
        sent = [change for n in range(300) for change in (recent(n), lasting(n))]
        async with self.started() as (journal, _):
            for change in sent:
                journal.append(change)
        heard = await self.kept()
        assert sorted(map(repr, heard.values())) == sorted(repr(comparable(one)) for one in sent)

    async def test_the_later_answer_counts(self) -> None:
        earlier, later = recent(1), recent(1, ago=5.0, body=b'{"later": 1}')
        async with self.started() as (one, _), self.started() as (_, other):
            one.append(earlier)
            one.append(later)
            await other.gets(later)
            one.append(earlier)
            one.append(last := recent(2))
            await other.gets(last)
        assert (await self.kept()).of(earlier, later) == [comparable(later)]

    async def test_what_is_changed_twice_is_there_once(self) -> None:
        sent = every_kind()
        async with self.started() as (journal, _):
            for change in (*sent, *sent):
                journal.append(change)
        values = (await self.kept()).values()
        for change in sent:
            assert values.count(comparable(change)) == 1

    async def test_what_was_deleted_stays_away(self) -> None:
        async with self.started() as (one, _), self.started() as (other, heard):
            one.append(gone := recent(1))
            one.append(lasting(1))
            one.append(deleted := Deleted(key(1), now()))
            await heard.gets(deleted)
            other.append(gone)  # it comes late
            one.append(later := recent(1, ago=-5.0))
            one.append(recent(2))
        assert (await self.kept()).of(gone, later, lasting(1)) == [comparable(later)]

    async def test_what_was_rejected_stays_away(self) -> None:
        async with self.started() as (one, _), self.started() as (other, heard):
            one.append(wrong := recent(1))
            one.append(rejected := Rejected(key(1), now(), PAIRS))
            await heard.gets(rejected)
            other.append(wrong)
            other.append(again := Rejected(key(1), now(), ((b"a" * 16, b"c" * 16),)))
        heard = await self.kept()
        assert heard.of(wrong) == []
        await heard.gets(rejected, again)

    async def test_what_was_purged_stays_away(self) -> None:
        async with self.started() as (one, _), self.started() as (other, heard):
            one.append(gone := recent(1, model="old"))
            one.append(stays := recent(2, model="new"))
            one.append(purged := Purged(Selector(model="o*"), soft=False, at=now()))
            await heard.gets(purged)
            other.append(gone)
            one.append(later := recent(3, model="old", ago=-5.0))
            await heard.gets(later)
        heard = await self.kept()
        await heard.gets(stays, later)
        assert heard.of(gone) == []

    async def test_a_soft_purge_makes_stale(self) -> None:
        async with self.started() as (one, _), self.started() as (_, heard):
            one.append(purged := recent(1, tags=("news",)))
            one.append(stays := recent(2))
            one.append(change := Purged(Selector(tag="news"), soft=True, at=now()))
            await heard.gets(change)
        heard = await self.kept()
        stale = replace(purged, stored=replace(purged.stored, ttl=0.0))
        await heard.gets(stays, stale)
        assert heard.of(purged) == []

    async def test_the_last_epoch_counts(self) -> None:
        async with self.started() as (journal, _):
            journal.append(first := Renewed("m*", "1", now()))
            journal.append(last := Renewed("m*", "2", now() + 1))
            journal.append(other := Renewed("n*", "1", now()))
        heard = await self.kept()
        await heard.gets(last, other)
        assert heard.of(first) == []

    async def test_whether_a_caller_is_refused_is_what_was_said_last(self) -> None:
        caller = b"c" * 32
        async with self.started() as (one, _), self.started() as (_, heard):
            one.append(refused := Barred(caller, is_refused=True, at=now() - 2))
            await heard.gets(refused)
            one.append(accepted := Barred(caller, is_refused=False, at=now() - 1))
            await heard.gets(accepted)
            one.append(refused)  # it comes late
        assert (await self.kept()).of(refused) == []

    async def test_after_it_has_closed_it_only_stays_quiet(self) -> None:
        journal, heard = self.make(), Heard()
        await journal.start(heard)
        await journal.close()
        for change in every_kind():
            journal.append(change)
        await journal.close()

    async def test_before_it_has_started_it_takes_changes_too(self) -> None:
        journal, heard = self.make(), Heard()
        journal.append(early := recent(1))
        await journal.start(heard)
        await journal.close()
        assert heard.changes == []
        await (await self.kept()).gets(early)


def now() -> float:
    """The wall time."""
    return SystemClock().now()


def recent(number: int, *, ago: float = 10.0, **members: object) -> Put:
    """An answer that is some seconds old and fresh for an hour."""
    return put(number, **({"created": now() - ago, "ttl": 3600.0} | members))


def lasting(number: int) -> Change:
    """How an answer is found for an hour more."""
    return learnt(number, until=float(int(now() / 1e5) * 1e5 + 2e5))


def every_kind() -> list[Change]:
    """Changes of all kinds that do not undo each other."""
    return [
        Renewed("m*", "2", now(), "admin"),
        Purged(Selector(model="nothing"), soft=False, at=now(), by="admin"),
        Rejected(key(98), now(), PAIRS),
        Barred(b"c" * 32, is_refused=True, at=now()),
        recent(1),
        recent(2, namespace="n", tags=("a", "b")),
        Put(recent(4).stored, followed=(b"f" * 32,)),
        lasting(1),
        aliased(3, 1),
        Deleted(key(99), now()),
    ]
