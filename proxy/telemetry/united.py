"""The metrics of several workers as those of one proxy."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Exemplar

from proxy.telemetry.exposition import Exposition, expose


class Rule(Enum):
    """How a gauge of several workers becomes one."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    EACH = "each"
    """Not at all: each keeps its own, with a `worker` label."""


GAUGES: Mapping[str, Rule] = {
    # Each worker holds a copy of what all have learnt.
    "reprise_entries": Rule.MAX,
    "reprise_store_bytes": Rule.MAX,
    "reprise_aliases": Rule.MAX,
    "reprise_negative_pairs": Rule.MAX,
    "reprise_semantic_entries": Rule.MAX,
    "reprise_encoders": Rule.MAX,
    "reprise_build_info": Rule.MAX,
    # As good as that of the worst.
    "reprise_encoders_ready": Rule.MIN,
    "reprise_config_last_reload_successful": Rule.MIN,
    # Each worker has its own.
    "reprise_in_flight_requests": Rule.SUM,
    "reprise_flights": Rule.SUM,
    "reprise_connections": Rule.SUM,
    "reprise_background_tasks": Rule.SUM,
}
"""All others are told for each worker. Counters and histograms are summed."""

_CREATED = "_created"
"""Ends the name of the time at which a counter began."""

_Place: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's name and its labels."""


class Page(NamedTuple):
    """What one worker's /metrics says."""

    worker: int
    run: int
    """Which of its processes; grows."""
    text: str
    """In the OpenMetrics format."""


class _Family:
    """Samples of one name that are being united."""

    def __init__(self, like: Metric) -> None:
        self.name = like.name
        self.documentation = like.documentation
        self.kind = like.type
        self.values: dict[_Place, float] = {}
        self.exemplars: dict[_Place, Exemplar] = {}

    @property
    def only_grows(self) -> bool:
        """Whether it counts what has happened."""
        return self.kind in {"counter", "histogram", "summary"}

    def rule(self, sample: str) -> Rule:
        """How its samples of a name are united."""
        if self.only_grows:
            return Rule.MIN if sample.endswith(_CREATED) else Rule.SUM
        return GAUGES.get(self.name, Rule.EACH)

    def add(self, family: Metric, worker: int) -> None:
        """Take in one worker's samples."""
        for sample in family.samples:
            rule = self.rule(sample.name)
            labels = tuple(sample.labels.items())
            if rule is Rule.EACH:
                labels += (("worker", str(worker)),)
            place = (sample.name, labels)
            known = self.values.get(place)
            self.values[place] = (
                sample.value if known is None else _united(rule, known, sample.value)
            )
            if sample.exemplar is not None:
                self._take(place, sample.exemplar)

    def _take(self, place: _Place, exemplar: Exemplar) -> None:
        known = self.exemplars.get(place)
        if known is None or _seconds(known) < _seconds(exemplar):
            self.exemplars[place] = exemplar

    def metric(self) -> Metric:
        """As prometheus_client writes it."""
        metric = Metric(self.name, self.documentation, self.kind)
        for place, value in self.values.items():
            name, labels = place
            metric.add_sample(name, dict(labels), value, exemplar=self.exemplars.get(place))
        return metric


def _seconds(exemplar: Exemplar) -> float:
    return 0.0 if exemplar.timestamp is None else float(exemplar.timestamp)


def _united(rule: Rule, one: float, other: float) -> float:
    if rule is Rule.MAX:
        return max(one, other)
    if rule is Rule.MIN:
        return min(one, other)
    return one + other


class UnitedMetrics:
    """Adds up pages, and remembers what workers that have died had counted.

    So a counter does not fall when a worker is begun again, but for what that one counted after it
    was last asked.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, list[Metric]]] = {}
        """The latest page of each worker, and of which run."""
        self._ended: dict[str, _Family] = {}
        """The sums of all counters of runs that have ended."""

    def exposition(
        self, pages: Sequence[Page], *, workers: int, restarts: int, accept: str = ""
    ) -> Exposition:
        """All metrics, in a format that the scraper's `accept` names.

        `pages` are of those that answered, `workers` is how many run.
        """
        answered = {page.worker for page in pages}
        for page in pages:
            self._take(page)
        families = _copies(self._ended)
        for worker, (_, metrics) in sorted(self._last.items()):
            for metric in metrics:
                if worker in answered or _Family(metric).only_grows:
                    families.setdefault(metric.name, _Family(metric)).add(metric, worker)
        registry = CollectorRegistry()
        registry.register(_Read([*(one.metric() for one in families.values())]))
        registry.register(_Read(_own(workers, restarts)))
        return expose(registry, accept)

    def _take(self, page: Page) -> None:
        run, metrics = self._last.get(page.worker, (page.run, []))
        if run != page.run:
            for metric in metrics:
                if _Family(metric).only_grows:
                    ended = self._ended.setdefault(metric.name, _Family(metric))
                    ended.add(metric, page.worker)
        self._last[page.worker] = page.run, list(_families(page.text))


def _families(text: str) -> Iterable[Metric]:
    families: Iterable[Metric] = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # it has no types
    return families


def _copies(families: Mapping[str, _Family]) -> dict[str, _Family]:
    copies = {}
    for name, family in families.items():
        copies[name] = _Family(family.metric())
        copies[name].values = dict(family.values)
        copies[name].exemplars = dict(family.exemplars)
    return copies


def _own(workers: int, restarts: int) -> list[Metric]:
    return [
        GaugeMetricFamily("reprise_workers", "Workers that run.", workers),
        CounterMetricFamily(
            "reprise_worker_restarts", "How often a worker that died was begun again.", restarts
        ),
    ]


class _Read:
    """A collector of what is there."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
