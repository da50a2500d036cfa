"""The vector index that all replicas have in common: Redis vector sets (Redis 8.2 or newer).

What is added or discarded waits in a bounded queue and is written in batches behind the requests.
A search is one round trip within a deadline. While Redis is broken, what is asked is not compared.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.core.meaning.vectors import to_bytes
from proxy.ports import Clock, Matrix, Neighbour, Vector
from proxy.redis_link.errors import LinkDown, Reason
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_batch import NoVectorSets, ask
from proxy.semantic.redis_commands import (
    Add,
    Command,
    Discard,
    Element,
    Names,
    Prolong,
    Write,
    elements,
    search_command,
    vector_of,
)
from proxy.semantic.redis_queue import Waiting
from proxy.semantic.redis_sweep import Sweep, in_parts
from proxy.semantic.redis_writer import BEAT_SECONDS, Writer
from proxy.semantic.unit_vector import checked
from proxy.tasks import Beat, Tasks
from proxy.telemetry.log import Log

SEARCH_SECONDS = 0.1
"""What a search may cost a request, unless it is told otherwise."""
SWEEP_SECONDS = 600.0
"""How often expired entries are looked for, by one replica for all."""
_PATIENT_SECONDS = 5.0
"""How long Redis may take for what nobody waits for."""
_CLOSE_SECONDS = 1.0
_MAX_WAITING = 10_000
_SPARE = 3
"""So many more are asked for, since some may have expired."""
_MAX_LARGE = 4096
_PARTITIONS_AT_ONCE = 256
_MAX_PARTITIONS = 4096
"""An explanation looks at so many partitions, those first that end last."""


class RedisIndex:
    """The VectorIndex port in Redis. All methods belong to the event loop; none blocks it."""

    is_shared = True

    def __init__(
        self,
        link: RedisLink,
        *,
        prefix: str,
        name: str,
        identity: Callable[[], str],
        scan_below: int,
        clock: Clock,
        tasks: Tasks,
        log: Log,
        deadline: float = SEARCH_SECONDS,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        """`identity` is the encoder's, empty as long as that is not loaded; `name` is for people.

        Partitions of up to `scan_below` are compared whole. `deadline` of a search is in seconds.
        """
        self._link = link
        self._prefix = prefix
        self._name = name
        self._identity = identity
        self._scan_below = scan_below
        self._clock = clock
        self._log = log
        self._deadline = deadline
        self._names: Names | None = None
        self._dimensions: int | None = None
        self._large: OrderedDict[bytes, None] = OrderedDict()
        """Partitions that had more than `scan_below` entries when they were searched last."""
        self._waiting = Waiting(max_waiting)
        self._writer = Writer(
            link,
            self._waiting,
            names=lambda: None if self._is_unsupported else self._find_names(),
            on_written=self._note_written,
            on_unsupported=lambda: self._note_support(is_there=False),
        )
        self._searches: list[set[bytes]] = []
        """Of each search on its way, the keys that were changed after it was asked."""
        self._entries = 0
        self._is_unsupported = False
        self._is_closed = False
        self._stop = (
            tasks.keep(self._writer.run, f"vectors {name}", every=BEAT_SECONDS),
            tasks.keep(self._keep_sweeping, f"expired vectors {name}", every=SWEEP_SECONDS),
        )

    def __len__(self) -> int:
        """How many entries there were when they were counted last."""
        return self._entries

    def add(self, partition: bytes, key: bytes, vector: Vector, *, until: float = inf) -> None:
        """Take an entry in, soon; in place of what the key had. Never blocks.

        Raises ValueError for a vector that is not of the size of the first and of length 1.
        """
        own = to_bytes(self._checked(vector))
        self._change(Add(partition, key, own, until))

    async def take_in(
        self, partition: bytes, keys: Sequence[bytes], vectors: Matrix, *, until: float = inf
    ) -> None:
        """Add those that are not there, soon. Raises ValueError as `add` does."""
        for key, vector in zip(keys, vectors, strict=True):
            own = to_bytes(self._checked(vector))
            self._change(Add(partition, key, own, until, is_offer=True))

    async def vectors(self, partition: bytes, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of some entries of a partition, as far as they can be had now."""
        names, dimensions = self._names, self._dimensions
        if names is None or dimensions is None:
            return {}
        name = names.vectors(partition)
        try:
            replies = await self._ask([("VEMB", name, key.hex(), "RAW") for key in keys])
        except NotCompared:
            return {}
        found = ((key, vector_of(one, dimensions)) for key, one in zip(keys, replies, strict=True))
        return {key: vector for key, vector in found if vector is not None}

    def prolong(self, partition: bytes, key: bytes, until: float) -> None:
        """Let an entry be found until another moment. Never blocks; unknown keys are fine."""
        self._change(Prolong(partition, key, until))

    def discard(self, partition: bytes, key: bytes) -> None:
        """From now on no search of this process returns this entry, and soon none of any."""
        self._change(Discard(partition, key))

    async def search(self, partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of one partition, nearest first.

        Raises ValueError as `add` does, and NotCompared where Redis does not answer in time.
        """
        names = self._named(self._checked(vector))
        name, is_large = names.vectors(partition), partition in self._large
        command = search_command(name, vector, limit + _SPARE, is_large=is_large)
        with self._watching() as changed:
            found, size = await self._ask([command, ("VCARD", name)], deadline=self._deadline)
            self._note_size(partition, int(size))
            return self._current(partition, elements(found), changed)[:limit]

    async def search_all(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of all partitions. Slow: it searches one after the other.

        Of very many partitions some are left out. Raises as `search` does.
        """
        names = self._named(self._checked(vector))
        best: list[Neighbour] = []
        with self._watching() as changed:
            for partitions in in_parts(await self._partitions(names), _PARTITIONS_AT_ONCE):
                commands = [
                    search_command(names.vectors(one), vector, limit + _SPARE, is_large=True)
                    for one in partitions
                ]
                replies = await self._ask(commands)
                for one, reply in zip(partitions, replies, strict=True):
                    best += self._current(one, elements(reply), changed)
                best.sort(key=lambda near: -near.similarity)
                del best[limit:]
        return best

    async def counts(self) -> dict[bytes, int]:
        """How many entries each partition has, of up to 4096 of them. Raises NotCompared."""
        if self._names is None:
            return {}
        found: dict[bytes, int] = {}
        for partitions in in_parts(await self._partitions(self._names), _PARTITIONS_AT_ONCE):
            commands = [("VCARD", self._names.vectors(one)) for one in partitions]
            sizes = await self._ask(commands)
            found.update((one, int(size)) for one, size in zip(partitions, sizes, strict=True))
        found = {partition: size for partition, size in found.items() if size}
        self._entries = sum(found.values())
        return found

    async def written(self, *, within: float = _PATIENT_SECONDS) -> None:
        """Wait until all that was changed here is in Redis. Raises TimeoutError."""
        await self._writer.done(within=within)

    async def sweep(self) -> int:
        """Take out what has expired, and count what is there; how many were taken out.

        Does nothing where another replica has done so a short while ago. Raises LinkDown and
        NoVectorSets.
        """
        names = self._find_names()
        if names is None:
            return 0
        sweep = Sweep(self._link, names, self._clock)
        try:
            gone = await sweep.run(every=SWEEP_SECONDS)
        except NoVectorSets:
            self._note_support(is_there=False)
            raise
        self._entries = sweep.entries
        return gone

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {
            "vectors_shared": self._entries,
            "vectors_waiting": len(self._waiting),
            "vectors_left_out": self._waiting.left_out,
        }

    async def close(self) -> None:
        """Write what waits, within a second, and end; what is asked later raises NotCompared."""
        self._is_closed = True
        for stop in self._stop:
            stop()
        await self._writer.finish(within=_CLOSE_SECONDS)

    def _checked(self, vector: Vector) -> Vector:
        copy = checked(vector, self._dimensions)
        self._dimensions = len(copy)
        return copy

    def _named(self, vector: Vector) -> Names:
        """Where the vectors are. Raises NotCompared where nothing is to be found there now."""
        names = self._find_names()
        if self._is_closed or self._is_unsupported:
            raise NotCompared(Uncompared.BROKEN)
        if names is None:
            raise NotCompared(Uncompared.LOADING)
        return names

    def _find_names(self) -> Names | None:
        if self._names is None and self._dimensions is not None and (identity := self._identity()):
            self._names = Names(self._prefix, identity, self._dimensions)
        return self._names

    def _change(self, write: Write) -> None:
        for changed in self._searches:
            changed.add(write.key)
        if not self._is_closed and not self._is_unsupported:
            self._waiting.put(write)
            self._writer.wake()

    def _note_written(self, writes: Sequence[Write]) -> None:
        # A search that Redis did before this must not give what was discarded before that.
        discarded = [write.key for write in writes if isinstance(write, Discard)]
        for changed in self._searches:
            changed.update(discarded)

    @contextlib.contextmanager
    def _watching(self) -> Iterator[set[bytes]]:
        changed: set[bytes] = set()
        self._searches.append(changed)
        try:
            yield changed
        finally:
            # By identity: sets that are equal are not the same.
            self._searches = [other for other in self._searches if other is not changed]

    def _current(
        self, partition: bytes, found: Sequence[Element], changed: set[bytes]
    ) -> list[Neighbour]:
        now, current = self._clock.now(), []
        for element in found:
            if element.key in changed or self._waiting.is_discarded(element.key):
                continue
            if element.until <= now:
                # Else it would go on taking the place of one that may be served.
                self.discard(partition, element.key)
            else:
                current.append(Neighbour(element.key, element.similarity))
        return current

    def _note_size(self, partition: bytes, size: int) -> None:
        if size <= self._scan_below:
            self._large.pop(partition, None)
            return
        self._large[partition] = None
        self._large.move_to_end(partition)
        if len(self._large) > _MAX_LARGE:
            self._large.popitem(last=False)

    async def _partitions(self, names: Names) -> list[bytes]:
        command = ("ZREVRANGE", names.partitions, 0, _MAX_PARTITIONS - 1)
        (found,) = await self._ask([command])
        return list(found)

    async def _ask(
        self, commands: Sequence[Command], *, deadline: float | None = None
    ) -> list[Any]:
        """Ask for a request, or without a deadline for who is patient. Raises NotCompared."""
        try:
            return await ask(
                self._link,
                commands,
                deadline=deadline or _PATIENT_SECONDS,
                important=deadline is None,
            )
        except LinkDown as down:
            is_late = down.reason is Reason.TIMEOUT
            raise NotCompared(Uncompared.DEADLINE if is_late else Uncompared.BROKEN) from None
        except NoVectorSets:
            self._note_support(is_there=False)
            raise NotCompared(Uncompared.BROKEN) from None

    def _note_support(self, *, is_there: bool) -> None:
        if self._is_unsupported is not is_there:
            return
        self._is_unsupported = not is_there
        told = {"encoder": self._name}
        if is_there:
            self._log.emit("info", "redis has vector sets now", told)
        else:
            told["remedy"] = "use Redis 8.2 or newer, with V* commands allowed; or index: memory"
            self._log.emit("error", "redis has no vector sets: nothing is compared", told)

    async def _keep_sweeping(self, beat: Beat) -> None:
        while True:
            pause = SWEEP_SECONDS
            try:
                await self.sweep()
            except NoVectorSets:
                pass  # it was told of
            except LinkDown:
                pause = BEAT_SECONDS
            else:
                beat()
                if self._names is not None:
                    self._note_support(is_there=True)
                else:
                    pause = BEAT_SECONDS
            await asyncio.sleep(pause)
