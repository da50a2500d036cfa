"""Lets one of the replicas write a snapshot now and then, if enough has changed."""

import asyncio
import contextlib
from collections.abc import Callable

from proxy.ports import Clock
from proxy.redis_link.errors import LinkDown
from proxy.store.redis_log import Position, position_text
from proxy.store.redis_scan import KeyScan
from proxy.store.redis_snapshot import Snapshots
from proxy.store.redis_upkeep import Everything
from proxy.store.snapshot_format import Pointer
from proxy.tasks import Beat

TICK_SECONDS = 1.0
ENOUGH = 0.02
"""Of what is in the last snapshot, so much must have changed."""
OLDEST_SECONDS = 24 * 3600.0
"""A snapshot that is older is written anew, whatever has changed."""


class SnapshotWriter:
    """Writes every so many seconds, and sooner when the log fills up."""

    def __init__(
        self,
        snapshots: Snapshots,
        *,
        scan: KeyScan,
        everything: Everything,
        position: Callable[[], Position | None],
        changes: Callable[[], int],
        every: float,
        log_entries: int,
        clock: Clock,
    ) -> None:
        """`position` tells up to where the log was taken in, `changes` how many there were."""
        self._snapshots = snapshots
        self._scan = scan
        self._everything = everything
        self._position = position
        self._changes = changes
        self._every = every
        # The log must reach back to the last snapshot; it is trimmed at this.
        self._most_changes = max(1, log_entries // 3)
        self._clock = clock
        self._last_try = clock.monotonic()
        self._seen = 0
        self._changes_then = 0
        self.written = 0
        """How many were written here, since the start."""
        self.newest: Pointer | None = None
        """The newest that is known."""

    async def run(self, beat: Beat) -> None:
        """Write when it is time, for ever."""
        while True:
            await asyncio.sleep(min(TICK_SECONDS, self._every))
            if not self._is_due():
                beat()
                continue
            try:
                await self.write_if_needed()
            except LinkDown:
                continue  # the link tells of it; the next tick tries again
            self._last_try = self._clock.monotonic()
            beat()

    async def write_if_needed(self) -> bool:
        """Write one, unless another replica just has, or too little has changed.

        Raises LinkDown.
        """
        self._note(await self._snapshots.pointers())
        if not self._is_needed():
            return False
        token = await self._snapshots.claim()
        position = self._position()
        if token is None or position is None:
            return False
        changes = self._changes()
        try:
            pointer = await self._snapshots.write(
                token,
                self._scan.answers(),
                self._everything(),
                position=position_text(position),
                now=self._clock.now(),
            )
        finally:
            with contextlib.suppress(LinkDown):
                await self._snapshots.give_up(token)
        if pointer is None:
            return False
        self.newest, self._seen, self._changes_then = pointer, pointer.generation, changes
        self.written += 1
        return True

    def _is_due(self) -> bool:
        since = self._clock.monotonic() - self._last_try
        return since >= self._every or self._changes() - self._changes_then >= self._most_changes

    def _note(self, pointers: list[Pointer]) -> None:
        self.newest = pointers[0] if pointers else None
        seen = self.newest.generation if self.newest is not None else 0
        if seen != self._seen:
            # What was counted until now is in the snapshot of another replica, about.
            self._seen, self._changes_then = seen, self._changes() if seen else 0

    def _is_needed(self) -> bool:
        if self._position() is None:
            return False
        newest, changed = self.newest, self._changes() - self._changes_then
        if newest is None:
            return changed > 0
        is_old = self._clock.now() - newest.written >= OLDEST_SECONDS
        return is_old or changed >= max(1.0, ENOUGH * newest.count)
