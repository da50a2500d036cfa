"""Very many entries in one partition: how long a search takes, and what each of them weighs.

`python -m tests.bench.crowd SIZE ...`, in a process of its own, for its memory is measured; prints
JSON. The level is that of `serve`; only the encoder is left out, which would take minutes: vectors
are drawn, and spread as those of sentences are, in fewer directions than they have numbers.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter

import numpy as np
import uvloop

from proxy.clock import SystemClock
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.verifier import Verifier
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.meaning import Meaning
from proxy.pipeline.space import NEIGHBOURS, Space
from proxy.ports import Vector
from proxy.semantic.index import PartitionedIndex
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.bench.lane import shipped_settings
from tests.bench.load import quantile
from tests.bench.processes import ROOT, BenchError, python, resident_bytes
from tests.bench.questions import ENGLISH
from tests.bench.work import CHAT_ANSWER
from tests.core.values import stored_response
from tests.fakes.semantic import FakeEncoder
from tests.pipeline.plans import plan

_TEXT = "How do I file claim {:05} for a bicycle?"
_OWN_BYTES = len(_TEXT.format(0))
DIMENSIONS = 384
_DIRECTIONS = 48
_NOISE = 0.3
_CHUNK = 500
_DRAWN_AT_ONCE = 16
_SEARCHES = 400
_FIRST = 500
"""Entries that go before what is weighed: what is loaded and allocated once is not theirs."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What was found at one size; times in microseconds."""

    entries: int
    search_p50: float
    search_p99: float
    bytes_per_entry: float
    """Of the semantic level, above what the store has of the entry and the question's own bytes."""
    seconds: float
    """Until the index had settled."""


class DrawnVectors:
    """Drawn vectors of length 1."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)
        self._basis = self._chance.standard_normal((_DIRECTIONS, DIMENSIONS), np.float32)

    def draw(self, count: int) -> Iterator[Vector]:
        """So many, a few at a time: large arrays would leave gaps that count as memory in use."""
        chance = self._chance
        for start in range(0, count, _DRAWN_AT_ONCE):
            few = min(_DRAWN_AT_ONCE, count - start)
            within = chance.standard_normal((few, _DIRECTIONS), np.float32) @ self._basis
            around = chance.standard_normal((few, DIMENSIONS), np.float32)
            drawn = within / np.sqrt(_DIRECTIONS, dtype=np.float32) + np.float32(_NOISE) * around
            yield from drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class _Level:
    """The semantic level before a store that has the entries already."""

    def __init__(self, store: MemoryStore) -> None:
        """Must be made on the event loop."""
        log = StructLog(lambda line: None, form="json", level="info", wall=lambda: 0.0)
        self.index = PartitionedIndex(scan_below=shipped_settings().scan_below, log=log)
        self._space = Space(ENGLISH.encoder, FakeEncoder(), self.index)
        self.meaning = Meaning(
            pick=lambda text: self._space,
            gate=Gate(Verifier({}, {})),
            store=store,
            aliases=Aliases(),
            negatives=Negatives(),
            clock=SystemClock(),
            tasks=Tasks(lambda name, error: None),
        )

    async def take_in(self, stored: Sequence[StoredResponse], vectors: Iterator[Vector]) -> None:
        """Learn entries as if their vectors had been made just now."""
        for answer, vector in zip(stored, vectors, strict=True):
            asked = _plan(len(self.meaning))
            # As in the recorder: entry and plan have the same bytes for a key.
            asked = asked._replace(key=asked.key._replace(exact=answer.key))
            self.meaning._embedded[answer.key] = (self._space, vector)
            self.meaning.learn(asked, answer)
        await self.index.counts()  # behind all that waits

    async def settle(self) -> None:
        """Wait until the index does nothing by itself any more."""
        partitions = self.index._partitions
        while await self.index._ask(lambda: partitions.has_work):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)

    async def time_searches(self, vectors: Iterator[Vector]) -> list[float]:
        """Seconds of each search, sorted; in the thread that owns the vectors, without the way."""
        return await self.index._ask(partial(self._time, list(vectors)))

    def _time(self, vectors: Sequence[Vector]) -> list[float]:
        taken = []
        history = _plan(0).key.history
        for vector in vectors:
            began = perf_counter()
            found = self.index._partitions.search(history, vector, NEIGHBOURS)
            taken.append(perf_counter() - began)
            if len(found) != NEIGHBOURS:
                raise BenchError(f"a search found {len(found)} entries")
        return sorted(taken)


def _plan(number: int) -> Lookup:
    return plan(_TEXT.format(number))


def _stored(number: int, now: float) -> StoredResponse:
    asked = _plan(number)
    return stored_response(
        key=asked.key.exact, tenant=asked.tenant, body=CHAT_ANSWER, created=now, ttl=86400.0
    )


async def _measure(sizes: Sequence[int]) -> list[Crowd]:
    store = MemoryStore(max_bytes=1 << 40, max_entries=1 << 40, max_entry_bytes=1 << 20)
    level, vectors, now = _Level(store), DrawnVectors(), SystemClock().now()
    stored = [_stored(number, now) for number in range(max(sizes))]
    for answer in stored:
        store.put(answer)
    await level.take_in(stored[:_FIRST], vectors.draw(_FIRST))
    await level.time_searches(vectors.draw(_SEARCHES))
    gc.collect()
    before, began, found = resident_bytes(os.getpid()), perf_counter(), []
    for size in sizes:
        while (place := len(level.meaning)) < size:
            count = min(_CHUNK, size - place)
            await level.take_in(stored[place : place + count], vectors.draw(count))
        await level.settle()
        taken = await level.time_searches(vectors.draw(_SEARCHES))
        gc.collect()
        grown = resident_bytes(os.getpid()) - before
        found.append(
            Crowd(
                entries=size,
                search_p50=round(quantile(taken, 0.5), 1),
                search_p99=round(quantile(taken, 0.99), 1),
                bytes_per_entry=round(grown / (size - _FIRST) - _OWN_BYTES, 1),
                seconds=round(perf_counter() - began, 1),
            )
        )
    await level.index.close()
    return found


def measure_crowd(sizes: Sequence[int]) -> list[Crowd]:
    """Fill a partition in a process of its own, and look at these sizes, which rise."""
    command = python("-m", "tests.bench.crowd", *map(str, sizes))
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603 - our own argument list
    if ended.returncode:
        raise BenchError(f"the crowded partition: {ended.stderr.decode()[-2000:]}")
    return [Crowd(**one) for one in json.loads(ended.stdout)]


def main(arguments: list[str]) -> None:
    """Print what was found."""
    found = uvloop.run(_measure([int(size) for size in arguments]))
    sys.stdout.write(json.dumps([asdict(one) for one in found]))


if __name__ == "__main__":
    main(sys.argv[1:])
