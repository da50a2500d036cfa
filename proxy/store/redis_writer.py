"""Writes what changed here to Redis, and tells the log of it."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

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
from proxy.ports import Clock
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.scripts import Command
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_log import ChangeLog
from proxy.store.redis_queue import ChangeQueue, Loss
from proxy.store.redis_small import SmallState
from proxy.tasks import Beat

BATCH = 200
BATCH_BYTES = 4 << 20
GATHER_SECONDS = 0.01
"""How long a batch waits for more."""
CALL_SECONDS = 5.0
IDLE_SECONDS = 5.0
PAUSES = (0.2, 2.0)
"""Seconds after a failure: at first, and at most."""
RECENT = 1_000


class Writer:
    """Values first, then the log: who is told of a value finds it."""

    def __init__(
        self,
        link: RedisLink,
        *,
        queue: ChangeQueue,
        keys: EntryKeys,
        log: ChangeLog,
        small: SmallState,
        name: bytes,
        clock: Clock,
        on_purged: Callable[[Purged], None],
    ) -> None:
        """`name` tells this process from all others; `on_purged` is told what was written."""
        self._on_purged = on_purged
        self._link = link
        self._queue = queue
        self._keys = keys
        self._log = log
        self._small = small
        self._name = name
        self._clock = clock
        self._recent: deque[Loss] = deque(maxlen=RECENT)
        self.ended = asyncio.Event()
        """Set while `run` does not run."""
        self.ended.set()
        self.written = 0
        """Records in the log, since the start."""
        self.refused = 0
        """Changes that Redis did not take: something later was there, or it was of no use."""

    def write_again(self) -> None:
        """Queue once more what took answers back lately: Redis has forgotten some of the end."""
        for change in list(self._recent):
            self._queue.add(change)

    async def run(self, beat: Beat) -> None:
        """Write what is queued, for ever."""
        self.ended.clear()
        try:
            await self._run(beat)
        finally:
            self.ended.set()

    async def _run(self, beat: Beat) -> None:
        pause = PAUSES[0]
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._queue.wait()
            except TimeoutError:
                beat()
                continue
            if len(self._queue) < BATCH:
                await asyncio.sleep(GATHER_SECONDS)
            if await self.write_batch():
                beat()
                pause = PAUSES[0]
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSES[1])

    async def write_batch(self) -> bool:
        """Write some of what is queued; False where it waits again, for Redis did not take it."""
        batch = self._queue.take(BATCH, BATCH_BYTES)
        try:
            await self.write(batch)
        except LinkDown:
            self._queue.give_back(batch)
            return False
        except asyncio.CancelledError:
            self._queue.give_back(batch)
            raise
        return True

    async def write(self, batch: Sequence[Change]) -> None:
        """Write some now. Raises LinkDown; some may have been written then."""
        now = self._clock.now()
        commands = await asyncio.to_thread(self._commands, batch, now)
        answers = await self._ask([command for some in commands for command in some])
        records = []
        at = 0
        for change, some in zip(batch, commands, strict=True):
            is_taken = all(answers[at : at + len(some)])
            at += len(some)
            # What takes back is told even if here was nothing to take back.
            if is_taken or not isinstance(change, Put | Learnt):
                records.append(self._log.command(change, self._name))
            else:
                self.refused += 1
        await self._ask(records)
        self.written += len(records)
        for change in batch:
            if isinstance(change, Deleted | Rejected | Purged | Renewed | Barred):
                self._recent.append(change)
            if isinstance(change, Purged):
                self._on_purged(change)

    def _commands(self, batch: Sequence[Change], now: float) -> list[list[Command]]:
        return [self._commands_of(change, now) for change in batch]

    def _commands_of(self, change: Change, now: float) -> list[Command]:
        commands = []
        match change:
            case Put():
                commands.append(self._keys.put(change, now))
            case Learnt():
                commands.append(self._keys.learn(change))
            case Deleted() | Rejected():
                commands.append(self._keys.delete(change.key, change.at))
            case Aliased() | Purged() | Renewed() | Barred():
                pass
        if isinstance(change, Rejected | Purged | Renewed | Barred):
            commands.append(self._small.command(change))
        return commands

    async def _ask(self, commands: Sequence[Command]) -> list[Any]:
        if not commands:
            return []
        return await self._link.call(
            partial(ask_all, commands=commands),
            deadline=CALL_SECONDS,
            important=True,
            writes=True,
        )
