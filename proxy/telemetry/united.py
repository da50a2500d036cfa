"""The metrics of several workers as those of one proxy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from proxy.telemetry.catalog import CATALOG
from proxy.telemetry.catalog_parts import WORKER_RESTARTS, WORKERS
from proxy.telemetry.counts import family
from proxy.telemetry.described import Rule

_Place: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's name and its labels."""


class Page(NamedTuple):
    """What one worker's /metrics says."""

    worker: int
    run: int
    """Which of its processes; grows."""
    text: str


class _Family:
    """Samples of one name that are being united."""

    def __init__(self, like: Metric) -> None:
        self.name = like.name
        self.documentation = like.documentation
        self.kind = like.type
        self.values: dict[_Place, float] = {}

    @property
    def only_grows(self) -> bool:
        """Whether it counts what has happened."""
        return self.kind in {"counter", "histogram", "summary"}

    @property
    def rule(self) -> Rule:
        """How its samples are united."""
        if self.only_grows:
            return Rule.SUM
        return CATALOG[self.name].united

    def add(self, metric: Metric, worker: int) -> None:
        """Take in one worker's samples."""
        rule = self.rule
        for sample in metric.samples:
            labels = tuple(sample.labels.items())
            if rule is Rule.EACH:
                labels += (("worker", str(worker)),)
            place = (sample.name, labels)
            known = self.values.get(place)
            self.values[place] = (
                sample.value if known is None else _united(rule, known, sample.value)
            )

    def metric(self) -> Metric:
        """As prometheus_client writes it."""
        metric = Metric(self.name, self.documentation, self.kind)
        for (name, labels), value in self.values.items():
            metric.add_sample(name, dict(labels), value)
        return metric


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

    def exposition(self, pages: Sequence[Page], *, workers: int, restarts: int) -> bytes:
        """All metrics in Prometheus' text format.

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
        return generate_latest(registry)

    def _take(self, page: Page) -> None:
        run, metrics = self._last.get(page.worker, (page.run, []))
        if run != page.run:
            for metric in metrics:
                if _Family(metric).only_grows:
                    ended = self._ended.setdefault(metric.name, _Family(metric))
                    ended.add(metric, page.worker)
        self._last[page.worker] = page.run, list(text_string_to_metric_families(page.text))


def _copies(families: Mapping[str, _Family]) -> dict[str, _Family]:
    copies = {}
    for name, one in families.items():
        copies[name] = _Family(one.metric())
        copies[name].values = dict(one.values)
    return copies


def _own(workers: int, restarts: int) -> list[Metric]:
    return [
        family(WORKERS, {(): workers}),
        family(WORKER_RESTARTS, {(): restarts}),
    ]


class _Read:
    """A collector of what is there."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
