"""Writes to vector sets behind the requests, in batches; what fails waits and is tried again."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from proxy.redis_link.errors import LinkDown, Reason
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_batch import NoVectorSets, ask
from proxy.semantic.redis_commands import Add, Names, Write, write_commands
from proxy.semantic.redis_queue import Waiting
from proxy.tasks import Beat

BEAT_SECONDS = 10.0
PAUSE_SECONDS = 1.0
"""Before what failed is tried again."""
_DEADLINE_SECONDS = 5.0
_BATCH = 64


class Writer:
    """Takes what waits to Redis."""

    def __init__(
        self,
        link: RedisLink,
        waiting: Waiting,
        *,
        names: Callable[[], Names | None],
        on_written: Callable[[Sequence[Write]], None],
        on_unsupported: Callable[[], None],
    ) -> None:
        """`names` tells where to, None as long as nothing can be written.

        `on_written` is told of each batch that is in Redis, before that is no longer waiting.
        """
        self._link = link
        self._waiting = waiting
        self._names = names
        self._on_written = on_written
        self._on_unsupported = on_unsupported
        self._has_waiting = asyncio.Event()
        self._is_done = asyncio.Event()

    def wake(self) -> None:
        """Say that something waits."""
        self._has_waiting.set()

    async def done(self, *, within: float) -> None:
        """Wait until nothing waits. Raises TimeoutError."""
        async with asyncio.timeout(within):
            while len(self._waiting):
                self._is_done.clear()
                await self._is_done.wait()

    async def finish(self, *, within: float) -> None:
        """Write what waits, as far as that goes in a time, when `run` has ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while len(self._waiting) and await self._write_some():
                    pass

    async def run(self, beat: Beat) -> None:
        """Write whatever comes, for ever."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._has_waiting.wait()
            self._has_waiting.clear()
            while len(self._waiting):
                if await self._write_some():
                    beat()
                else:
                    await asyncio.sleep(PAUSE_SECONDS)
            self._is_done.set()
            beat()

    async def _write_some(self) -> bool:
        """Write a batch; False where it has to be tried again."""
        names = self._names()
        if names is None:
            return False
        writes = self._waiting.take(_BATCH)
        try:
            commands = write_commands(names, await self._wanted(names, writes))
            await ask(self._link, commands, deadline=_DEADLINE_SECONDS, important=True, writes=True)
        except NoVectorSets:
            self._waiting.put_back()
            self._on_unsupported()
            return False
        except LinkDown as down:
            if down.reason is not Reason.ERROR:
                self._waiting.put_back()
                return False
            # What is wrong is one of these, and will be so again.
            self._waiting.leave_out()
            return True
        self._on_written(writes)
        self._waiting.done()
        return True

    async def _wanted(self, names: Names, writes: Sequence[Write]) -> Sequence[Write]:
        """All but the offers of what is there."""
        offers = [write for write in writes if isinstance(write, Add) and write.is_offer]
        if not offers:
            return writes
        commands = [("VISMEMBER", names.vectors(one.partition), one.key.hex()) for one in offers]
        replies = await ask(self._link, commands, deadline=_DEADLINE_SECONDS, important=True)
        there = {one.key for one, is_there in zip(offers, replies, strict=True) if is_there}
        return [write for write in writes if write not in offers or write.key not in there]
