"""The vector index of this process: a port on the event loop, one thread that owns the vectors.

The loop side only puts work into a queue; it does not know which keys there are. The thread does
one piece of work after the other, so that a search sees every change made before it; between them
it does a little of what can wait.
"""

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Generic, TypeVar

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.ports import Matrix, Neighbour, Vector
from proxy.semantic.index_file import (
    StoredCell,
    encode_head,
    encode_tail,
    read,
    verify,
)
from proxy.semantic.index_graph import is_available
from proxy.semantic.index_partitions import Partitions
from proxy.semantic.unit_vector import checked, checked_rows
from proxy.telemetry.log import Log

_MAX_WAITING = 10_000
_SAVE_BYTES = 96 * 1024
"""A search waits for no more of a save or a load than this: 1 ms."""
_LOAD_ENTRIES = 256
_JOBS_A_STEP = 16
"""What can wait is done after so many pieces of work, however many there are."""
_REST_SECONDS = 0.002
"""For each entry that is taken in, what can wait waits so long: a start is over sooner, and when
others learn 200 entries a second more than half of the time is left."""

_T = TypeVar("_T")


class _Ask(Generic[_T]):
    """Work of the thread whose result a task waits for."""

    __slots__ = ("_loop", "_work", "result")

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[_T] = self._loop.create_future()

    def __call__(self) -> None:
        """Do it, in the thread."""
        if not self.result.cancelled():
            self._tell(self._set_result, self._work())

    def refuse(self) -> None:
        """Say that it will not be done, from any thread."""
        self._tell(self._set_closed)

    def _tell(self, how: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(how, *arguments)

    def _set_result(self, value: _T) -> None:
        if not self.result.done():
            self.result.set_result(value)

    def _set_closed(self) -> None:
        if not self.result.done():
            self.result.set_exception(NotCompared(Uncompared.BROKEN))


class PartitionedIndex:
    """The VectorIndex port in memory. All methods belong to the event loop; none blocks it."""

    is_shared = False

    def __init__(self, *, scan_below: int, log: Log, max_waiting: int = _MAX_WAITING) -> None:
        """Partitions of up to `scan_below` are compared whole, larger ones by a graph; with
        `max_waiting` pieces of work in the queue, what is added is left out."""
        self._dimensions: int | None = None
        """As the first vector has."""
        self._scan_below = scan_below
        self._log = log
        self._has_warned = False
        self._max_waiting = max_waiting
        self._searches: dict[_Ask[list[Neighbour]], set[bytes]] = {}
        """Of each search on its way, the keys that were changed after it was asked."""
        self._partitions = Partitions(scan_below=scan_below, on_large=self._warn)
        """Touched by the thread only."""
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._jobs_since_step = 0
        self._resting_until = 0.0
        """Touched by the thread only."""
        self._saving = asyncio.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._own, name="vector index", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many entries can be found, as far as the thread has come."""
        return len(self._partitions)

    def add(self, partition: bytes, key: bytes, vector: Vector, *, until: float = inf) -> None:
        """Take an entry in, soon; in place of what the key had. Never blocks.

        It stays until it is discarded, whatever `until` says. Raises ValueError for a vector that
        is not of the size of the first and of length 1.
        """
        own = self._checked(vector)
        if self._jobs.qsize() < self._max_waiting:
            self._change(key, partial(self._partitions.add, partition, key, own))
        else:
            self.discard(partition, key)

    def prolong(self, partition: bytes, key: bytes, until: float) -> None:
        """Nothing ends here by itself."""

    def discard(self, partition: bytes, key: bytes) -> None:
        """From now on no search returns this entry. Never blocks; unknown keys are fine."""
        self._change(key, partial(self._partitions.discard, key))

    async def take_in(
        self, partition: bytes, keys: Sequence[bytes], vectors: Matrix, *, until: float = inf
    ) -> None:
        """Take in those that are not here, and wait until they can be found.

        Raises ValueError as `add` does, and NotCompared where the index is closed.
        """
        rows = checked_rows(vectors, self._dimensions)
        self._dimensions = rows.shape[1]
        await self._ask(partial(self._add_missing, partition, list(keys), rows))

    async def vectors(self, partition: bytes, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of some entries, as far as they are here. Raises NotCompared."""
        return await self._ask(partial(self._partitions.vectors, keys))

    async def search(self, partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of one partition, nearest first; sees every `add` before it.

        Raises ValueError as `add` does, and NotCompared where the index is closed.
        """
        asked = self._checked(vector)
        return await self._search(partial(self._partitions.search, partition, asked, limit))

    async def search_all(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of all partitions. Slow: it searches every one."""
        asked = self._checked(vector)
        return await self._search(partial(self._partitions.search_all, asked, limit))

    async def counts(self) -> dict[bytes, int]:
        """How many entries each partition has. Raises NotCompared."""
        return await self._ask(self._partitions.counts)

    async def save(self, path: Path, identity: str) -> int:
        """Write what is here now to a file, in place of what it had, and tell how many entries.

        `identity` is the encoder's. Searches go on meanwhile. Raises OSError and NotCompared; the
        file is then as it was.
        """
        async with self._saving:
            entries = await self._ask(self._partitions.begin_snapshot)
            part = path.with_name(path.name + ".part")
            try:
                file = await asyncio.to_thread(part.open, "wb")
                try:
                    await self._write(file, identity, entries)
                finally:
                    await asyncio.to_thread(file.close)
                await asyncio.to_thread(os.replace, part, path)
            finally:
                self._jobs.put(self._partitions.end_snapshot)
                await asyncio.to_thread(part.unlink, missing_ok=True)
        return entries

    async def load(self, path: Path, identity: str, *, is_wanted: Callable[[bytes], bool]) -> int:
        """Take in the entries of a file that are wanted now, and tell how many those were.

        The file is checked to its end before anything is taken. What was added meanwhile stays as
        it is. Raises UnusableIndexFile, OSError and NotCompared.
        """
        await asyncio.to_thread(verify, path, dimensions=self._dimensions, identity=identity)
        stored, taken = read(path, dimensions=self._dimensions, identity=identity), 0
        try:
            while batch := await asyncio.to_thread(_next_cells, stored):
                # Not faster than the thread.
                taken += sum(await asyncio.gather(*self._take_in(batch, is_wanted)))
        finally:
            stored.close()
        return taken

    async def close(self) -> None:
        """End the thread after the work that waits; what is asked later raises NotCompared."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _checked(self, vector: Vector) -> Vector:
        copy = checked(vector, self._dimensions)
        self._dimensions = len(copy)
        return copy

    async def _search(self, work: Callable[[], list[Neighbour]]) -> list[Neighbour]:
        ask = _Ask(work)
        changed: set[bytes] = set()
        self._searches[ask] = changed
        try:
            found = await self._put(ask)
        finally:
            del self._searches[ask]
        return [near for near in found if near.key not in changed]

    async def _ask(self, work: Callable[[], _T]) -> _T:
        return await self._put(_Ask(work))

    def _put(self, ask: _Ask[_T]) -> asyncio.Future[_T]:
        self._jobs.put(ask)
        if self._ended:  # perhaps nobody takes it out of the queue
            ask.refuse()
        return ask.result

    def _change(self, key: bytes, work: Callable[[], None]) -> None:
        for changed in self._searches.values():
            changed.add(key)
        if not self._ended:
            self._jobs.put(work)

    def _take_in(
        self, cells: list[StoredCell], is_wanted: Callable[[bytes], bool]
    ) -> Generator[asyncio.Future[int], None, None]:
        """Put what is wanted into the queue; of each cell, how many entries were not here."""
        for cell in cells:
            rows = [row for row, key in enumerate(cell.keys) if is_wanted(key)]
            if rows:
                keys, vectors = [cell.keys[row] for row in rows], cell.vectors[rows]
                self._dimensions = vectors.shape[1]
                yield self._put(_Ask(partial(self._add_missing, cell.partition, keys, vectors)))

    async def _write(self, file: BinaryIO, identity: str, entries: int) -> None:
        records = encode_head(self._dimensions or 0, identity)
        while records:
            await asyncio.to_thread(file.write, records)
            records = await self._ask(partial(self._partitions.next_records, _SAVE_BYTES))
        await asyncio.to_thread(file.write, encode_tail(entries))
        await asyncio.to_thread(_sync, file)

    def _own(self) -> None:
        job: Callable[[], object] | None = None
        try:
            while (job := self._next_job()) is not None:
                job()
        finally:
            # Also where a piece of work raised: the index is closed then, and nobody waits in vain.
            self._ended = True
            _refuse(job)
            with contextlib.suppress(queue.Empty):
                while True:
                    _refuse(self._jobs.get_nowait())

    def _next_job(self) -> Callable[[], object] | None:
        while self._partitions.has_work:
            rest = self._resting_until - monotonic()
            if rest > 0:
                with contextlib.suppress(queue.Empty):
                    return self._jobs.get(timeout=rest)
            elif self._jobs_since_step < _JOBS_A_STEP and not self._jobs.empty():
                break
            else:
                self._partitions.work()
                self._jobs_since_step = 0
        self._jobs_since_step += 1
        return self._jobs.get()

    def _add_missing(self, partition: bytes, keys: list[bytes], vectors: Matrix) -> int:
        """In the thread: take entries in; what can wait does so while many come."""
        taken = self._partitions.add_missing(partition, keys, vectors)
        self._resting_until = monotonic() + _REST_SECONDS * taken
        return taken

    def _warn(self, entries: int) -> None:
        if not is_available() and not self._has_warned:
            self._has_warned = True
            told = {"missing": "hnswlib", "entries": entries, "scan_below": self._scan_below}
            self._log.emit("warning", "large partition compared whole", told)


def _refuse(job: Callable[[], object] | None) -> None:
    if isinstance(job, _Ask):
        job.refuse()


def _next_cells(cells: Generator[StoredCell, None, None]) -> list[StoredCell]:
    """The next cells, with `_LOAD_ENTRIES` entries or more if there are so many."""
    batch, entries = [], 0
    for cell in cells:
        batch.append(cell)
        entries += len(cell.keys)
        if entries >= _LOAD_ENTRIES:
            break
    return batch


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
