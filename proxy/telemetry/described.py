"""What a metric is: its name, kind and labels, and how those of several workers become one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import TypeAlias

PREFIX = "reprise_"


Figures: TypeAlias = Mapping[str, float | Mapping[str, float]]
"""Metrics as they are now by name, without `reprise_` and `_total`; with a label, by its values."""


class Kind(StrEnum):
    """As Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Rule(StrEnum):
    """How a gauge of several workers becomes one. Counters and histograms are summed."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    EACH = "each"
    """Not at all: each keeps its own, with a `worker` label."""


@dataclass(frozen=True, slots=True)
class Named:
    """Values that are known only when it runs, and are few: what they are names of."""

    what: str


Values: TypeAlias = tuple[str, ...] | Named
"""What a label may say: a closed set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One metric."""

    name: str
    """As it is exposed, with its ending."""
    kind: Kind
    meaning: str
    labels: Mapping[str, Values] = field(default_factory=dict)
    united: Rule = Rule.EACH
    starts_at_zero: bool = False
    """Every combination of its labels is there from the start, so that `rate()` sees the first."""

    @property
    def family(self) -> str:
        """The name of all its samples, as prometheus_client wants it: without `_total`."""
        return self.name.removesuffix("_total")

    def combinations(self) -> Iterator[tuple[str, ...]]:
        """All values that its labels may have together, where all are known."""
        sets = [values for values in self.labels.values() if isinstance(values, tuple)]
        return iter(product(*sets)) if len(sets) == len(self.labels) else iter(())


def counter(
    name: str,
    meaning: str,
    *,
    labels: Mapping[str, Values] | None = None,
    starts_at_zero: bool = False,
) -> Described:
    """Something that only grows."""
    return Described(
        name=f"{PREFIX}{name}_total",
        kind=Kind.COUNTER,
        meaning=meaning,
        labels=labels or {},
        starts_at_zero=starts_at_zero,
    )


def gauge(
    name: str,
    meaning: str,
    *,
    labels: Mapping[str, Values] | None = None,
    united: Rule = Rule.EACH,
) -> Described:
    """Something as it is now."""
    return Described(
        name=PREFIX + name, kind=Kind.GAUGE, meaning=meaning, labels=labels or {}, united=united
    )


def histogram(name: str, meaning: str, *, labels: Mapping[str, Values] | None = None) -> Described:
    """How often what was how large: `_bucket`, `_sum`, `_count`."""
    return Described(name=PREFIX + name, kind=Kind.HISTOGRAM, meaning=meaning, labels=labels or {})
