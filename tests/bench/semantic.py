"""Semantic hits beside the sum of their parts, what being compared adds to a miss, and what exact
hits suffer meanwhile.

The parts are measured in this process (`lane.py`), the whole through HTTP; they take turns, on one
processor. The deadline of the comparison is long here, so that a busy machine is slow and does not
give up.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from proxy.semantic_level import make_gate
from tests.bench.generator import Generator
from tests.bench.lane import PARTS, Lane
from tests.bench.load import Measured, Order
from tests.bench.processes import Processes, await_metric, metric, pin
from tests.bench.questions import LANGUAGES
from tests.bench.systems import OURS_EXACT, OURS_PATIENT, Ours, ready_ours, start_upstream

HIT, HIT_32, EXACT_HIT, MISS, UNCOMPARED_MISS = "hit", "hit_32", "exact_hit", "miss", "exact_miss"
RATIO = "over_parts"
ADDED = "miss_added"
ALONE, BESIDE = "alone", "beside"
_PRIMING_REQUESTS = 30
_OTHER_NUMBERS = 500_000_000
"""The second load generator numbers its requests from here, so that none is asked twice."""

Figures = Mapping[str, float]
"""By name; times in microseconds."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    entries: int
    """Stored questions of a language."""
    asked: int
    """How many of them are asked in other words."""
    rounds: int
    seconds: float
    """Length of a turn."""

    @property
    def steps(self) -> int:
        """How often `advance` is called."""
        return 2 * len(LANGUAGES) + self.rounds * (len(LANGUAGES) + 1)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was found for one language; medians over the rounds."""

    entries: int
    wordings: int
    parts: Figures
    figures: Figures


@dataclass(frozen=True, slots=True)
class Semantic:
    """All that was found."""

    languages: Mapping[str, Spoken]
    hits_alone: Figures
    """Exact hits while nothing else is asked: p50, p99 and slowest at one connection."""
    hits_beside: Figures
    """The same while another connection asks what is compared and not found."""


def measure_semantic(
    folder: Path, generator: Generator, scale: Scale, advance: Callable[[str], None]
) -> Semantic:
    """Run it. `folder` is for files; `advance` is told what comes next."""
    gate = make_gate("")
    lanes = []
    for language in LANGUAGES.values():
        advance(f"questions in {language.name}")
        lanes.append(Lane(language, gate, entries=scale.entries, asked=scale.asked, folder=folder))
    with Processes(folder) as processes, Generator() as other:
        upstream_port = start_upstream(processes)
        ours = ready_ours(processes, folder, upstream_port, name=OURS_PATIENT)
        exact = ready_ours(processes, folder, upstream_port, name=OURS_EXACT)
        stage = _Stage(generator, ours, exact, scale.seconds)
        for lane in lanes:
            advance(f"storing in {lane.language.name}")
            stage.prepare(lane)
        stage.everybody = [*processes.ids, generator.id]
        spoken = {}
        by_lane = {lane.language.name: _Collected() for lane in lanes}
        beside = {name: _Collected() for name in (ALONE, BESIDE)}
        for number in range(scale.rounds):
            for lane in lanes:
                advance(f"round {number + 1}: semantic, {lane.language.name}")
                by_lane[lane.language.name].add(stage.round(lane, number))
            advance(f"round {number + 1}: exact hits beside it")
            for name, measured in stage.beside(other, number).items():
                beside[name].add(measured)
    for lane in lanes:
        found = by_lane[lane.language.name].medians()
        parts = {name: found.pop(name) for name in lane.names}
        spoken[lane.language.name] = Spoken(len(lane.stored), len(lane.asked), parts, found)
    return Semantic(spoken, beside[ALONE].medians(), beside[BESIDE].medians())


class _Collected:
    """Figures of rounds."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = defaultdict(list)

    def add(self, figures: Figures) -> None:
        """Those of another round."""
        for name, value in figures.items():
            self._values[name].append(value)

    def medians(self) -> dict[str, float]:
        """Over the rounds."""
        return {
            name: round(median(values), 3 if name == RATIO else 1)
            for name, values in self._values.items()
        }


