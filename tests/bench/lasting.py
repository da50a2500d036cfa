"""What is found about entries that last: what they cost, how they spread, how they come back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

NOTHING, DISK, REDIS = "nothing", "disk", "redis"
SYSTEMS = (NOTHING, DISK, REDIS)
"""What entries are kept in, besides memory."""

Figures: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Delay:
    """Milliseconds from an answer at one process until the other one has it."""

    per_second: float
    """New answers."""
    looked_for: int
    p50_ms: float
    p99_ms: float
    slowest_ms: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """All that was found."""

    absolute: Mapping[str, Figures]
    """By what entries are kept in; requests a second and microseconds, medians."""
    ratios: Mapping[str, Figures]
    """To the one that keeps nothing, of DISK and REDIS."""
    delays: Mapping[str, Delay]
    """Of DISK and REDIS."""


@dataclass(frozen=True, slots=True)
class WarmStart:
    """What was found; seconds from spawning the process."""

    entries: int
    answers_s: float
    """To the first 200 through it."""
    ready_s: float
    """Until it says that it is ready."""
    served_s: float
    """Until it holds all entries."""
    found_s: float
    """Until all are in the index of vectors."""
    processor_s: float
    """What it has used of the processor until then, all threads together."""
    rss_mb: float
    """Resident memory then."""
    asked: int
    """Questions asked afterwards, as stored and in other words; all were hits."""
    reworded: int


@dataclass(frozen=True, slots=True)
class Soak:
    """What was found."""

    minutes: float
    requests: int
    rps: float
    outcomes: Mapping[str, int]
    """By the detail of a hit, else by why the upstream was asked."""
    purges: int
    opinions: int
    failures: int
    not_alike: int
    """Answers found by meaning to a question that means something else."""
    events: Mapping[str, int]
    """Log lines of warnings and errors."""
    rss_settled_mb: float
    rss_end_mb: float
    rss_most_mb: float
    growth: float
    """Of resident memory, from a third of the time to the end; 0.01 is 1 %."""
    entries: float
    disk_mb: float
    disk_dropped: float
    redis_mb: float
