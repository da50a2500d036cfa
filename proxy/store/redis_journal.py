"""The journal in Redis: what one replica learns, all know within moments (design 8).

Three loops, and one for slow work, each in a file of its own:

    redis_writer            queue -> values under keys of their own -> a record each in the log
    redis_follower          the log of the others -> values -> `take_in`; loads all when it must
    redis_snapshot_writer   now and then a snapshot, by one of the replicas
    redis_upkeep            removes what was purged, writes again what Redis has lost

Any key may vanish at any moment, and Redis itself: nothing here fails for it, all is found again.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from proxy.core.cache.bloom import KnownKeys
from proxy.core.cache.change import Change, Purged, Put
from proxy.ports import Clock, TakeIn
from proxy.redis_link.link import RedisLink
from proxy.store.redis_follower import Follower, Hooks
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_load import Loader
from proxy.store.redis_log import ChangeLog
from proxy.store.redis_mark import Mark
from proxy.store.redis_names import KnownAnswers, Names, digest_of
from proxy.store.redis_queue import ChangeQueue
from proxy.store.redis_scan import KeyScan
from proxy.store.redis_small import SmallState
from proxy.store.redis_snapshot import Snapshots
from proxy.store.redis_snapshot_writer import SnapshotWriter
from proxy.store.redis_upkeep import IDLE_SECONDS, Everything, Upkeep
from proxy.store.redis_values import Values
from proxy.store.redis_writer import Writer
from proxy.tasks import Tasks
from proxy.telemetry.log import Log

CLOSE_SECONDS = 1.5
SNAPSHOT_SECONDS = 60.0
"""A snapshot of very much may take so long."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be where."""

    log_entries: int
    """Records that the log keeps, about."""
    snapshot_every: float
    """Seconds."""
    max_entries: int
    """Answers that are taken in at a load."""
    queue_changes: int = 20_000
    queue_bytes: int = 64 << 20
    """What may wait while Redis cannot be reached."""


class RedisJournal:
    """Fulfils proxy.ports.Journal."""

    def __init__(
        self,
        link: RedisLink,
        own: RedisLink,
        *,
        prefix: str,
        keys: EntryKeys,
        known: KnownKeys,
        everything: Everything,
        arrived: Callable[[bytes], None],
        bounds: Bounds,
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        """`own` is a second link to the same Redis, on which only the follower waits.

        `everything` gives all that this process holds, for snapshots, and for a Redis that has
        lost it. `arrived` is told each exact key of which another replica's answer has come.
        """
        self._known = known
        self._arrived = arrived
        self._clock = clock
        self._tasks = tasks
        self._ends: list[Callable[[], object]] = []
        self._is_closed = False
        self.answers = KnownAnswers(known)
        """Which answers may be in Redis: for who asks it."""
        name = secrets.token_hex(8).encode()
        names = Names(prefix)
        scan = KeyScan(link, prefix, names)
        self._queue = ChangeQueue(max_changes=bounds.queue_changes, max_bytes=bounds.queue_bytes)
        self._small = SmallState(prefix)
        self._values = Values(link, names, log)
        self._snapshots = Snapshots(link, prefix, log)
        change_log = ChangeLog(prefix, max_entries=bounds.log_entries)
        self._writer = Writer(
            link,
            queue=self._queue,
            keys=keys,
            log=change_log,
            small=self._small,
            name=name,
            clock=clock,
            on_purged=self._remove,
        )
        self._follower = Follower(
            link,
            own,
            mark=Mark(link, prefix),
            log=change_log,
            small=self._small,
            values=self._values,
            loader=Loader(
                link,
                log=change_log,
                small=self._small,
                snapshots=self._snapshots,
                values=self._values,
                scan=scan,
                max_entries=bounds.max_entries,
            ),
            name=name,
            clock=clock,
        )
        self._upkeep = Upkeep(
            link,
            prefix=prefix,
            keys=keys,
            scan=scan,
            values=self._values,
            writer=self._writer,
            small=self._small,
            known=known,
            name=name,
            everything=everything,
        )
        self._snapshot_writer = SnapshotWriter(
            self._snapshots,
            scan=scan,
            everything=everything,
            position=lambda: self._follower.position,
            changes=lambda: self._writer.written + self._follower.followed,
            every=bounds.snapshot_every,
            log_entries=bounds.log_entries,
            clock=clock,
        )

    def append(self, change: Change) -> None:
        """Keep it, and let the others know, within a second. Never blocks, never raises."""
        if self._is_closed:
            return
        if isinstance(change, Put):
            self._known.add(digest_of(change.stored.key))
        self._small.note(change)
        self._queue.add(change)

    async def start(self, take_in: TakeIn) -> None:
        """Hand over what is in Redis, then what others change.

        Returns when the first is done, or has failed once: within about two seconds where Redis
        does not answer. It is tried again in the background then.
        """
        hooks = Hooks(
            take_in=take_in,
            on_digests=self._add_digests,
            on_arrival=self._arrived,
            on_load=self._known.rebuild,
            on_loaded=self._known.finish,
            on_gap=self._known.doubt,
            on_loss=self._on_loss,
            on_empty=self._on_empty,
        )
        keep = self._tasks.keep
        self._ends = [
            keep(lambda beat: self._follower.run(beat, hooks), "redis follower", every=5.0),
            keep(self._upkeep.run, "redis upkeep", every=IDLE_SECONDS),
            keep(self._snapshot_writer.run, "redis snapshots", every=SNAPSHOT_SECONDS),
        ]
        await self._follower.first_try.wait()
        # Only now: what this process has written itself is not to be handed over to it.
        self._ends.append(keep(self._writer.run, "redis writer", every=IDLE_SECONDS))

    async def close(self) -> None:
        """Write what waits, within a second or two, and end."""
        self._is_closed = True
        for end in self._ends:
            end()
        self._ends = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._writer.ended.wait()
                while self._queue and await self._writer.write_batch():
                    pass

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        newest = self._snapshot_writer.newest
        return {
            "redis_queue": len(self._queue),
            "redis_queue_bytes": self._queue.size_bytes,
            "redis_dropped": self._queue.dropped,
            "redis_written": self._writer.written,
            "redis_refused": self._writer.refused,
            "redis_followed": self._follower.followed,
            "redis_log_lag_seconds": self._follower.lag,
            "redis_loads": self._follower.loads,
            "redis_gaps": self._follower.gaps,
            "redis_loaded_answers": self._follower.loaded.entries,
            "redis_unreadable_values": self._values.unreadable + self._small.unreadable,
            "redis_snapshot_last_success_timestamp_seconds": (
                newest.written if newest is not None else 0.0
            ),
            "redis_snapshot_items": newest.count if newest is not None else 0,
            "redis_snapshots_written": self._snapshot_writer.written,
            "redis_snapshots_broken": self._snapshots.broken,
            "redis_removed": self._upkeep.removed,
            "redis_restored": self._upkeep.restored,
            **self._known.figures(),
        }

    def _add_digests(self, digests: Iterable[bytes]) -> None:
        for digest in digests:
            self._known.add(digest)

    def _remove(self, purged: Purged) -> None:
        self._upkeep.remove(purged)

    def _on_loss(self) -> None:
        self._writer.write_again()
        self._upkeep.remember()

    def _on_empty(self) -> None:
        self._on_loss()
        self._upkeep.restore()
