"""Metrics of the injector."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""From a pod that is judged at once to the API server's patience."""


class Admissions:
    """What the injector did with the pods that it was asked about, in a registry of its own."""

    def __init__(self, outcomes: Iterable[tuple[str, str]]) -> None:
        """`outcomes` are all pairs of result and reason that there are; each begins at 0."""
        self.registry = CollectorRegistry()
        self._admissions = Counter(
            "reprise_injector_admissions",
            "Reviews of the API server, by what came of them and why.",
            ("result", "reason"),
            registry=self.registry,
        )
        for outcome in outcomes:
            self._admissions.labels(*outcome)
        self._duration = Histogram(
            "reprise_injector_admission_duration_seconds",
            "From the head of a review to its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._not_after = Gauge(
            "reprise_injector_certificate_not_after_timestamp_seconds",
            "When the certificate that is served ends; 0 while there is none.",
            registry=self.registry,
        )

    def count(self, result: str, reason: str, seconds: float) -> None:
        """Count one review."""
        self._admissions.labels(result, reason).inc()
        self._duration.observe(seconds)

    def set_not_after(self, timestamp: float) -> None:
        """Tell when the certificate that is served ends."""
        self._not_after.set(timestamp)

    def exposition(self) -> bytes:
        """Prometheus' text format."""
        return generate_latest(self.registry)
