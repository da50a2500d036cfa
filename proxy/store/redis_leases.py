"""The leases that this process holds: who has one calls the upstream, the others wait for that."""

import asyncio
from typing import NamedTuple

from proxy.ports import Clock
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Command, send_all
from proxy.store.redis_keys import EntryKeys
from proxy.tasks import Beat

LEASE_SECONDS = 3.0
"""So long the others wait for a process that has died."""
RENEW_SECONDS = 1.0
FREE_AFTER = 0.5
"""Seconds from the end of a call until its lease is given up. An answer that is written meanwhile
takes the lease away with it, so that nobody finds neither."""
TICK_SECONDS = 0.25
IDLE_SECONDS = 5.0
CALL_SECONDS = 1.0


class Held(NamedTuple):
    """A lease."""

    token: int
    renewed: float
    """Monotonic time at which it was last known to be held."""
    ended: float | None = None
    """Monotonic time at which the call had ended."""
    is_free: bool = False
    """It was given up; what it was is still told, for an answer that is being written."""
    calls: int = 1
    """How many calls of this process go on under it: the same question in two shapes."""


class Leases:
    """Keeps leases alive while their calls run, by one loop for all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[bytes, Held] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._held)

    def fence(self, key: bytes) -> int:
        """The token of the lease that is held, or was until a moment ago; 0 where there is none."""
        held = self._held.get(key)
        return held.token if held is not None else 0

    def take(self, key: bytes, token: int) -> None:
        """A lease was given to this process."""
        self._held[key] = Held(token, self._clock.monotonic())
        self._changed.set()

    def join(self, key: bytes) -> bool:
        """Go on under a lease of this process; False where there is none to join."""
        held = self._held.get(key)
        if held is None or held.ended is not None:
            return False
        self._held[key] = held._replace(calls=held.calls + 1)
        return True

    def end(self, key: bytes) -> None:
        """A call for a key is over. Unknown keys are fine."""
        held = self._held.get(key)
        if held is None or held.ended is not None:
            return
        ended = self._clock.monotonic() if held.calls == 1 else None
        self._held[key] = held._replace(ended=ended, calls=held.calls - 1)

    async def run(self, beat: Beat, link: RedisLink, keys: EntryKeys) -> None:
        """Renew and give up what is due, for ever."""
        while True:
            if self._held:
                await self.renew(link, keys)
            else:
                self._changed.clear()
            beat()
            await self._pause()

    async def renew(self, link: RedisLink, keys: EntryKeys) -> None:
        """Renew and give up what is due; where Redis does not answer, leases end by themselves."""
        now = self._clock.monotonic()
        due = self._due(now)
        if not due:
            return
        commands: list[Command] = [
            keys.extend(key, held.token, LEASE_SECONDS if held.ended is None else 0.0)
            for key, held in due.items()
        ]
        try:
            answers = await link.call(
                lambda client: send_all(client, commands),
                deadline=CALL_SECONDS,
                important=True,
                writes=True,
            )
        except LinkDown:
            answers = [None] * len(commands)
        for (key, held), answer in zip(due.items(), answers, strict=True):
            if self._held.get(key) != held:
                continue  # taken anew, or ended, meanwhile
            if held.ended is not None:
                self._held[key] = held._replace(is_free=True)
            elif answer == 1:
                self._held[key] = held._replace(renewed=now)

    def _due(self, now: float) -> dict[bytes, Held]:
        due: dict[bytes, Held] = {}
        for key, held in list(self._held.items()):
            since = held.renewed if held.ended is None else held.ended
            if now - since >= LEASE_SECONDS:
                del self._held[key]  # somebody else may have it by now
                continue
            wait = RENEW_SECONDS if held.ended is None else FREE_AFTER
            if now - since >= wait and not held.is_free:
                due[key] = held
        return due

    async def _pause(self) -> None:
        if self._held:
            await asyncio.sleep(TICK_SECONDS)
            return
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            pass  # nothing was taken; the loop says that it lives
