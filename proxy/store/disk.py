"""What is learnt, kept in a file that several processes share (mission C2, design 8).

Changes wait here for a quarter of a second and go to the file together; as often the file is asked
for what other processes have changed. All that touches the disk is done by one thread.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from proxy.core.cache.change import Aliased, Change, Learnt, Put
from proxy.ports import Clock, TakeIn
from proxy.store.codec import Key, key_of
from proxy.store.disk_file import DiskFile, DiskTrouble
from proxy.store.disk_rows import AT_ONCE
from proxy.tasks import Beat, Tasks
from proxy.telemetry.log import Log

FILE = "entries.sqlite"
TICK_SECONDS = 0.25
"""How long a change waits, and how long others wait to be asked, when all is in order."""
RETRY_SECONDS = 30.0
MAX_WAITING = 20_000
MAX_WAITING_BYTES = 64 << 20
"""What may wait. Over it answers are dropped; that something has to go is never."""
SOON_WAITING = 2_000
SOON_WAITING_BYTES = 8 << 20
"""From here on what waits goes to the file at once."""
CLOSE_SECONDS = 1.5
_CHANGE_BYTES = 512

P = ParamSpec("P")
T = TypeVar("T")


class DiskJournal:
    """Fulfils the Journal port."""

    def __init__(
        self,
        directory: Path,
        *,
        max_bytes: int,
        clock: Clock,
        tasks: Tasks,
        log: Log,
        everything: Callable[[], AsyncIterator[Sequence[Change]]] | None = None,
    ) -> None:
        """`everything` gives what is in memory, in slices.

        It is asked for where the file was lost, or nothing could be written for a while.
        """
        self._path = directory / FILE
        self._clock = clock
        self._tasks = tasks
        self._log = log
        self._everything = everything
        self._file = DiskFile(
            self._path, max_bytes=max_bytes, writer=secrets.randbits(62), clock=clock, log=log
        )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="disk")
        self._take_in: TakeIn = _take_nothing
        self._waiting: dict[Key, Change] = {}
        self._writing: dict[Key, Change] = {}
        """What the thread has; it is here until it is known to be in the file."""
        self._waiting_bytes = 0
        self._writing_bytes = 0
        self._soon = asyncio.Event()
        self._stop: Callable[[], object] = lambda: None
        self._stop_loading: Callable[[], object] = lambda: None
        self._is_closed = False
        self._has_loaded = False
        self._is_loading = False
        self._is_stopped = False
        """The disk does not let us write."""
        self._retry_at = 0.0
        self._owes_everything = False
        self._committed_at = clock.monotonic()
        self._dropped = 0
        self._write_errors = 0

    def append(self, change: Change) -> None:
        """Keep it, and let the other processes know, within half a second."""
        if self._is_closed:
            return
        name = key_of(change)
        before = self._waiting.get(name)
        if before is not None and _moment(before) > _moment(change):
            return
        if before is None and self._is_full() and isinstance(change, Put | Learnt | Aliased):
            self._dropped += 1
            return
        if before is not None:
            # It moves to the end, behind what has to happen before.
            del self._waiting[name]
            self._waiting_bytes -= _weight(before)
        self._waiting[name] = change
        self._waiting_bytes += _weight(change)
        if len(self._waiting) > SOON_WAITING or self._waiting_bytes > SOON_WAITING_BYTES:
            self._soon.set()

    async def start(self, take_in: TakeIn) -> None:
        """Hand over what is in the file, then what other processes change."""
        self._take_in = take_in
        # What is changed meanwhile is written meanwhile.
        self._stop = self._tasks.keep(self._run, "disk", every=4 * TICK_SECONDS)
        await self._load()

    async def close(self) -> None:
        """Write what waits, within a second or two, and end."""
        if self._is_closed:
            return
        self._is_closed = True
        self._stop()
        self._stop_loading()
        self._take_in = _take_nothing
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._waiting or self._writing:
                    await self._exchange()
                await self._write_everything()
        except (TimeoutError, DiskTrouble):
            if not self._is_stopped:
                self._log.emit("warning", "not all was kept on disk", {"path": str(self._path)})
        # A disk that hangs is not waited for.
        closing = self._thread.submit(self._file.close)
        self._thread.shutdown(wait=False)
        await asyncio.wait((asyncio.wrap_future(closing),), timeout=CLOSE_SECONDS)

    @property
    def state(self) -> str:
        """ "ok", or "stopped": nothing can be written."""
        return "stopped" if self._is_stopped else "ok"

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        age = self._clock.monotonic() - self._committed_at
        return {
            "disk_up": float(not self._is_stopped),
            "disk_rows": self._file.rows,
            "disk_bytes": self._file.size_bytes,
            "disk_queue": len(self._waiting) + len(self._writing),
            "disk_last_commit_timestamp_seconds": self._clock.now() - age,
            "disk_dropped": self._dropped,
            "disk_write_errors": self._write_errors,
            "disk_unreadable": self._file.unreadable,
        }

    async def _run(self, beat: Beat) -> None:
        has_more = False
        while True:
            if not has_more:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._soon.wait()
            self._soon.clear()
            if self._is_stopped and self._clock.monotonic() < self._retry_at:
                # What waits may be as much as may wait: that is no reason to ask the disk again.
                await asyncio.sleep(TICK_SECONDS)
                continue
            did_well, has_more = await self._turn()
            if did_well:
                beat()

    async def _turn(self) -> tuple[bool, bool]:
        """Do what there is to do; whether that went well, and whether there is more."""
        try:
            has_more = await self._in_thread(_tend, self._file)
            await self._exchange()
            self._recovered()
            await self._write_everything()
        except DiskTrouble as error:
            self._troubled(error)
            return False, False
        if not self._has_loaded and not self._is_loading:
            self._stop_loading = self._tasks.spawn(self._load(), "load disk")
        return True, has_more

    async def _load(self) -> None:
        """Hand over what is in the file; where that cannot be done, it is tried again."""
        self._is_loading = True
        try:
            while await self._in_thread(self._file.purge):
                pass
            for rows in await self._in_thread(self._file.listing):
                if self._is_closed:
                    return
                changes = await self._in_thread(self._file.read, rows)
                if changes:
                    await self._take_in(changes)
            self._has_loaded = True
        except DiskTrouble as error:
            self._troubled(error)
        finally:
            self._is_loading = False

    async def _exchange(self) -> None:
        """Write what waits, and hand over what others have changed. Raises DiskTrouble."""
        if not self._writing:
            self._writing, self._waiting = self._waiting, {}
            self._writing_bytes, self._waiting_bytes = self._waiting_bytes, 0
        try:
            changes = await self._in_thread(self._file.exchange, list(self._writing.values()))
        except (TypeError, ValueError, OverflowError):
            # A change that is none: it may not keep the others from the file for ever.
            self._dropped += len(self._writing)
            self._writing = {}
            raise
        self._writing = {}
        self._writing_bytes = 0
        self._committed_at = self._clock.monotonic()
        for start in range(0, len(changes), AT_ONCE):
            await self._take_in(changes[start : start + AT_ONCE])

    async def _write_everything(self) -> None:
        """Write anew what is in memory, where the file may not have it."""
        if self._file.is_another:
            self._file.is_another = False
            self._owes_everything = True
        if not self._owes_everything:
            return
        if self._everything is not None:
            async for changes in self._everything():
                others = await self._in_thread(self._file.exchange, changes)
                if others:
                    await self._take_in(others)
        self._owes_everything = False

    def _troubled(self, error: DiskTrouble) -> None:
        self._write_errors += 1
        now = self._clock.monotonic()
        if error.is_busy and now - self._committed_at < RETRY_SECONDS:
            return
        self._retry_at = now + RETRY_SECONDS
        if not self._is_stopped:
            self._is_stopped = True
            told = {
                "path": str(self._path),
                "why": str(error),
                "remedy": "make room or mend the disk; it is tried again every "
                f"{RETRY_SECONDS:.0f} s, and everything is served meanwhile",
            }
            self._log.emit("error", "nothing is kept on disk", told)

    def _recovered(self) -> None:
        if self._is_stopped:
            self._is_stopped = False
            self._owes_everything = True
            self._log.emit("info", "kept on disk again", {"path": str(self._path)})

    def _is_full(self) -> bool:
        count = len(self._waiting) + len(self._writing)
        size_bytes = self._waiting_bytes + self._writing_bytes
        return count >= MAX_WAITING or size_bytes >= MAX_WAITING_BYTES

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))


def _tend(file: DiskFile) -> bool:
    """Do a piece of what waits in the file; whether there is more."""
    return file.purge() or file.upkeep()


async def _take_nothing(changes: Sequence[Change]) -> None:
    """For before the start."""


def _moment(change: Change) -> float:
    """When it was, for those of which the last counts."""
    match change:
        case Put(stored):
            return stored.created
        case Learnt():
            return 0.0
        case _:
            return change.at


def _weight(change: Change) -> int:
    """About the bytes that it takes while it waits."""
    match change:
        case Put(stored):
            return _CHANGE_BYTES + len(stored.body) + len(stored.head)
        case Learnt():
            return _CHANGE_BYTES + len(change.vector) + 4 * len(change.text)
        case _:
            return _CHANGE_BYTES
