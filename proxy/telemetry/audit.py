"""Who took what out of the cache, or put it in (mission E8): a list of the latest, and a log line
each."""

from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeAlias

from proxy.telemetry.log import Log

Json: TypeAlias = dict[str, Any]

MAX_RECORDS = 1000
SAME_SECONDS = 10.0
"""Each of several workers tells the others of what all were asked to do at once."""
_LOOKED_AT = 64


class Audit:
    """What operators did, here or at another process that told of it."""

    def __init__(self, log: Log, now: Callable[[], float]) -> None:
        """`now` gives wall time in seconds."""
        self._log = log
        self._now = now
        self._records: deque[Json] = deque(maxlen=MAX_RECORDS)

    def note(self, action: str, by: str, told: Mapping[str, object]) -> None:
        """Keep and log what is done now: the action, who asked for it, and what else is told."""
        self._records.append({"time": self._now(), "action": action, "by": by, **told})
        self._log.emit("info", "audit", {"action": action, "by": by, **told})

    def keep(self, at: float, action: str, by: str, told: Mapping[str, object]) -> None:
        """Keep without a log line what was done before or elsewhere; `at` is its wall time.

        The same at nearly the same time is kept once.
        """
        record = {"action": action, "by": by, **told}
        latest = islice(reversed(self._records), _LOOKED_AT)
        if not any(_is_same(known, record, at) for known in latest):
            self._records.append({"time": at, **record})

    def last(self, limit: int) -> list[Json]:
        """The latest actions, the last one first."""
        records = sorted(self._records, key=lambda record: record["time"])
        return records[::-1][:limit]


def _is_same(known: Json, record: Json, at: float) -> bool:
    is_near = abs(known["time"] - at) < SAME_SECONDS
    return is_near and all(known.get(name) == value for name, value in record.items())
