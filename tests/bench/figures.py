"""Medians, ratios and the figures to reach."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from tests.bench.load import Measured
from tests.bench.rounds import Sample, Scenario
from tests.bench.systems import BARE_HIT, BARE_PASS, OURS, OURS_EXACT, UPSTREAM

Absolute: TypeAlias = dict[str, dict[str, float]]
"""By system, then by figure; `rps` in requests a second, everything else in microseconds."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach."""

    name: str
    bound: float
    is_floor: bool = False

    def is_met(self, value: float) -> bool:
        """Whether the value is on the right side."""
        return value >= self.bound if self.is_floor else value <= self.bound

    @property
    def text(self) -> str:
        """The bound as one reads it."""
        return f"{'>=' if self.is_floor else '<='} {self.bound:g}"


RATIO_TARGETS = (
    Target("hit_json_rps_32", 0.75, is_floor=True),
    Target("hit_json_p50_1", 1.3),
    Target("hit_sse_rps_32", 0.75, is_floor=True),
    Target("hit_sse_p50_1", 1.3),
    Target("miss_json_rps_32", 0.8, is_floor=True),
    Target("miss_json_p50_1", 1.25),
    Target("miss_sse_first_byte_p50_1", 1.25),
    Target("miss_sse_total_p50_1", 1.25),
    Target("pass_rps_32", 0.8, is_floor=True),
    Target("pass_p50_1", 1.25),
)
IDLE_TARGET = Target("idle_rss_mb", 80)
BOTH_TARGET = Target("both_encoders_rss_mb", 400)
ENTRY_TARGET = Target("bytes_per_entry_over_own", 700)
START_TARGET = Target("start_s", 1)
OVER_PARTS_TARGET = Target("semantic_hit_over_parts_p50_1", 1.5)
JUDGE_TARGET = Target("guards_and_verifier_us", 300)
SEARCH_TARGET = Target("search_p50_us", 1000)
SEMANTIC_ENTRY_TARGET = Target("semantic_bytes_per_entry", 2200)
HIT_KEEPING_TARGETS = tuple(
    target
    for work in ("hit_json", "hit_sse")
    for target in (Target(f"{work}_p50_1", 1.03), Target(f"{work}_rps_32", 0.97, is_floor=True))
)
"""To the one that keeps its entries in nothing."""
DELAY_TARGET = Target("delay_p99_ms", 1000)
WARM_TARGET = Target("warm_start_s", 10)
SOAK_TARGET = Target("soak_growth", 0.03)


def name_figures(scenario: Scenario, measured: Measured) -> dict[str, float]:
    """One turn's figures under their names in bench.json."""
    work, connections = scenario.work, scenario.connections
    if work == "miss_sse":
        named = {
            f"{work}_first_byte_p50": measured.first_byte_p50,
            f"{work}_total_p50": measured.p50,
            f"{work}_total_p99": measured.p99,
        }
    else:
        named = {f"{work}_p50": measured.p50, f"{work}_p99": measured.p99}
    named[f"{work}_rps"] = measured.rps
    return {f"{name}_{connections}": value for name, value in named.items()}


class Rounds:
    """All turns, by system, figure and round."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        for sample in samples:
            for name, value in name_figures(sample.scenario, sample.measured).items():
                self._values[sample.system, name][sample.round_number] = value

    def absolute(self) -> Absolute:
        """The medians, and what each system adds to the upstream alone on a miss."""
        table: Absolute = defaultdict(dict)
        for (system, name), by_round in self._values.items():
            table[system][name] = round(median(by_round.values()), 1)
            if "miss" in name and "p50" in name and system != UPSTREAM:
                alone = self._values[UPSTREAM, name]
                added = [value - alone[number] for number, value in by_round.items()]
                table[system][name.replace("p50", "added_p50")] = round(median(added), 1)
        return dict(table)

    def ratios(self) -> dict[str, float]:
        """Ours / the bare aiohttp counterpart: the median of the rounds' ratios."""
        found = {}
        for target in RATIO_TARGETS:
            is_hit = target.name.startswith("hit")
            subject, counterpart = (OURS, BARE_HIT) if is_hit else (OURS_EXACT, BARE_PASS)
            ours = self._values.get((subject, target.name))
            theirs = self._values.get((counterpart, target.name))
            if ours and theirs:
                by_round = [value / theirs[number] for number, value in ours.items()]
                found[target.name] = round(median(by_round), 3)
        return found


def verdict(target: Target, value: float | None) -> str:
    """Met, missed, or not measured."""
    if value is None:
        return "not measured"
    return "met" if target.is_met(value) else "missed"
