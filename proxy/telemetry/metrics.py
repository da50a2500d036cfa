"""Prometheus metrics. Label values come from closed sets; nothing of a request's text.

catalog.py says what each one is.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from proxy.core.exchange import Exchange, Stage
from proxy.telemetry import catalog_parts as parts
from proxy.telemetry import catalog_traffic as traffic
from proxy.telemetry.catalog import figure
from proxy.telemetry.counts import (
    SIMILARITY,
    Counts,
    Distribution,
    Distributions,
    Labels,
    family,
    histogram_family,
)
from proxy.telemetry.described import Figures
from proxy.telemetry.exposition import Exposition, expose
from proxy.telemetry.heartbeats import Pulse
from proxy.telemetry.load import UpstreamLoad
from proxy.telemetry.process import Process


class _Series:
    """What is counted of every request with the same operation, level and class of status."""

    __slots__ = (
        "durations",
        "first_bytes",
        "requests",
        "saved_input",
        "saved_output",
        "saved_seconds",
        "stale",
    )

    def __init__(self) -> None:
        self.requests = 0
        self.stale = 0
        self.saved_input = 0
        self.saved_output = 0
        self.saved_seconds = 0.0
        self.durations = Distribution()
        self.first_bytes = Distribution()


class Metrics:
    """All metrics of one application, in a registry of its own."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._series: dict[tuple[str, str, int], _Series] = {}
        self._looked_up = Distribution()
        self._stages = Distributions(traffic.STAGES)
        self._stages.values[Stage.KEY,] = self._looked_up
        self._meanings = Distributions(traffic.MEANINGS)
        self._objections = Counts(traffic.OBJECTIONS)
        self._similarities = Distributions(traffic.SIMILARITIES, SIMILARITY)
        self._made = Counts(traffic.TOKENS)
        self._client_gone = Counts(traffic.CLIENT_GONE)
        self._errors = Counts(traffic.ERRORS)
        self._answers = Counts(traffic.ANSWERS)
        self._opinions = Counts(traffic.FEEDBACK)
        self._forwarded = Counts(traffic.FORWARDED)
        self._background = Counts(traffic.BACKGROUND)
        self._background_tokens = Counts(traffic.BACKGROUND_TOKENS)
        self._reloads = Counts(parts.RELOADS)
        self._reload_ok = 1.0
        self._reloaded_at = 0.0
        self._lags = Distributions(parts.LAGS)
        self._task_errors = Counts(parts.TASK_ERRORS)
        self._version = version
        self._counted = (
            *(self._stages, self._meanings, self._objections, self._similarities),
            *(self._client_gone, self._errors, self._answers, self._opinions, self._forwarded),
            *(self._background, self._background_tokens, self._reloads, self._lags),
            self._task_errors,
        )
        self.registry.register(_Requests(self._series, self._made))
        self.registry.register(_Collector(self._collect))
        self.registry.register(Process())

    def observe(self, exchange: Exchange) -> None:
        """Count a finished exchange."""
        cache = exchange.level or (
            traffic.COLLAPSED if exchange.collapsed else exchange.fwd or traffic.NONE
        )
        key = (exchange.operation, cache, exchange.status // 100)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series()
        series.requests += 1
        series.durations.add(exchange.ended - exchange.started)
        if exchange.first_byte is not None:
            series.first_bytes.add(exchange.first_byte - exchange.started)
        if exchange.trace is not None and exchange.trace.is_sampled:
            _remember(series, exchange, exchange.trace.context.trace_id)
        if exchange.level is not None:
            series.saved_input += exchange.saved_prompt_tokens
            series.saved_output += exchange.saved_tokens
            series.saved_seconds += exchange.saved_seconds
            if exchange.ttl is not None and exchange.ttl < 0:
                series.stale += 1
        if exchange.looked_up is not None:
            self._looked_up.add(exchange.looked_up - exchange.started)
        if exchange.stages or exchange.meaning_seconds is not None:
            self._observe_search(exchange)
        if exchange.client_gone:
            self._client_gone.add(exchange.operation or traffic.OTHER)
        if exchange.error:
            self._errors.add(exchange.error)

    def _observe_search(self, exchange: Exchange) -> None:
        for stage, began, ended in exchange.stages:
            self._stages.add(ended - began, stage)
        if exchange.meaning_seconds is not None:
            self._meanings.add(exchange.meaning_seconds, exchange.meaning or traffic.MATCH)
        if exchange.guard:
            self._objections.add(exchange.guard)
        if exchange.similarity is not None:
            result = "served" if exchange.level is not None else "nearest"
            self._similarities.add(exchange.similarity, result)

    def answer(self, verdict: str) -> None:
        """Count what became of an upstream's answer."""
        self._answers.add(verdict)

    def made(self, operation: str, *, input_tokens: int, output_tokens: int) -> None:
        """Count what an upstream took for an answer that was stored."""
        self._made.add(operation, "input", "upstream", by=input_tokens)
        self._made.add(operation, "output", "upstream", by=output_tokens)

    def configured(self, at: float) -> None:
        """The configuration in force was taken over; `at` is wall time in seconds."""
        self._reloaded_at = at

    def reload(self, trigger: str, result: str) -> None:
        """Count a reload: applied, unchanged or failed."""
        self._reloads.add(trigger, result)
        self._reload_ok = float(result != "failed")

    def opinion(self, verdict: str, level: str) -> None:
        """Count what somebody said of an answer: wrong or right; and how it was found."""
        self._opinions.add(verdict, level)

    def forwarded(self, result: str) -> None:
        """Count what became of an opinion that an upstream was told."""
        self._forwarded.add(result)

    def background(self, kind: str, result: str, tokens: int) -> None:
        """Count what came of a request of low priority, and what it took."""
        self._background.add(kind, result)
        self.background_tokens(kind, tokens)

    def background_tokens(self, kind: str, tokens: int) -> None:
        """Count tokens of an answer to a request of low priority."""
        self._background_tokens.add(kind, by=tokens)

    def lag(self, seconds: float) -> None:
        """Count how late the event loop was."""
        self._lags.add(seconds)

    def task_error(self, task: str) -> None:
        """Count the death of a background task."""
        self._task_errors.add(task)

    def watch(self, read: Callable[[], Figures]) -> None:
        """Read further figures at each scrape."""
        self.registry.register(_Collector(lambda: _read(read())))

    def watch_tasks(self, read: Callable[[], Iterable[Pulse]]) -> None:
        """Read how the kept loops are doing at each scrape."""
        self.registry.register(_Collector(lambda: _pulses(read())))

    def watch_load(self, load: UpstreamLoad) -> None:
        """Read what upstreams have to do at each scrape."""
        self.registry.register(load)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return self.exposed("").body

    def exposed(self, accept: str) -> Exposition:
        """All metrics, in a format that a scraper's Accept names."""
        return expose(self.registry, accept)

    def _collect(self) -> Iterable[Metric]:
        yield from (counted.collect() for counted in self._counted)
        yield family(parts.RELOAD_OK, {(): self._reload_ok})
        yield family(parts.RELOADED_AT, {(): self._reloaded_at})
        yield family(parts.BUILD, {(self._version,): 1})


def _remember(series: _Series, exchange: Exchange, trace_id: bytes) -> None:
    at = exchange.ended_at
    series.durations.remember(exchange.ended - exchange.started, trace_id, at)
    if exchange.first_byte is not None:
        series.first_bytes.remember(exchange.first_byte - exchange.started, trace_id, at)


class _Requests:
    """The collector of what is counted of requests."""

    def __init__(self, series: dict[tuple[str, str, int], _Series], made: Counts) -> None:
        self._series = series
        self._made = made

    def collect(self) -> Iterable[Metric]:
        found = {
            (operation or traffic.OTHER, cache, f"{status_class}xx"): series
            for (operation, cache, status_class), series in list(self._series.items())
        }
        # What is there from the start: each way in which a request for an operation may go well.
        requests: dict[Labels, float] = {
            (operation, cache, "2xx"): 0
            for operation in traffic.OPERATIONS
            for cache in traffic.CACHE
            if cache != traffic.NONE
        }
        stale = Counts(traffic.STALE_HITS)
        tokens = Counts(traffic.TOKENS)
        seconds = Counts(traffic.SAVED_SECONDS)
        for labels, by in self._made.values.items():
            tokens.add(*labels, by=by)
        for labels, series in found.items():
            operation, cache, _ = labels
            requests[labels] = series.requests
            stale.add(operation, by=series.stale)
            if cache in traffic.HITS:
                tokens.add(operation, "input", "cache", by=series.saved_input)
                tokens.add(operation, "output", "cache", by=series.saved_output)
                seconds.add(operation, by=series.saved_seconds)
        yield family(traffic.REQUESTS, requests)
        yield from (counted.collect() for counted in (stale, tokens, seconds))
        durations = ((labels, series.durations) for labels, series in found.items())
        yield histogram_family(traffic.DURATIONS, durations)
        first_bytes = ((labels, series.first_bytes) for labels, series in found.items())
        yield histogram_family(traffic.FIRST_BYTES, first_bytes)


class _Collector:
    """A collector of what a function gives, so that keeping it up to date costs nothing between."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        return self._read()


def _read(figures: Figures) -> Iterable[Metric]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield family(figure(name), {(label,): each for label, each in value.items()})
        else:
            yield family(figure(name), {(): value})


def _pulses(pulses: Iterable[Pulse]) -> Iterable[Metric]:
    last: dict[Labels, float] = {}
    every: dict[Labels, float] = {}
    deaths: dict[Labels, float] = {}
    for pulse in pulses:
        labels = (pulse.task,)
        last[labels] = pulse.last_success
        every[labels] = pulse.every
        deaths[labels] = pulse.deaths
    yield family(parts.TASK_SUCCESS, last)
    yield family(parts.TASK_INTERVAL, every)
    yield family(parts.TASK_DEATHS, deaths)