class _Stage:
    """Everybody who takes part."""

    def __init__(self, generator: Generator, ours: Ours, exact: Ours, seconds: float) -> None:
        self.everybody: Sequence[int] = ()
        """The ids of the processes that share one processor at one connection."""
        self._generator = generator
        self._ours = ours
        self._exact = exact
        self._seconds = seconds

    def prepare(self, lane: Lane) -> None:
        """Store what is to be found, and let everything run a few times."""
        name, admin_port = lane.language.name, self._ours.admin_port
        # The encoder of Chinese is loaded by the first text in it.
        loaded = 1 + list(LANGUAGES).index(name)
        self._generator.measure(Order(self._ours.port, f"miss_{name}", 1, "fwd=", count=1))
        await_metric(admin_port, "encoders_ready", loaded)
        entries = metric(admin_port, "semantic_entries")
        count = len(lane.stored)
        self._generator.measure(
            Order(
                *(self._ours.port, f"store_{name}", 1, "fwd=miss"),
                count=count,
                texts=lane.stored_file,
                first=0,
            )
        )
        await_metric(admin_port, "semantic_entries", entries + count)
        for order in (self._hit(lane), self._miss(lane, self._ours), self._miss(lane, self._exact)):
            self._measure(replace(order, seconds=None, count=_PRIMING_REQUESTS))
        for port in (self._ours.port, self._exact.port):
            self._generator.measure(Order(port, "hit_json", 1, "", count=_PRIMING_REQUESTS))

    def round(self, lane: Lane, number: int) -> dict[str, float]:
        """One turn of each kind, in an order that rotates, and what follows from them."""
        turns: list[Callable[[], Figures]] = [
            lambda: lane.time(self._seconds),
            lambda: {
                HIT: (hit := self._measure(self._hit(lane))).p50,
                f"{HIT}_p99": hit.p99,
            },
            lambda: {EXACT_HIT: self._measure(self._exact_hit()).p50},
            lambda: {MISS: self._measure(self._miss(lane, self._ours)).p50},
            lambda: {UNCOMPARED_MISS: self._measure(self._miss(lane, self._exact)).p50},
        ]
        found: dict[str, float] = {}
        with _on_one_processor(self.everybody):
            for turn in (*turns[number % len(turns) :], *turns[: number % len(turns)]):
                found.update(turn())
        many = self._measure(replace(self._hit(lane), connections=32))
        found |= {f"{HIT_32}_rps": many.rps, f"{HIT_32}_p50": many.p50, f"{HIT_32}_p99": many.p99}
        found[RATIO] = found[HIT] / sum(found[part] for part in PARTS)
        found[ADDED] = found[MISS] - found[UNCOMPARED_MISS]
        return found

    def beside(self, other: Generator, number: int) -> dict[str, Figures]:
        """Exact hits alone, and while another connection is compared and not served."""

        def hits() -> Figures:
            measured = self._measure(self._exact_hit())
            return {"p50": measured.p50, "p99": measured.p99, "slowest": measured.slowest}

        order = replace(
            Order(self._ours.port, "miss_en", 1, "fwd=miss"),
            warm_seconds=0.0,
            seconds=1.4 * self._seconds,
            first=_OTHER_NUMBERS * (1 + number),
        )
        alone = hits()
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(other.measure, order)
            beside = hits()
            asking.result()
        return {ALONE: alone, BESIDE: beside}

    def _measure(self, order: Order) -> Measured:
        return self._generator.measure(order)

    def _hit(self, lane: Lane) -> Order:
        order = self._order(self._ours, f"hit_{lane.language.name}", "detail=semantic")
        return replace(order, texts=lane.asked_file)

    def _miss(self, lane: Lane, system: Ours) -> Order:
        return self._order(system, f"miss_{lane.language.name}", "fwd=miss")

    def _exact_hit(self) -> Order:
        return self._order(self._ours, "hit_json", "detail=exact")

    def _order(self, system: Ours, work: str, proof: str) -> Order:
        return Order(
            *(system.port, work, 1, proof),
            warm_seconds=self._seconds / 5,
            seconds=self._seconds,
        )


@contextmanager
def _on_one_processor(processes: Sequence[int]) -> Iterator[None]:
    """Keep processes and this thread there; they take turns."""
    free = os.sched_getaffinity(0)
    one = {min(free)}
    try:
        pin(processes, one)
        os.sched_setaffinity(0, one)
        yield
    finally:
        os.sched_setaffinity(0, free)
        pin(processes, free)
