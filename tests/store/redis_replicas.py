"""Replicas as far as the journal is concerned, for tests."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from proxy.clock import SystemClock
from proxy.core.cache.bloom import KnownKeys
from proxy.core.cache.change import Change, Deleted, Learnt, Purged, Put, Rejected
from proxy.redis_link.link import RedisLink
from proxy.store.codec import key_of
from proxy.store.redis_journal import Bounds, RedisJournal
from proxy.store.redis_keys import EntryKeys
from proxy.tasks import Tasks
from tests.fakes.lines import Lines

DEADLINE = 20.0


class Replica:
    """A journal, its links, and what a cache would hold."""

    def __init__(
        self,
        url: str,
        prefix: str,
        *,
        log_entries: int = 10_000,
        snapshot_every: float = 3600.0,
        max_entries: int = 100_000,
        queue_changes: int = 20_000,
    ) -> None:
        self.died: list[str] = []
        self.lines = Lines()
        self.held: dict[object, Change] = {}
        """By kind and key."""
        self.arrived: list[bytes] = []
        self.tasks = Tasks(lambda name, error: self.died.append(f"{name}: {error!r}"))
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self.is_stalled = False
        self.links = [
            RedisLink(
                url,
                max_connections=connections,
                deadline=1.0,
                prefix=prefix,
                clock=SystemClock(),
                tasks=self.tasks,
                log=self.lines,
            )
            for connections in (8, 1)
        ]
        self.known = KnownKeys(10_000)
        self.journal = RedisJournal(
            *self.links,
            prefix=prefix,
            keys=EntryKeys(prefix, keep_stale=600.0),
            known=self.known,
            everything=self.everything,
            arrived=self.arrived.append,
            bounds=Bounds(log_entries, snapshot_every, max_entries, queue_changes),
            clock=SystemClock(),
            tasks=self.tasks,
            log=self.lines,
        )

    async def take_in(self, changes: Sequence[Change]) -> None:
        """Hold what comes, as a cache does."""
        if not self._goes_on.is_set():
            self.is_stalled = True
            await self._goes_on.wait()
        for change in changes:
            self._hold(change)
        await asyncio.sleep(0)

    def append(self, *changes: Change) -> None:
        """Change something here."""
        for change in changes:
            self._hold(change)
            self.journal.append(change)

    async def everything(self) -> AsyncIterator[Sequence[Change]]:
        """All that is held, but what takes back."""
        held = [one for one in self.held.values() if not isinstance(one, Deleted | Rejected)]
        for start in range(0, len(held), 100):
            yield held[start : start + 100]

    @contextlib.asynccontextmanager
    async def stalled(self) -> AsyncIterator[None]:
        """Take nothing in until the block ends."""
        self._goes_on.clear()
        yield
        self._goes_on.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so. Fails after a deadline."""
        async with asyncio.timeout(DEADLINE):
            while not holds():  # noqa: ASYNC110 - much of it happens without any news
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        """End all of it."""
        await self.journal.close()
        await self.tasks.drain(0.0)
        for link in self.links:
            await link.close()
        assert not self.died

    @property
    def answers(self) -> set[bytes]:
        """The keys of the answers that are held."""
        return {one.stored.key for one in self.held.values() if isinstance(one, Put)}

    @property
    def meanings(self) -> set[bytes]:
        """The keys of the answers that can be found by meaning."""
        return {one.key for one in self.held.values() if isinstance(one, Learnt)}

    def figure(self, name: str) -> float:
        """One of the figures."""
        return self.journal.figures()[f"redis_{name}"]

    def _hold(self, change: Change) -> None:
        if isinstance(change, Deleted | Rejected):
            self.held.pop(("put", change.key), None)
            self.held.pop(("learnt", change.key), None)
        elif isinstance(change, Purged):
            for name, held in list(self.held.items()):
                if isinstance(held, Put) and change.selector.selects(held.stored):
                    del self.held[name]
        self.held[key_of(change)] = change


@contextlib.asynccontextmanager
async def replica(url: str, prefix: str, **options: object) -> AsyncIterator[Replica]:
    """One that has started."""
    made = Replica(url, prefix, **options)  # type: ignore[arg-type]  # they are of the constructor
    try:
        await made.journal.start(made.take_in)
        yield made
    finally:
        await made.close()


@contextlib.asynccontextmanager
async def linked(url: str) -> AsyncIterator[RedisLink]:
    """A link of its own to a server."""
    tasks = Tasks(lambda name, error: None)
    link = RedisLink(
        url,
        max_connections=8,
        deadline=1.0,
        prefix="p",
        clock=SystemClock(),
        tasks=tasks,
        log=Lines(),
    )
    try:
        yield link
    finally:
        await tasks.drain(0.0)
        await link.close()
