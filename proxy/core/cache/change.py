"""What changes in a cache, as values: journals keep them and tell other processes (design 8).

Each may arrive twice, late, or before what it is about; taking it in twice changes nothing.
"""

from dataclasses import dataclass
from typing import TypeAlias

from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse


@dataclass(frozen=True, slots=True)
class Put:
    """An answer was stored, in place of an earlier one to the same question."""

    stored: StoredResponse
    followed: tuple[bytes, ...] = ()
    """The exact keys of questions in its history for which others stand (core/cache/thread.py)."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was stored under a key up to a moment is to be forgotten everywhere."""

    key: bytes
    at: float
    """Wall time in seconds; what is stored later stays."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is needed to find a stored answer by meaning."""

    key: bytes
    """The exact key of the answer; the others are of the same `Key`."""
    scope: bytes
    settings: bytes
    history: bytes
    text: str
    """The question, as it is compared."""
    until: float
    """Wall time in seconds until which it is found so."""
    encoder: str
    """The identity of the encoder that made the vector."""
    vector: bytes
    """Float32, little endian, of length 1."""


@dataclass(frozen=True, slots=True)
class Aliased:
    """A question was answered with what is stored for another one."""

    key: bytes
    """The exact key of the question."""
    target: bytes
    similarity: float
    asked: bytes
    answer: bytes
    """These are of pipeline/aliases.py."""
    judge: bytes
    """The digest of what decided so: an alias does not outlive a change of rules or guards."""
    at: float
    """Wall time in seconds."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Somebody said that an answer is wrong: it goes, with all that was answered with it."""

    key: bytes
    at: float
    pairs: tuple[tuple[bytes, bytes], ...]
    """Digests of questions that one answer does not serve (core/meaning/negatives.py)."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a selector names, as far as it was stored up to a moment, is gone or stale."""

    selector: Selector
    soft: bool
    at: float
    by: str = ""
    """Who asked for it, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """The answers of some models belong to another epoch from now on (mission E8)."""

    model: str
    """Glob of the models."""
    epoch: str
    """Part of their keys; the last that was set counts. Empty is none."""
    at: float
    by: str = ""


@dataclass(frozen=True, slots=True)
class Barred:
    """The upstream refuses a caller that it accepted before, or accepts it again."""

    caller: bytes
    """The digest of the credential."""
    is_refused: bool
    at: float


Change: TypeAlias = Put | Deleted | Learnt | Aliased | Rejected | Purged | Renewed | Barred
