"""Metrics as a scraper reads them: OpenMetrics, which has exemplars, or Prometheus' text format."""

from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest as as_text
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exposition(NamedTuple):
    """All metrics as of some moment."""

    body: bytes
    content_type: str


def expose(registry: CollectorRegistry, accept: str) -> Exposition:
    """All metrics of a registry; `accept` is the value of the scraper's field.

    Whoever names OpenMetrics at all prefers it: that is how Prometheus asks.
    """
    names = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    if "application/openmetrics-text" in names:
        body: bytes = as_openmetrics(registry)  # type: ignore[no-untyped-call]  # it has no types
        return Exposition(body, OPENMETRICS)
    return Exposition(as_text(registry), TEXT)
