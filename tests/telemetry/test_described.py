"""What a metric is."""

from proxy.telemetry.described import Kind, Named, Rule, counter, gauge, histogram

COLOURS = ("red", "green")
SIZES = ("small", "large")


def test_a_counter_says_that_it_is_one_by_its_name() -> None:
    described = counter("things", "Things.")
    assert (described.name, described.family) == ("reprise_things_total", "reprise_things")
    assert described.kind is Kind.COUNTER


def test_a_gauge_is_left_to_each_worker_unless_something_else_is_said() -> None:
    assert gauge("things", "Things.").united is Rule.EACH
    assert gauge("things", "Things.", united=Rule.MAX).united is Rule.MAX
    assert gauge("things", "Things.").name == "reprise_things"


def test_the_combinations_of_labels_are_known_where_all_values_are() -> None:
    described = counter("things", "Things.", labels={"colour": COLOURS, "size": SIZES})
    assert list(described.combinations()) == [
        *(("red", "small"), ("red", "large"), ("green", "small"), ("green", "large")),
    ]
    named = histogram("things", "Things.", labels={"colour": COLOURS, "name": Named("of things")})
    assert list(named.combinations()) == []
    assert list(counter("things", "Things.").combinations()) == [()]
