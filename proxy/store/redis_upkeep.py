"""Slow work on what lies in Redis, in the background: what was purged goes, what is lost returns.

Both go through many answers, a few at a time, and may begin again at any moment.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from proxy.core.cache.bloom import KnownKeys
from proxy.core.cache.change import Change, Learnt, Purged, Put
from proxy.redis_link.errors import LinkDown, Reason
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.scripts import Command, Script
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_scan import KeyScan
from proxy.store.redis_small import SmallState
from proxy.store.redis_values import Values
from proxy.store.redis_writer import Writer
from proxy.tasks import Beat

Everything: TypeAlias = Callable[[], AsyncIterator[Sequence[Change]]]
"""All that this process holds, a few changes at a time, the least recently used first."""

CALL_SECONDS = 5.0
IDLE_SECONDS = 5.0
PAUSE_SECONDS = 2.0
"""After a failure, or while another process is at it."""
LEASE_SECONDS = 30
AT_ONCE = 100
FULL = 0.6
"""Of the bits that tell which answers are there: more of them tell little."""
RECOUNT_SECONDS = 600.0
PER_SECOND = 2_000
"""Answers that are written again."""

_LEASE = Script("""
-- KEYS: the lease. ARGV: whose, seconds.
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'string' and found ~= ARGV[1] and redis.call('TTL', KEYS[1]) > 0 then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
""")


class Upkeep:
    """Does what it was asked to, one after another."""

    def __init__(
        self,
        link: RedisLink,
        *,
        prefix: str,
        keys: EntryKeys,
        scan: KeyScan,
        values: Values,
        writer: Writer,
        small: SmallState,
        known: KnownKeys,
        name: bytes,
        everything: Everything,
    ) -> None:
        """`name` tells this process from all others."""
        self._link = link
        self._lease = f"{prefix}:restore"
        self._keys = keys
        self._scan = scan
        self._values = values
        self._writer = writer
        self._small = small
        self._known = known
        self._name = name
        self._everything = everything
        self._purges: list[Purged] = []
        self._is_forgotten = False
        self._is_empty = False
        self._next_recount = float("-inf")
        self._asked = asyncio.Event()
        self.removed = 0
        """Answers that purges have removed from Redis, since the start."""
        self.restored = 0
        """Changes that were written once more, since the start."""

    def remove(self, purged: Purged) -> None:
        """Let what was purged go from Redis; what is only stale now stays."""
        if not purged.soft:
            self._purges.append(purged)
            self._asked.set()

    def remember(self) -> None:
        """Write what took answers back to a Redis that may have lost it."""
        self._is_forgotten = True
        self._asked.set()

    def restore(self) -> None:
        """Write what this process holds to a Redis that has lost it."""
        self._is_empty = True
        self._asked.set()

    async def run(self, beat: Beat) -> None:
        """Do what is asked for, for ever."""
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._asked.wait()
            except TimeoutError:
                pass  # nobody has asked for anything; something may be due all the same
            try:
                is_done = await self._work(beat)
            except LinkDown:
                is_done = False
            if is_done:
                beat()
            else:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _work(self, beat: Beat) -> bool:
        """Do all there is; False where some of it must wait."""
        self._asked.clear()
        purges = list(self._purges)
        try:
            if purges:
                await self._remove(purges, beat)
                del self._purges[: len(purges)]
            if self._is_forgotten:
                await self._remember()
                self._is_forgotten = False
            if self._is_empty and await self._claim():
                await self._restore(beat)
                self._is_empty = False
                await self._ask([("DEL", self._lease)])
            if self._is_recount_due():
                await self._recount(beat)
        finally:
            if self._purges or self._is_forgotten or self._is_empty:
                self._asked.set()
        return not self._is_empty

    async def _remove(self, purges: Sequence[Purged], beat: Beat) -> None:
        async for digests in self._few():
            answers = await self._values.answers(digests)
            commands = [
                self._keys.delete(change.stored.key, purged.at)
                for change in answers.values()
                if (purged := _which(purges, change)) is not None
            ]
            self.removed += sum(map(bool, await self._ask(commands)))
            beat()

    async def _remember(self) -> None:
        # The log is not told: all of them would push out of it what others have not read yet.
        changes = self._small.known
        for start in range(0, len(changes), AT_ONCE):
            some = changes[start : start + AT_ONCE]
            await self._ask([self._small.command(change) for change in some])

    async def _few(self) -> AsyncIterator[Sequence[bytes]]:
        """The digests of all answers, so few at a time that the answers may be held."""
        async for digests in self._scan.answers():
            for start in range(0, len(digests), AT_ONCE):
                yield digests[start : start + AT_ONCE]

    async def _restore(self, beat: Beat) -> None:
        async for batch in self._everything():
            for some in _slices(batch, AT_ONCE):
                missing = await self._missing(some)
                await self._writer.write(missing)
                self.restored += len(missing)
                beat()
                # Others want to write too, and all of them read.
                await asyncio.sleep(len(missing) / PER_SECOND)
            if not await self._claim():
                raise LinkDown(Reason.ERROR)

    async def _missing(self, changes: Sequence[Change]) -> list[Change]:
        named: list[tuple[Put | Learnt, str]] = []
        for change in changes:
            if isinstance(change, Put):
                named.append((change, self._keys.answer(change.stored.key)))
            elif isinstance(change, Learnt):
                named.append((change, self._keys.meaning(change.key)))
        found = await self._ask([("EXISTS", name) for _, name in named])
        return [change for (change, _), is_there in zip(named, found, strict=True) if not is_there]

    def _is_recount_due(self) -> bool:
        if not self._known.complete() or self._known.fill <= FULL:
            return False
        return asyncio.get_running_loop().time() >= self._next_recount

    async def _recount(self, beat: Beat) -> None:
        """Learn anew which answers are there, without those that have gone."""
        # Where there are more than it was made for, it is as full again.
        self._next_recount = asyncio.get_running_loop().time() + RECOUNT_SECONDS
        self._known.rebuild()
        async for digests in self._scan.answers():
            for digest in digests:
                self._known.add(digest)
            beat()
        if self._known.complete():  # or all is loaded again just now, which does the same
            self._known.finish()

    async def _claim(self) -> bool:
        """Become the only one that writes again what was lost, for a while."""
        [is_mine] = await self._ask([_LEASE.command([self._lease], [self._name, LEASE_SECONDS])])
        return bool(is_mine)

    async def _ask(self, commands: Sequence[Command]) -> list[Any]:
        if not commands:
            return []
        return await self._link.call(
            partial(ask_all, commands=commands),
            deadline=CALL_SECONDS,
            important=True,
            writes=True,
        )


def _which(purges: Sequence[Purged], change: Put) -> Purged | None:
    """The latest purge that an answer falls under."""
    stored = change.stored
    falling = [one for one in purges if stored.created <= one.at and one.selector.selects(stored)]
    return max(falling, key=lambda purged: purged.at, default=None)


def _slices(changes: Sequence[Change], size: int) -> Iterator[Sequence[Change]]:
    for start in range(0, len(changes), size):
        yield changes[start : start + size]
