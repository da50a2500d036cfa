"""One process beside two workers that share an address."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.generator import Generator
from tests.bench.load import Order
from tests.bench.processes import BenchError, Processes, processor_seconds
from tests.bench.systems import OURS_ALONE, OURS_TWO, Ours, ready_ours, start_upstream

_CONNECTIONS = 32
_PRIMING = 0.5
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Several:
    """Hits of 600 bytes of JSON at 32 connections, without the semantic level."""

    alone_rps: float
    two_rps: float
    gain: float
    """The median of the rounds' ratios; the load generator has its part of the cores."""
    supervisor_us: float
    """The supervisor's processor time a hit: it passes the log line on."""


def measure_several(folder: Path, generator: Generator, *, rounds: int, seconds: float) -> Several:
    """Let both serve in alternating rounds."""
    alone: list[float] = []
    two: list[float] = []
    hits, spent = 0, 0.0
    with Processes(folder) as processes:
        upstream_port = start_upstream(processes)
        single = ready_ours(processes, folder, upstream_port, name=OURS_ALONE)
        pair = ready_ours(processes, folder, upstream_port, name=OURS_TWO)
        for ours in (single, pair, single, pair):
            # As many connections as it takes to meet both workers.
            generator.measure(Order(ours.port, "hit_json", _CONNECTIONS, "", seconds=_PRIMING))
        _until_all_hit(generator, pair)
        for number in range(rounds):
            turns = [(single, alone), (pair, two)]
            for ours, found in turns if number % 2 else reversed(turns):
                before = processor_seconds(ours.process.pid)
                measured = generator.measure(_order(ours, seconds))
                found.append(measured.rps)
                if ours is pair:
                    hits += measured.requests
                    spent += processor_seconds(ours.process.pid) - before
    return Several(
        alone_rps=round(median(alone)),
        two_rps=round(median(two)),
        gain=round(median(both / one for one, both in zip(alone, two, strict=True)), 2),
        supervisor_us=round(spent / hits * 1e6, 1),
    )


def _until_all_hit(generator: Generator, ours: Ours) -> None:
    """On a busy machine a worker may be late to hear of what the other has."""
    for _ in range(_TRIES):
        with contextlib.suppress(BenchError):
            generator.measure(Order(ours.port, "hit_json", _CONNECTIONS, "; hit", seconds=_PRIMING))
            return
    raise BenchError("two workers do not share what they have")


def _order(ours: Ours, seconds: float) -> Order:
    return Order(
        ours.port, "hit_json", _CONNECTIONS, "; hit", warm_seconds=seconds / 5, seconds=seconds
    )
