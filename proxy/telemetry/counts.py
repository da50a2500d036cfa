"""What is counted, kept by hand.

Each of prometheus_client's counters and histograms takes a lock and a search in Python, which
together are a tenth of a hit. All of this happens on the event loop.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import TypeAlias

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from proxy.telemetry.described import Described, Kind

Labels: TypeAlias = tuple[str, ...]
"""Values, in the order of the metric's labels."""

SECONDS = (
    *(0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60, 120),
)
"""From a hit (tenths of a millisecond) to a long answer (minutes)."""
SIMILARITY = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98, 0.99, 1)
"""Finer where thresholds are."""
EXEMPLAR_SECONDS = 1.0
"""So long a bucket keeps its example: scrapes are farther apart."""


class Distribution:
    """Counts by bucket, the last for what is above all bounds; and the sum."""

    __slots__ = ("bounds", "counts", "exemplars", "remembered", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, Exemplar] = {}
        self.remembered: dict[int, float] = {}

    def add(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def remember(self, value: float, trace_id: bytes, at: float) -> None:
        """Name a trace as an example of its bucket; `at` is its wall time in seconds."""
        bucket = bisect_left(self.bounds, value)
        if at - self.remembered.get(bucket, 0.0) >= EXEMPLAR_SECONDS:
            self.remembered[bucket] = at
            labels = {"trace_id": trace_id.hex()}
            self.exemplars[bucket] = Exemplar(labels, value, round(at, 3))

    def buckets(self) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        bounds = [*map(floatToGoString, self.bounds), "+Inf"]
        counts = zip(bounds, map(float, accumulate(self.counts)), strict=True)
        return [
            (*one, self.exemplars[position]) if position in self.exemplars else one
            for position, one in enumerate(counts)
        ]


class Counts:
    """A counter with labels."""

    def __init__(self, described: Described) -> None:
        self.described = described
        self.values: dict[Labels, float] = {}
        if described.starts_at_zero:
            self.values = dict.fromkeys(described.combinations(), 0.0)

    def add(self, *labels: str, by: float = 1) -> None:
        """Count, for values of all its labels."""
        self.values[labels] = self.values.get(labels, 0) + by

    def collect(self) -> Metric:
        """As prometheus_client writes it."""
        return family(self.described, self.values)


class Distributions:
    """A histogram with labels."""

    def __init__(self, described: Described, bounds: tuple[float, ...] = SECONDS) -> None:
        self.described = described
        self.values: dict[Labels, Distribution] = {}
        self._bounds = bounds

    def add(self, value: float, *labels: str) -> None:
        """Count one observation, for values of all its labels."""
        distribution = self.values.get(labels)
        if distribution is None:
            distribution = self.values[labels] = Distribution(self._bounds)
        distribution.add(value)

    def collect(self) -> Metric:
        """As prometheus_client writes it."""
        return histogram_family(self.described, self.values.items())


def family(described: Described, values: dict[Labels, float]) -> Metric:
    """A counter or a gauge, as prometheus_client writes it."""
    made = CounterMetricFamily if described.kind is Kind.COUNTER else GaugeMetricFamily
    metric = made(described.family, described.meaning, labels=tuple(described.labels))
    for labels, value in list(values.items()):
        metric.add_metric(labels, value)
    return metric


def histogram_family(
    described: Described, values: Iterable[tuple[Labels, Distribution]]
) -> HistogramMetricFamily:
    """A histogram, as prometheus_client writes it."""
    metric = HistogramMetricFamily(
        described.family, described.meaning, labels=tuple(described.labels)
    )
    for labels, distribution in list(values):
        metric.add_metric(labels, distribution.buckets(), distribution.total)
    return metric
