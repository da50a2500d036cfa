"""Follows the log: what others changed is taken in here, within moments.

A place in the log can become worthless: it was trimmed while this process was away, the log was
evicted, Redis began again empty, or another server took over that had not seen the end. Then all
is loaded again.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from proxy.core.cache.change import Change, Put
from proxy.ports import Clock, TakeIn
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from proxy.store.redis_load import Loaded, Loader, OnDigests
from proxy.store.redis_log import BEGIN, LEARNT, PUT, WHOLE, ChangeLog, LogState, Position, Record
from proxy.store.redis_mark import Mark
from proxy.store.redis_small import SmallState
from proxy.store.redis_values import Values
from proxy.tasks import Beat

AT_ONCE = 200
BLOCK_MILLISECONDS = 1000
CALL_SECONDS = 5.0
CHECK_SECONDS = 1.0
PAUSES = (0.2, 1.0)
"""Seconds after a failure: at first, and at most."""


class Hooks(NamedTuple):
    """What is told of what the log says."""

    take_in: TakeIn
    on_digests: OnDigests
    """Answers are in Redis, of these digests (redis_names.py)."""
    on_arrival: Callable[[bytes], None]
    """An answer that another process has stored was taken in."""
    on_load: Callable[[], None]
    on_loaded: Callable[[], None]
    on_gap: Callable[[], None]
    """Something was missed; all is loaded again now."""
    on_loss: Callable[[], None]
    """Redis has forgotten some of what it was told, such as the end of the log."""
    on_empty: Callable[[], None]
    """Redis has begun again with nothing."""


class Follower:
    """Hands over what others change, and what there was before."""

    def __init__(
        self,
        link: RedisLink,
        own: RedisLink,
        *,
        mark: Mark,
        log: ChangeLog,
        small: SmallState,
        values: Values,
        loader: Loader,
        name: bytes,
        clock: Clock,
    ) -> None:
        """`own` is a link for this alone, which waits on it; `name` is that of the writer here."""
        self._link = link
        self._own = own
        self._mark = mark
        self._log = log
        self._small = small
        self._values = values
        self._loader = loader
        self._name = name
        self._clock = clock
        self._seen: bytes | None = None
        self._checked = float("-inf")
        self.position: Position | None = None
        """What stands in the log up to here was taken in; None while that is not known."""
        self.loaded = Loaded(BEGIN, 0, 0)
        """The last load."""
        self.loads = 0
        self.gaps = 0
        self.followed = 0
        """Records of others that were taken in since the start."""
        self.lag = 0.0
        """Seconds from when the last record was written to when it was taken in."""
        self.first_try = asyncio.Event()
        """Set when the first load is done, or has failed."""

    async def run(self, beat: Beat, hooks: Hooks) -> None:
        """Load and follow, for ever."""
        pause = PAUSES[0]
        while True:
            try:
                await self._step(hooks)
            except LinkDown:
                self.first_try.set()
                self._checked = float("-inf")
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSES[1])
            else:
                beat()
                pause = PAUSES[0]

    async def _step(self, hooks: Hooks) -> None:
        if self.position is not None and self._is_check_due():
            await self._check(self.position, hooks)
        if self.position is None:
            await self._load(hooks)
        else:
            await self._follow(self.position, hooks)

    def _is_check_due(self) -> bool:
        return self._clock.monotonic() - self._checked >= CHECK_SECONDS

    async def _load(self, hooks: Hooks) -> None:
        found = await self._mark.read()
        if found is None:
            found = await self._mark.make()
            hooks.on_empty()
        self._seen = found
        hooks.on_load()
        self.loaded = await self._loader.load(hooks.take_in, hooks.on_digests)
        self.loads += 1
        self.position = self.loaded.position
        self.first_try.set()
        hooks.on_loaded()

    async def _check(self, position: Position, hooks: Hooks) -> None:
        """Forget the place in the log if it is worth nothing now."""
        state = await self._link.call(self._log.state, deadline=CALL_SECONDS, important=True)
        mark = await self._mark.read()
        self._checked = self._clock.monotonic()
        is_whole = position == BEGIN if state is None else state.has_all_after(position)
        if mark == self._seen and is_whole:
            return
        if mark is None and is_whole and position != BEGIN:
            # The mark alone has gone, as any key may under `maxmemory`.
            self._seen = await self._mark.make(self._seen)
            return
        self._give_up_place(hooks)
        if mark not in (None, self._seen):
            hooks.on_empty()  # the load sees to it where there is no mark at all
        elif state is None or position > state.last:
            hooks.on_loss()

    def _give_up_place(self, hooks: Hooks) -> None:
        self.position = None
        self.gaps += 1
        hooks.on_gap()

    async def _follow(self, position: Position, hooks: Hooks) -> None:
        """Wait for what comes next, a second at most, and take it in."""

        async def work(client: Client) -> tuple[list[Record], LogState | None]:
            records = await self._log.wait(client, position, AT_ONCE, BLOCK_MILLISECONDS)
            return records, await self._log.reach(client) if records else None

        records, state = await self._own.call(work, deadline=CALL_SECONDS, important=True)
        if not records:
            self.lag = 0.0
            return
        if state is None or not state.has_all_after(position):
            self._give_up_place(hooks)  # some were trimmed before they were read
            return
        others = [record for record in records if record.writer != self._name]
        if others:
            await self._take(others, hooks)
        self.position = records[-1].position
        self.lag = max(0.0, self._clock.now() - records[-1].position[0] / 1000)

    async def _take(self, records: Sequence[Record], hooks: Hooks) -> None:
        changes = await self._changes(records)
        hooks.on_digests(record.digest for record in records if record.kind == PUT)
        await hooks.take_in(changes)
        for change in changes:
            self._small.note(change)
            if isinstance(change, Put):
                hooks.on_arrival(change.stored.key)
        self.followed += len(records)

    async def _changes(self, records: Sequence[Record]) -> list[Change]:
        """What the records tell, in order; what they name is read, if it is still there."""
        named = {
            kind: list(dict.fromkeys(one.digest for one in records if one.kind == kind))
            for kind in (PUT, LEARNT)
        }
        answers = await self._values.answers(named[PUT])
        meanings = await self._values.meanings(named[LEARNT])
        changes: list[Change] = []
        for record in records:
            # What was told twice is handed over once.
            if record.kind == PUT and (answer := answers.pop(record.digest, None)):
                changes.append(answer)
            elif record.kind == LEARNT and (meaning := meanings.pop(record.digest, None)):
                changes.append(meaning)
            elif record.kind == WHOLE:
                changes += self._values.decoded([record.data])
        return changes
