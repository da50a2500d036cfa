"""What has happened to one request so far: its single mutable value."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from proxy.core.model import Request
from proxy.core.trace import Trace


class Fwd(StrEnum):
    """Why a request went to the upstream (RFC 9211 2.2)."""

    BYPASS = "bypass"
    METHOD = "method"
    MISS = "miss"
    REQUEST = "request"
    STALE = "stale"


class Level(StrEnum):
    """What kind of hit it was; the `detail` of a hit in Cache-Status."""

    EXACT = "exact"
    SEMANTIC = "semantic"
    """Stored for another question that means the same."""
    ALIAS = "alias"
    """The same question was answered so before."""
    NEGATIVE = "negative"
    """The upstream refused the same request a moment ago."""


class Stage(StrEnum):
    """A part of looking an answer up."""

    KEY = "key"
    """By its exact key, in this process."""
    REPLICAS = "replicas"
    """By its exact key, at the replicas."""
    EMBED = "embed"
    SEARCH = "search"
    GATE = "gate"
    """Guards and verifier."""


class Timed(NamedTuple):
    """When a stage began and ended, in monotonic seconds."""

    stage: Stage
    began: float
    ended: float


class Asked(NamedTuple):
    """A request that was looked up, for those who keep requests (`background.related`,
    `privacy.record_requests`)."""

    request: Request
    """Its body is whole."""
    caller: bytes
    """The digest of the caller's credential."""
    group: bytes
    """Scope and settings of its key: what it has in common with others of the same tenant."""


@dataclass(slots=True, eq=False)
class Exchange:
    """Filled in on the way; telemetry/report.py makes the log line and the metrics of it."""

    started: float
    """Monotonic seconds at which the request's head had been read."""
    method: str
    path: str
    request_id: str = ""
    operation: str = ""
    """The operation's name, empty for a path that is none."""
    model: str = ""
    tenant: str = ""
    """The first bytes of the scope's digest, as hexadecimal; never a credential."""
    pool: str = ""
    level: Level | None = None
    fwd: Fwd | None = None
    detail: str = ""
    """From a closed set: MissReason, or the reason of a bypass."""
    collapsed: bool = False
    stored: bool | None = None
    """Whether the answer was stored, or is going to be; None while that is not known."""
    ttl: int | None = None
    """Remaining freshness of a hit in whole seconds, negative if stale."""
    age: int = 0
    status: int = 0
    fwd_status: int = 0
    bytes_sent: int = 0
    first_byte: float | None = None
    """Monotonic seconds at which the first byte went to the client."""
    ended: float = 0.0
    ended_at: float = 0.0
    """Wall time in seconds."""
    client_gone: bool = False
    retried: bool = False
    error: str = ""
    """The code of our own error, also where it came too late to be sent."""
    entry: bytes = b""
    """The exact key of the stored response that was served."""
    missed: bytes = b""
    """The exact key of a question for which nothing stored was served."""
    question: str = ""
    """The text of a question that was missed; never logged."""
    saved_seconds: float = 0.0
    """How long the upstream took for the answer that was served."""
    similarity: float | None = None
    """To the question whose answer was served, or the nearest one that was looked at."""
    meaning: str = ""
    """Why nothing was served by meaning: Uncompared, or the gate's reason."""
    guard: str = ""
    """The guard that objected to the nearest one."""
    meaning_seconds: float | None = None
    """How long it took to look by meaning."""
    looked_up: float | None = None
    """Monotonic seconds at which it was known whether there is an answer by key."""
    stages: tuple[Timed, ...] = ()
    """The further stages of looking an answer up, where there were any."""
    saved_tokens: int = 0
    """Completion tokens that a hit spared the upstream."""
    saved_prompt_tokens: int = 0
    """Prompt tokens that it spared it."""
    asked: Asked | None = None
    """Set only where somebody keeps requests."""
    trace: Trace | None = None
    """Set where traces are wanted, if it is sampled, or as soon as others are to be told of it."""
