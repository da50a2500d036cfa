"""Prometheus metrics. Label values come from closed sets; nothing of a request's text."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from proxy.core.exchange import Exchange
from proxy.telemetry.exposition import Exposition, expose
from proxy.telemetry.heartbeats import Pulse

_SECONDS = (
    *(0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60, 120),
)
"""From a hit (tenths of a millisecond) to a long answer (minutes)."""
_EXEMPLAR_SECONDS = 1.0
"""So long a bucket keeps its example: scrapes are farther apart."""


class _Series:
    """What is counted of every request with the same labels.

    Kept by hand, since each of prometheus_client's counters and histograms takes a lock and a
    search in Python, which together are a tenth of a hit. All of this happens on the event loop.
    """

    __slots__ = ("durations", "first_bytes", "requests", "saved_tokens")

    def __init__(self) -> None:
        self.requests = 0
        self.saved_tokens = 0
        self.durations = _Distribution()
        self.first_bytes = _Distribution()


class _Distribution:
    """Counts by bucket, the last for what is above all bounds; and the sum."""

    __slots__ = ("counts", "exemplars", "remembered", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_SECONDS) + 1)
        self.total = 0.0
        self.exemplars: dict[int, Exemplar] = {}
        self.remembered: dict[int, float] = {}

    def add(self, seconds: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(_SECONDS, seconds)] += 1
        self.total += seconds

    def remember(self, seconds: float, trace_id: bytes, at: float) -> None:
        """Name a trace as an example of its bucket; `at` is its wall time in seconds."""
        bucket = bisect_left(_SECONDS, seconds)
        if at - self.remembered.get(bucket, 0.0) >= _EXEMPLAR_SECONDS:
            self.remembered[bucket] = at
            labels = {"trace_id": trace_id.hex()}
            self.exemplars[bucket] = Exemplar(labels, seconds, round(at, 3))

    def buckets(self) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        bounds = [*map(floatToGoString, _SECONDS), "+Inf"]
        counts = zip(bounds, map(float, accumulate(self.counts)), strict=True)
        return [
            (*one, self.exemplars[position]) if position in self.exemplars else one
            for position, one in enumerate(counts)
        ]


class Metrics:
    """All metrics of one application, in a registry of its own."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._series: dict[tuple[str, str, int], _Series] = {}
        self._verdicts: dict[str, int] = {}
        self._meanings: dict[tuple[str, str], _Distribution] = {}
        self._lags = _Distribution()
        self.registry.register(_Requests(self._series, self._verdicts))
        self.registry.register(_Meanings(self._meanings, self._lags))
        self._client_gone = Counter(
            "reprise_client_gone",
            "Requests whose client left before the end of the response.",
            ("operation",),
            registry=self.registry,
        )
        self._errors = Counter(
            "reprise_errors",
            "Errors of our own making, by code; those after the head was sent included.",
            ("code",),
            registry=self.registry,
        )
        self._retries = Counter(
            "reprise_upstream_retries",
            "Requests sent again because a pooled connection had died.",
            registry=self.registry,
        )
        self._reloads = Counter(
            "reprise_config_reloads",
            "Reloads of the configuration.",
            ("trigger", "result"),
            registry=self.registry,
        )
        self._reload_ok = Gauge(
            "reprise_config_last_reload_successful",
            "Whether the last reload was applied.",
            registry=self.registry,
        )
        self._reload_ok.set(1)
        self._opinions = Counter(
            "reprise_feedback",
            "Opinions of clients and operators on answers that were served.",
            ("verdict",),
            registry=self.registry,
        )
        self._forwarded = Counter(
            "reprise_feedback_forwarded",
            "Opinions of clients that upstreams were told: taken, unknown there, failed, dropped.",
            ("result",),
            registry=self.registry,
        )
        self._background = Counter(
            "reprise_background_requests",
            "Requests of low priority, by why they are made and what came of them.",
            ("kind", "result"),
            registry=self.registry,
        )
        self._background_tokens = Counter(
            "reprise_background_tokens",
            "Tokens of answers to requests of low priority that were stored.",
            ("kind",),
            registry=self.registry,
        )
        self._task_errors = Counter(
            "reprise_task_errors",
            "Background tasks that died of an error.",
            ("task",),
            registry=self.registry,
        )
        Gauge(
            "reprise_build_info", "The running version.", ("version",), registry=self.registry
        ).labels(version).set(1)

    def observe(self, exchange: Exchange, cache: str) -> None:
        """Count a finished exchange; `cache` is the level of a hit or the fwd of a miss."""
        key = (exchange.operation, cache, exchange.status // 100)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series()
        series.requests += 1
        series.saved_tokens += exchange.saved_tokens
        series.durations.add(exchange.ended - exchange.started)
        if exchange.first_byte is not None:
            series.first_bytes.add(exchange.first_byte - exchange.started)
        if exchange.trace is not None and exchange.trace.is_sampled:
            _remember(series, exchange, exchange.trace.context.trace_id)
        if exchange.meaning_seconds is not None:
            found = (exchange.meaning or "match", exchange.guard)
            distribution = self._meanings.get(found)
            if distribution is None:
                distribution = self._meanings[found] = _Distribution()
            distribution.add(exchange.meaning_seconds)
        if exchange.client_gone:
            self._client_gone.labels(exchange.operation or "other").inc()
        if exchange.error:
            self._errors.labels(exchange.error).inc()
        if exchange.retried:
            self._retries.inc()

    def answer(self, verdict: str) -> None:
        """Count what became of an upstream's answer."""
        self._verdicts[verdict] = self._verdicts.get(verdict, 0) + 1

    def reload(self, trigger: str, result: str) -> None:
        """Count a reload: applied, unchanged or failed."""
        self._reloads.labels(trigger, result).inc()
        if result != "unchanged":
            self._reload_ok.set(result == "applied")

    def opinion(self, verdict: str) -> None:
        """Count what somebody said of an answer: wrong or right."""
        self._opinions.labels(verdict).inc()

    def forwarded(self, result: str) -> None:
        """Count what became of an opinion that an upstream was told."""
        self._forwarded.labels(result).inc()

    def background(self, kind: str, result: str, tokens: int) -> None:
        """Count what came of a request of low priority, and what it took."""
        self._background.labels(kind, result).inc()
        self.background_tokens(kind, tokens)

    def background_tokens(self, kind: str, tokens: int) -> None:
        """Count tokens of an answer to a request of low priority."""
        self._background_tokens.labels(kind).inc(tokens)

    def lag(self, seconds: float) -> None:
        """Count how late the event loop was."""
        self._lags.add(seconds)

    def task_error(self, task: str) -> None:
        """Count the death of a background task."""
        self._task_errors.labels(task).inc()

    def watch(self, read: Callable[[], dict[str, float]], counters: frozenset[str]) -> None:
        """Read further figures at each scrape: names to values; `counters` only ever grow."""
        self.registry.register(_Reading(read, counters))

    def watch_tasks(self, read: Callable[[], Iterable[Pulse]]) -> None:
        """Read how the kept loops are doing at each scrape."""
        self.registry.register(_Pulses(read))

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return self.exposed("").body

    def exposed(self, accept: str) -> Exposition:
        """All metrics, in a format that a scraper's Accept names."""
        return expose(self.registry, accept)


def _remember(series: _Series, exchange: Exchange, trace_id: bytes) -> None:
    at = exchange.ended_at
    series.durations.remember(exchange.ended - exchange.started, trace_id, at)
    if exchange.first_byte is not None:
        series.first_bytes.remember(exchange.first_byte - exchange.started, trace_id, at)


class _Requests:
    """The collector of what is counted of requests."""

    def __init__(
        self, series: dict[tuple[str, str, int], _Series], verdicts: dict[str, int]
    ) -> None:
        self._series = series
        self._verdicts = verdicts

    def collect(self) -> Iterable[Metric]:
        labels = ("operation", "cache", "status_class")
        requests = CounterMetricFamily(
            "reprise_requests",
            "Requests by operation, what the cache did, and class of status.",
            labels=labels,
        )
        saved = CounterMetricFamily(
            "reprise_saved_tokens",
            "Completion tokens of answers that were served from the cache.",
            labels=labels,
        )
        durations = HistogramMetricFamily(
            "reprise_request_duration_seconds",
            "From the request's head to the last byte of the response.",
            labels=labels,
        )
        first_bytes = HistogramMetricFamily(
            "reprise_time_to_first_byte_seconds",
            "From the request's head to the first byte of the response.",
            labels=labels,
        )
        for (operation, cache, status_class), series in list(self._series.items()):
            values = (operation or "other", cache, f"{status_class}xx")
            requests.add_metric(values, series.requests)
            saved.add_metric(values, series.saved_tokens)
            for family, one in (
                (durations, series.durations),
                (first_bytes, series.first_bytes),
            ):
                family.add_metric(values, one.buckets(), one.total)
        answers = CounterMetricFamily(
            "reprise_answers",
            "Answers of the upstream to cacheable requests: stored, or why not.",
            labels=("verdict",),
        )
        for verdict, count in list(self._verdicts.items()):
            answers.add_metric((verdict,), count)
        yield from (requests, saved, durations, first_bytes, answers)


class _Meanings:
    """The collector of what is counted of looking by meaning, and of the event loop."""

    def __init__(self, meanings: dict[tuple[str, str], _Distribution], lags: _Distribution) -> None:
        self._meanings = meanings
        self._lags = lags

    def collect(self) -> Iterable[Metric]:
        looks = HistogramMetricFamily(
            "reprise_semantic_lookup_seconds",
            "Looking for an answer by meaning: a match, or why there was none and which guard "
            "objected to the nearest entry.",
            labels=("result", "guard"),
        )
        for labels, distribution in list(self._meanings.items()):
            looks.add_metric(labels, distribution.buckets(), distribution.total)
        lags = HistogramMetricFamily(
            "reprise_event_loop_lag_seconds",
            "How much later than asked the event loop ran a timer.",
        )
        lags.add_metric((), self._lags.buckets(), self._lags.total)
        yield from (looks, lags)


class _Reading:
    """A collector over a function, so that keeping sizes up to date costs nothing in between."""

    def __init__(self, read: Callable[[], dict[str, float]], counters: frozenset[str]) -> None:
        self._read = read
        self._counters = counters

    def collect(self) -> Iterable[Metric]:
        for name, value in self._read().items():
            family = CounterMetricFamily if name in self._counters else GaugeMetricFamily
            metric = family(f"reprise_{name}", name.replace("_", " "))
            metric.add_metric((), value)
            yield metric


class _Pulses:
    """The collector of how the kept loops are doing."""

    def __init__(self, read: Callable[[], Iterable[Pulse]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        last = GaugeMetricFamily(
            "reprise_task_last_success_timestamp_seconds",
            "When a background task last did a piece of work well, or was begun.",
            labels=("task",),
        )
        age = GaugeMetricFamily(
            "reprise_task_age_seconds", "How long ago that was.", labels=("task",)
        )
        deaths = CounterMetricFamily(
            "reprise_task_deaths",
            "How often a background task has died and was begun again.",
            labels=("task",),
        )
        for pulse in self._read():
            last.add_metric((pulse.task,), pulse.last_success)
            age.add_metric((pulse.task,), pulse.age)
            deaths.add_metric((pulse.task,), pulse.deaths)
        yield from (last, age, deaths)
