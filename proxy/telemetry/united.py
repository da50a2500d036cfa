"""The metrics of several workers as those of one proxy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Exemplar

from proxy.telemetry.catalog import CATALOG
from proxy.telemetry.catalog_parts import WORKER_RESTARTS, WORKERS
from proxy.telemetry.counts import family
from proxy.telemetry.described import Rule
from proxy.telemetry.exposition import Exposition, expose

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
    for name, one in families.items():
        copies[name] = _Family(one.metric())
        copies[name].values = dict(one.values)
        copies[name].exemplars = dict(one.exemplars)
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
