"""Counters and histograms that are kept by hand."""

import pytest
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import generate_latest

from proxy.telemetry.counts import SECONDS, Counts, Distribution, Distributions, family
from proxy.telemetry.described import counter, gauge, histogram

COLOURS = {"colour": ("red", "green")}


def test_what_starts_at_zero_is_there_from_the_start() -> None:
    counts = Counts(counter("things", "Things.", labels=COLOURS, starts_at_zero=True))
    counts.add("red")
    counts.add("red", by=2.5)
    assert counts.values == {("red",): 3.5, ("green",): 0}
    assert [sample.value for sample in counts.collect().samples] == [3.5, 0]
    assert Counts(counter("things", "Things.", labels=COLOURS)).values == {}


def test_a_histogram_says_what_prometheus_own_says() -> None:
    ours = Distributions(histogram("x", "X.", labels=COLOURS), (0.5, 1))
    registry = CollectorRegistry()
    theirs = Histogram("reprise_x", "X.", ("colour",), buckets=(0.5, 1), registry=registry)
    for value in (0.1, 0.5, 0.7, 1.0, 9.0):
        ours.add(value, "red")
        theirs.labels("red").observe(value)
    mine = CollectorRegistry()

    class Collector:
        def collect(self) -> list[object]:
            return [ours.collect()]

    mine.register(Collector())  # type: ignore[arg-type]  # a metric is one
    expected = [line for line in generate_latest(registry).splitlines() if b"_created" not in line]
    assert generate_latest(mine).splitlines() == expected


@pytest.mark.parametrize(("value", "place"), [(0.0, 0), (0.00025, 0), (0.0003, 1), (121, -1)])
def test_a_bound_belongs_to_what_is_below_it(value: float, place: int) -> None:
    distribution = Distribution()
    distribution.add(value)
    assert distribution.counts[place] == 1
    assert len(distribution.counts) == len(SECONDS) + 1


def test_a_gauge_stays_one() -> None:
    metric = family(gauge("things", "Things."), {(): 3})
    assert (metric.name, metric.type, metric.samples[0].value) == ("reprise_things", "gauge", 3)
