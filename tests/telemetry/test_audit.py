"""The list of who did what."""

import itertools

from proxy.telemetry.audit import MAX_RECORDS, Audit
from proxy.telemetry.log import Event


class Lines:
    """A log that keeps its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, Event]] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Keep it."""
        self.events.append((level, event, fields))


def test_the_latest_is_told_first_and_logged() -> None:
    lines, times = Lines(), itertools.count(100)
    audit = Audit(lines, lambda: float(next(times)))
    audit.note("purge", "ann", {"count": 2})
    audit.note("epoch", "bob", {"model": "m"})
    assert audit.last(5) == [
        {"time": 101.0, "action": "epoch", "by": "bob", "model": "m"},
        {"time": 100.0, "action": "purge", "by": "ann", "count": 2},
    ]
    assert audit.last(1)[0]["by"] == "bob"
    assert audit.last(0) == []
    assert lines.events[0] == ("info", "audit", {"action": "purge", "by": "ann", "count": 2})


def test_what_was_done_elsewhere_stands_at_its_time_and_is_not_logged_again() -> None:
    lines = Lines()
    audit = Audit(lines, lambda: 100.0)
    audit.note("purge", "ann", {})
    audit.keep(50.0, "purge", "before", {})
    assert [record["by"] for record in audit.last(5)] == ["ann", "before"]
    assert len(lines.events) == 1


def test_what_several_workers_tell_of_is_one() -> None:
    audit = Audit(Lines(), lambda: 100.0)
    audit.note("purge", "ann", {"selector": {"tag": "a"}, "count": 2})
    audit.keep(100.5, "purge", "ann", {"selector": {"tag": "a"}})
    assert len(audit.last(5)) == 1
    for at, by, tag in ((100.5, "bob", "a"), (100.5, "ann", "b"), (111.0, "ann", "a")):
        audit.keep(at, "purge", by, {"selector": {"tag": tag}})
    assert len(audit.last(5)) == 4


def test_it_is_bounded() -> None:
    audit = Audit(Lines(), lambda: 0.0)
    for number in range(MAX_RECORDS + 5):
        audit.note("purge", str(number), {})
    assert len(audit.last(MAX_RECORDS * 2)) == MAX_RECORDS
