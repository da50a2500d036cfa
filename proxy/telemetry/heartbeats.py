"""How the kept loops are doing (mission E9): told to operators, and watched for being late."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from proxy.tasks import Beat, Heartbeat
from proxy.telemetry.log import Log

Json: TypeAlias = dict[str, Any]

EVERY_SECONDS = 1.0
"""Between two looks."""


class Pulse(NamedTuple):
    """One loop at one moment, as the metrics show it."""

    task: str
    last_success: float
    """Wall time in seconds."""
    every: float
    """Seconds within which it should do well once."""
    deaths: int


def pulses(heartbeats: Mapping[str, Heartbeat], *, now: float, wall: float) -> Iterator[Pulse]:
    """All loops; `now` is the event loop's time, `wall` the wall's, both in seconds."""
    for task, heartbeat in heartbeats.items():
        last = wall - heartbeat.age(now)
        yield Pulse(task, last, heartbeat.every, heartbeat.deaths)


def detail(heartbeats: Mapping[str, Heartbeat], *, now: float) -> Json:
    """All loops as JSON."""
    return {
        task: {
            "age": round(heartbeat.age(now), 3),
            "every": heartbeat.every,
            "deaths": heartbeat.deaths,
            "late": heartbeat.is_late(now),
        }
        for task, heartbeat in heartbeats.items()
    }


async def watch_heartbeats(
    heartbeats: Mapping[str, Heartbeat],
    *,
    sleep: Callable[[float], Awaitable[object]],
    now: Callable[[], float],
    log: Log,
    beat: Beat,
) -> None:
    """Log when a loop begins to be late, and when it no longer is. Never ends.

    `now` is the event loop's time. The deaths of loops are told where they happen.
    """
    late: set[str] = set()
    while True:
        await sleep(EVERY_SECONDS)
        beat()
        at = now()
        were, late = late, {task for task, one in heartbeats.items() if one.is_late(at)}
        for task in sorted(late - were):
            told = {"task": task, "age": round(heartbeats[task].age(at), 3)}
            log.emit("error", "background task is late", told)
        for task in sorted((were - late) & heartbeats.keys()):
            log.emit("info", "background task is on time again", {"task": task})
