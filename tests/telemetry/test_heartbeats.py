"""How the kept loops are doing."""

import asyncio
from collections.abc import Callable

import pytest

from proxy.tasks import Heartbeat
from proxy.telemetry.heartbeats import EVERY_SECONDS, detail, pulses, watch_heartbeats
from proxy.telemetry.log import Event


class Lines:
    """A log that keeps level, event and task."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Keep one line."""
        self.seen.append((level, event, fields["task"]))


LATE = ("error", "background task is late")
ON_TIME = ("info", "background task is on time again")


async def watched(heartbeats: dict[str, Heartbeat], *moments: Callable[[], None]) -> Lines:
    """The lines of a watch that looks once after each moment, a second apart."""
    lines, passed, beats = Lines(), [0], [0]

    async def sleep(seconds: float) -> None:
        assert seconds == EVERY_SECONDS
        if passed[0] == len(moments):
            raise asyncio.CancelledError
        moments[passed[0]]()
        passed[0] += 1

    def beat() -> None:
        beats[0] += 1

    with pytest.raises(asyncio.CancelledError):
        await watch_heartbeats(
            heartbeats, sleep=sleep, now=lambda: 100.0 + passed[0], log=lines, beat=beat
        )
    assert beats == [len(moments)]
    return lines


def nothing() -> None:
    """Nothing happens."""


async def test_a_late_loop_is_one_line_until_it_is_on_time_again() -> None:
    late = Heartbeat(every=1.0, last=0.0)
    heartbeats = {"late": late, "well": Heartbeat(every=60.0, last=100.0)}

    def do_well() -> None:
        late.last = 103.0

    lines = await watched(heartbeats, nothing, nothing, do_well, nothing)
    assert lines.seen == [(*LATE, "late"), (*ON_TIME, "late")]


async def test_a_late_loop_that_is_stopped_is_not_on_time() -> None:
    heartbeats = {"late": Heartbeat(every=1.0, last=0.0)}
    lines = await watched(heartbeats, nothing, heartbeats.clear, nothing)
    assert lines.seen == [(*LATE, "late")]


def test_all_loops_are_told() -> None:
    heartbeats = {
        "well": Heartbeat(every=10.0, last=95.0),
        "late": Heartbeat(every=1.0, last=90.0, deaths=2),
    }
    assert detail(heartbeats, now=100.0) == {
        "well": {"age": 5.0, "every": 10.0, "deaths": 0, "late": False},
        "late": {"age": 10.0, "every": 1.0, "deaths": 2, "late": True},
    }
    assert list(pulses(heartbeats, now=100.0, wall=1000.0)) == [
        ("well", 995.0, 10.0, 0),
        ("late", 990.0, 1.0, 2),
    ]
