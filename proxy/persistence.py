"""Puts together what outlasts the process: the journals that the configuration names (design 8)."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from proxy.config import Static
from proxy.core.cache.bloom import KnownKeys
from proxy.core.cache.change import Change
from proxy.core.cache.freshness import KEPT_STALE_SECONDS
from proxy.pipeline.ledger import Ledger
from proxy.ports import Clock, Journal, Shared
from proxy.redis_link.link import RedisLink
from proxy.store import disk, secret
from proxy.store.directory import default_directory
from proxy.store.disk import DiskJournal
from proxy.store.recall import Recall
from proxy.store.redis_journal import Bounds, RedisJournal
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_leases import Leases
from proxy.store.redis_secret import secret as common_secret
from proxy.store.shared import SharedEntries
from proxy.tasks import Beat, Tasks
from proxy.telemetry.described import Figures
from proxy.telemetry.log import Log

KNOWN_TO_ENTRIES = 4
"""Redis may hold so many times what one process holds; a key costs 1.2 bytes."""
OPEN_SECONDS = 1.0
"""How long the start waits for Redis."""
SECRET_SECONDS = 5.0
"""How often is asked for the secret of all replicas: Redis may lose it, or be there only now."""

RESTORE_SECONDS = 30.0
"""How often it is looked whether the secret is still on disk."""


class Persistence:
    """The journals of one application, and what it shares with others."""

    def __init__(
        self,
        static: Static,
        *,
        own_secret: bytes,
        ledger: Ledger,
        max_entries: int,
        on_secret: Callable[[bytes], None],
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        """Must be made on the event loop; blocks while it looks at the disk.

        `own_secret` is used where nothing else names one. `on_secret` is told the secret that
        replicas have in common, where that is another one.
        """
        self._ledger = ledger
        self._on_secret = on_secret
        self._clock = clock
        self._tasks = tasks
        self.secret = static.secret.encode() or own_secret
        """The key of the digests of credentials."""
        self.is_loading = True
        """What was kept is still being taken in."""
        self._has_own_secret = not static.secret
        self._directory: Path | None = None
        self._disk: DiskJournal | None = None
        if static.disk_enabled:
            self._directory = (
                Path(static.disk_path) if static.disk_path else default_directory(os.environ)
            )
            self._disk = DiskJournal(
                self._directory,
                max_bytes=static.disk_max_bytes,
                clock=clock,
                tasks=tasks,
                log=log,
                everything=ledger.everything,
            )
            if self._has_own_secret:
                self.secret = _own_secret(self._directory, log)
        self._redis: _Redis | None = None
        if static.redis_url:
            self._redis = _Redis(
                static,
                everything=ledger.everything,
                max_entries=max_entries,
                clock=clock,
                tasks=tasks,
                log=log,
            )
        self.shared: Shared | None = self._redis.shared if self._redis is not None else None
        ledger.keep_in(self._journals())

    async def open(self) -> None:
        """Connect, and agree with the other replicas on a secret: within OPEN_SECONDS, or later."""
        if self._redis is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPEN_SECONDS):
                await self._redis.start()
                if self._has_own_secret:
                    await self._agree(self._redis)
        if self._has_own_secret:
            self._tasks.keep(self._keep_agreed, "redis secret", every=SECRET_SECONDS)

    async def start(self) -> None:
        """Take in what was kept, and follow what others change."""
        if self._directory is not None and self._has_own_secret:
            self._tasks.keep(self._keep_secret, "disk secret", every=RESTORE_SECONDS)
        try:
            async with asyncio.TaskGroup() as group:
                for journal in self._journals():
                    group.create_task(journal.start(self._ledger.taking_in(journal)))
        finally:
            self.is_loading = False

    async def close(self) -> None:
        """Keep what waits, and end."""
        if self._directory is not None and self._has_own_secret:
            await asyncio.to_thread(secret.restore, self._directory, self.secret)
        for journal in self._journals():
            await journal.close()
        if self._redis is not None:
            await self._redis.close()

    def vectors(self) -> tuple[RedisLink, Recall] | None:
        """Redis, and what brings in the entries whose vectors are there; None without it."""
        redis = self._redis
        if redis is None:
            return None
        recall = Recall(
            redis.link,
            redis.keys,
            self._ledger.taking_in(redis.journal),
            clock=self._clock,
            deadline=redis.deadline,
        )
        return redis.link, recall

    def states(self) -> dict[str, str]:
        """What may be broken while requests are served, for /readyz: "ok", or what is wrong."""
        states = {}
        if self._disk is not None:
            states["disk"] = self._disk.state
        if self._redis is not None:
            states["redis"] = self._redis.state
        return states

    def figures(self) -> Figures:
        """What /metrics shows of it."""
        return {
            **(self._disk.figures() if self._disk is not None else {}),
            **(self._redis.figures() if self._redis is not None else {}),
        }

    def _journals(self) -> list[Journal]:
        """The nearest first."""
        redis = self._redis.journal if self._redis is not None else None
        return [journal for journal in (self._disk, redis) if journal is not None]

    async def _agree(self, redis: "_Redis") -> None:
        """Have the same secret as the other replicas, as far as Redis tells it."""
        found = await common_secret(redis.link, redis.prefix, self.secret)
        if found is not None and found != self.secret:
            self.secret = found
            self._on_secret(found)
            if self._directory is not None:
                await asyncio.to_thread(secret.replace, self._directory, found)

    async def _keep_secret(self, beat: Beat) -> None:
        # Whoever removes the directory under us gets a new file; without the secret nothing of it
        # would be found after a restart.
        while self._directory is not None:
            await asyncio.to_thread(secret.restore, self._directory, self.secret)
            beat()
            await asyncio.sleep(RESTORE_SECONDS)

    async def _keep_agreed(self, beat: Beat) -> None:
        # A replica that starts where the secret is lost would share nothing with the others.
        while self._redis is not None:
            await self._agree(self._redis)
            beat()
            await asyncio.sleep(SECRET_SECONDS)


def _own_secret(directory: Path, log: Log) -> bytes:
    """The secret that is kept beside the entries, made where there is none."""
    is_lost = (directory / disk.FILE).exists() and not (directory / secret.FILE).exists()
    if is_lost:
        remedy = "put the file back and restart, or go on: what was stored before ends by itself"
        told = {"path": str(directory / secret.FILE), "remedy": remedy}
        log.emit("warning", "the key of credentials is lost, and with it what was stored", told)
    return secret.load_or_make(directory, log)


class _Redis:
    """All that has to do with Redis."""

    def __init__(
        self,
        static: Static,
        *,
        everything: Callable[[], AsyncIterator[Sequence[Change]]],
        max_entries: int,
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        self.prefix = static.redis_prefix
        self.deadline = static.redis_deadline

        def connect(connections: int, *, is_told: bool = True) -> RedisLink:
            return RedisLink(
                static.redis_url,
                max_connections=connections,
                deadline=static.redis_deadline,
                prefix=self.prefix,
                clock=clock,
                tasks=tasks,
                log=log if is_told else None,
            )

        self.link = connect(static.redis_max_connections)
        self._waiting = connect(1, is_told=False)
        """Only waits for what others change; the other one tells how Redis is."""
        leases = Leases(clock)
        keys = self.keys = EntryKeys(
            self.prefix, keep_stale=KEPT_STALE_SECONDS, fence_of=leases.fence
        )
        known = KnownKeys(KNOWN_TO_ENTRIES * max_entries)
        self.journal = RedisJournal(
            self.link,
            self._waiting,
            prefix=self.prefix,
            keys=keys,
            known=known,
            everything=everything,
            arrived=lambda key: self.shared.arrived(key),
            bounds=Bounds(
                log_entries=static.redis_log_entries,
                snapshot_every=static.redis_snapshot_every,
                max_entries=max_entries,
            ),
            clock=clock,
            tasks=tasks,
            log=log,
        )
        self.shared = SharedEntries(
            self.link,
            keys=keys,
            leases=leases,
            known=self.journal.answers,
            deadline=static.redis_deadline,
            tasks=tasks,
        )

    async def start(self) -> None:
        """Connect, so that no client waits for it."""
        await self.link.start()
        self.shared.start()

    async def close(self) -> None:
        """Close all connections."""
        await self.link.close()
        await self._waiting.close()

    @property
    def state(self) -> str:
        """ "ok", or "down"."""
        return "down" if self.link.is_open else "ok"

    def figures(self) -> Figures:
        """What /metrics shows of it."""
        return {
            "redis_failures": self.link.failures,
            **self.link.figures(),
            **self.journal.figures(),
            **self.shared.figures(),
        }
