"""Prometheus metrics. Label values come from closed sets; nothing of a request's text."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from proxy.core.exchange import Exchange

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (
    *(0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60, 120),
)
"""From a hit (tenths of a millisecond) to a long answer (minutes)."""


class Metrics:
    """All metrics of one application, in a registry of its own."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "reprise_requests",
            "Requests by operation, what the cache did, and class of status.",
            ("operation", "cache", "status_class"),
            registry=self.registry,
        )
        self._duration = Histogram(
            "reprise_request_duration_seconds",
            "From the request's head to the last byte of the response.",
            ("operation", "cache"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._first_byte = Histogram(
            "reprise_time_to_first_byte_seconds",
            "From the request's head to the first byte of the response.",
            ("operation", "cache"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._saved = Counter(
            "reprise_saved_tokens",
            "Completion tokens of answers that were served from the cache.",
            ("operation",),
            registry=self.registry,
        )
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
        self._answers = Counter(
            "reprise_answers",
            "Answers of the upstream to cacheable requests: stored, or why not.",
            ("verdict",),
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
        self._task_errors = Counter(
            "reprise_task_errors",
            "Background tasks that died of an error.",
            ("task",),
            registry=self.registry,
        )
        Gauge(
            "reprise_build_info", "The running version.", ("version",), registry=self.registry
        ).labels(version).set(1)
        self._requests_by: dict[tuple[str, str, int], tuple[Counter, Histogram, Histogram]] = {}

    def observe(self, exchange: Exchange, cache: str) -> None:
        """Count a finished exchange; `cache` is the level of a hit or the fwd of a miss."""
        key = (exchange.operation, cache, exchange.status // 100)
        children = self._requests_by.get(key)
        if children is None:
            operation = exchange.operation or "other"
            children = (
                self._requests.labels(operation, cache, f"{key[2]}xx"),
                self._duration.labels(operation, cache),
                self._first_byte.labels(operation, cache),
            )
            self._requests_by[key] = children
        requests, duration, first_byte = children
        requests.inc()
        duration.observe(exchange.ended - exchange.started)
        if exchange.first_byte is not None:
            first_byte.observe(exchange.first_byte - exchange.started)
        if exchange.saved_tokens:
            self._saved.labels(exchange.operation).inc(exchange.saved_tokens)
        if exchange.client_gone:
            self._client_gone.labels(exchange.operation or "other").inc()
        if exchange.error:
            self._errors.labels(exchange.error).inc()
        if exchange.retried:
            self._retries.inc()

    def answer(self, verdict: str) -> None:
        """Count what became of an upstream's answer."""
        self._answers.labels(verdict).inc()

    def reload(self, trigger: str, result: str) -> None:
        """Count a reload: applied, unchanged or failed."""
        self._reloads.labels(trigger, result).inc()
        if result != "unchanged":
            self._reload_ok.set(result == "applied")

    def task_error(self, task: str) -> None:
        """Count the death of a background task."""
        self._task_errors.labels(task).inc()

    def watch(self, read: Callable[[], dict[str, float]], counters: frozenset[str]) -> None:
        """Read further figures at each scrape: names to values; `counters` only ever grow."""
        self.registry.register(_Reading(read, counters))

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)


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
