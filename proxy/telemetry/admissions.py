"""Metrics of the injector."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from proxy.telemetry.catalog_injector import (
    ADMISSION_DURATIONS,
    ADMISSIONS,
    CERTIFICATE_NOT_AFTER,
)
from proxy.telemetry.counts import Counts, Distributions, family
from proxy.telemetry.exposition import Exposition, expose

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""From a pod that is judged at once to the API server's patience."""


class Admissions:
    """What the injector did with the pods that it was asked about, in a registry of its own."""

    def __init__(self, outcomes: Iterable[tuple[str, str]]) -> None:
        """`outcomes` are all pairs of result and reason that there are; each begins at 0."""
        self.registry = CollectorRegistry()
        self._admissions = Counts(ADMISSIONS)
        for outcome in outcomes:
            self._admissions.add(*outcome, by=0)
        self._durations = Distributions(ADMISSION_DURATIONS, _SECONDS)
        self._not_after = 0.0
        self.registry.register(self)

    def count(self, result: str, reason: str, seconds: float) -> None:
        """Count one review."""
        self._admissions.add(result, reason)
        self._durations.add(seconds)

    def set_not_after(self, timestamp: float) -> None:
        """Tell when the certificate that is served ends."""
        self._not_after = timestamp

    def collect(self) -> Iterable[Metric]:
        """As prometheus_client asks for it."""
        yield self._admissions.collect()
        yield self._durations.collect()
        yield family(CERTIFICATE_NOT_AFTER, {(): self._not_after})

    def exposition(self) -> bytes:
        """Prometheus' text format."""
        return self.exposed("").body

    def exposed(self, accept: str) -> Exposition:
        """All metrics, in a format that a scraper's Accept names."""
        return expose(self.registry, accept)
