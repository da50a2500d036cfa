"""What looking for an answer by meaning comes to."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Match:
    """An entry whose answer serves."""

    key: bytes
    """Its exact key."""
    similarity: float


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Nothing serves, and why: an Uncompared, "absent", or the gate's reason."""

    reason: str
    nearest: float | None = None
    """The similarity of the nearest entry that was looked at."""
    guard: str = ""
    """The guard that objected to it."""


Meant: TypeAlias = Match | NoMatch
