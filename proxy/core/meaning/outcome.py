"""What looking for an answer by meaning comes to."""

from dataclasses import dataclass, field
from typing import TypeAlias

from proxy.core.exchange import Timed


@dataclass(frozen=True, slots=True)
class Match:
    """An entry whose answer serves."""

    key: bytes
    """Its exact key."""
    similarity: float
    stages: tuple[Timed, ...] = field(default=(), compare=False)
    """How long it took to find it."""


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Nothing serves, and why: an Uncompared, "absent", or the gate's reason."""

    reason: str
    nearest: float | None = None
    """The similarity of the nearest entry that was looked at."""
    guard: str = ""
    """The guard that objected to it."""
    stages: tuple[Timed, ...] = field(default=(), compare=False)


Meant: TypeAlias = Match | NoMatch
