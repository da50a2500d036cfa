"""What upstreams have to do, as it is counted."""

import pytest

from proxy.core.errors import UpstreamTimeout
from proxy.telemetry.catalog_traffic import RESULTS
from proxy.telemetry.load import CUT, UpstreamLoad
from tests.fakes.clock import FakeClock


class Watched:
    """A load and its clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.load = UpstreamLoad(self.clock.monotonic)

    def samples(self) -> dict[tuple[str, ...], float]:
        """By name and label values; no zeros."""
        return {
            (sample.name.removeprefix("reprise_upstream_"), *sample.labels.values()): sample.value
            for metric in self.load.collect()
            for sample in metric.samples
            if sample.value and not sample.name.endswith("_bucket")
        }


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize(("status", "result"), [(200, "2xx"), (404, "4xx"), (429, "429")])
def test_a_call_is_counted_when_it_has_ended(watched: Watched, status: int, result: str) -> None:
    call = watched.load.begin("a")
    watched.clock.advance(0.5)
    assert watched.samples() == {("in_flight_requests", "a"): 1}
    call.answered(status)
    watched.clock.advance(1.5)
    call.ended()
    assert watched.samples() == {
        ("requests_total", "a", result): 1,
        ("duration_seconds_count", "a"): 1,
        ("duration_seconds_sum", "a"): 2,
        ("time_to_first_byte_seconds_count", "a"): 1,
        ("time_to_first_byte_seconds_sum", "a"): 0.5,
    }


def test_a_call_ends_once(watched: Watched) -> None:
    call = watched.load.begin("a")
    call.failed(UpstreamTimeout.code)
    call.failed(CUT)
    call.ended()
    found = watched.samples()
    assert found[("requests_total", "a", "upstream_timeout")] == 1
    assert ("in_flight_requests", "a") not in found
    assert ("requests_total", "a", CUT) not in found


def test_upstreams_that_are_expected_are_there_at_zero(watched: Watched) -> None:
    watched.load.retried("a")
    watched.load.expect(["a", "b"])
    found = {
        (sample.name, sample.labels["upstream"], sample.labels.get("result")): sample.value
        for metric in watched.load.collect()
        for sample in metric.samples
    }
    assert all(found["reprise_upstream_requests_total", "b", result] == 0 for result in RESULTS)
    assert found["reprise_upstream_retries_total", "a", None] == 1
    assert found["reprise_upstream_in_flight_requests", "b", None] == 0
