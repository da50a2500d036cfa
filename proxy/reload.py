"""Takes over a changed configuration: read, check, swap. A bad file changes nothing."""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from watchfiles import awatch

from proxy.config import Config, static_changes
from proxy.config_file import ConfigError, Problem, read_bytes
from proxy.tasks import Beat
from proxy.telemetry.described import Figures

Trigger: TypeAlias = Literal["file", "signal", "admin"]

POLL_SECONDS = 10.0
"""How long a change may go unnoticed where the file system tells nothing."""
_DEBOUNCE_MS = 1000
"""Longest time over which changes are collected into one."""
_QUIET_MS = 100
"""Time without a change after which the collected ones count; also how fast a watcher stops."""

_EMPTY = hashlib.sha256(b"").digest()
_HALF_WRITTEN = ("is empty, as while it is written", 'write "version: 1" for the defaults')


@dataclass(frozen=True, slots=True)
class ReloadResult:
    """What became of an attempt."""

    applied: bool = False
    unchanged: bool = False
    """The configuration in force is the file's already."""
    problems: tuple[Problem, ...] = ()
    """Why nothing was changed."""
    restart_required: tuple[str, ...] = ()
    """Keys whose value in the file differs from the one in force until a restart."""

    def told(self) -> dict[str, Any]:
        """As the log and the admin listener tell it."""
        return {
            "applied": self.applied,
            "unchanged": self.unchanged,
            "problems": [str(problem) for problem in self.problems],
            "restart_required": list(self.restart_required),
        }


class Reloader:
    """Holds the configuration in force and replaces it, one attempt at a time."""

    def __init__(
        self,
        path: Path | None,
        load: Callable[[], Config],
        apply: Callable[[Config], None],
        current: Config,
        *,
        report: Callable[[Trigger, ReloadResult], None],
        poll_interval: float = POLL_SECONDS,
    ) -> None:
        """`load` reads the file, so it may block and raise ConfigError; `apply` swaps.

        `report` hears of every attempt, for the log and the metrics. `poll_interval` is how many
        seconds a change may go unnoticed where the file system tells nothing.
        """
        self._path = None if path is None else path.absolute()
        self._load = load
        self._apply = apply
        self._current = current
        self._report = report
        self._poll_interval = poll_interval
        self._lock = asyncio.Lock()
        self._last = ReloadResult(unchanged=True)
        self._seen = b""

    @property
    def current(self) -> Config:
        """The configuration in force."""
        return self._current

    def figures(self) -> Figures:
        """What /metrics shows of the configuration in force."""
        dynamic = self._current.dynamic
        return {
            "config_hash_info": {self._current.digest: 1},
            "config_restart_required": float(bool(self._last.restart_required)),
            "entries_limit": dynamic.memory_max_entries,
            "store_limit_bytes": dynamic.memory_max_bytes,
            "semantic_error_budget_ratio": dynamic.policy.semantic.max_error_rate,
        }

    async def reload(self, trigger: Trigger) -> ReloadResult:
        """Take over what the file says now."""
        async with self._lock:
            return await self._reload(trigger)

    async def watch(self, beat: Beat = lambda: None) -> None:
        """Reload whenever the file's content changes, until cancelled; a beat for every look.

        Watches the directory, since a ConfigMap is swapped by a link beside the file, and compares
        the content every `poll_interval`, since subPath mounts and network file systems tell
        nothing. A directory that goes away and comes back is watched again.
        """
        if self._path is None:
            return
        while True:
            await self._look()
            beat()
            try:
                await self._watch_directory(self._path.parent, beat)
            except (OSError, RuntimeError):
                # The directory is missing, or the system has no watcher left (a RuntimeError of
                # watchfiles): the comparison goes on.
                await asyncio.sleep(self._poll_interval)

    async def _watch_directory(self, directory: Path, beat: Beat) -> None:
        """Look at every change, until nothing has changed for long or the watcher is of no use."""
        changes = awatch(
            directory,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_QUIET_MS,
            rust_timeout=round(self._poll_interval * 1000),
            yield_on_timeout=True,
            recursive=False,
        )
        async with aclosing(changes):
            async for changed in changes:
                if not changed or str(directory) in (path for _, path in changed):
                    return
                await self._look()
                beat()

    async def _look(self) -> None:
        """Reload if the content is not the one of the last attempt."""
        async with self._lock:
            if await asyncio.to_thread(self._fingerprint) != self._seen:
                await self._reload("file")

    async def _reload(self, trigger: Trigger) -> ReloadResult:
        fingerprint, found = await asyncio.to_thread(self._read)
        # Not before: an attempt that was cancelled meanwhile has seen nothing.
        self._seen = fingerprint
        had_failed = bool(self._last.problems)
        if isinstance(found, Config):
            self._last = self._take_over(found)
        else:
            self._last = replace(self._last, applied=False, unchanged=False, problems=found)
        if trigger != "file" or had_failed or not self._last.unchanged:
            self._report(trigger, self._last)
        return self._last

    def _read(self) -> tuple[bytes, Config | tuple[Problem, ...]]:
        # The fingerprint comes first: what changes in between is noticed by the next look.
        fingerprint = self._fingerprint()
        if fingerprint == _EMPTY:
            # With an upstream on the command line it would be valid: all defaults.
            return fingerprint, (Problem("", 0, 0, *_HALF_WRITTEN, str(self._path)),)
        try:
            return fingerprint, self._load()
        except ConfigError as error:
            return fingerprint, error.problems

    def _fingerprint(self) -> bytes:
        """Stands for the file's content, or for why there is none."""
        if self._path is None:
            return b""
        try:
            return hashlib.sha256(read_bytes(self._path)).digest()
        except ConfigError as error:
            return str(error).encode()

    def _take_over(self, config: Config) -> ReloadResult:
        if config.digest == self._current.digest:
            return ReloadResult(unchanged=True, restart_required=self._last.restart_required)
        restart_required = tuple(static_changes(self._current, config))
        merged = config.with_static_of(self._current)
        self._apply(merged)
        self._current = merged
        return ReloadResult(applied=True, restart_required=restart_required)
