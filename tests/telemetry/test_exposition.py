"""Which format a scraper gets."""

import pytest
from prometheus_client import CollectorRegistry, Counter

from proxy.telemetry.exposition import OPENMETRICS, TEXT, expose

PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        ("text/plain", TEXT),
        ("text/html, application/xml;q=0.9", TEXT),
        (PROMETHEUS, OPENMETRICS),
        ("Application/OpenMetrics-Text", OPENMETRICS),
        ("application/openmetrics-text;version=\x00nonsense", OPENMETRICS),
    ],
)
def test_openmetrics_for_who_names_it(accept: str, content_type: str) -> None:
    registry = CollectorRegistry()
    Counter("reprise_x", "X.", registry=registry).inc()
    told = expose(registry, accept)
    assert told.content_type == content_type
    assert told.body.endswith(b"# EOF\n") is (content_type == OPENMETRICS)
    assert b"reprise_x_total 1.0\n" in told.body
