"""What a look-up comes to: Hit, Stale or Miss."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from proxy.core.cache.directives import Directives
from proxy.core.cache.freshness import age, remaining
from proxy.core.cache.value import StoredResponse
from proxy.core.exchange import Level
from proxy.core.policy import Policy


class MissReason(StrEnum):
    """Why nothing stored was served; the `detail` of a miss in Cache-Status."""

    ABSENT = "absent"
    STALE = "stale"
    REQUEST = "request"
    """The client asked for a fresh one: no-cache, max-age, min-fresh."""
    SHAPE = "shape"
    """Stored in the other shape, which does not convert without loss."""
    CREDENTIAL = "credential"
    """The upstream last refused this credential."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Fresh, and may be served."""

    stored: StoredResponse
    level: Level = Level.EXACT
    similarity: float | None = None
    """Of its question to the one that is asked, where that is another one."""
    left: float | None = None
    """Seconds for which it may still be served so, where that is not its own lifetime."""


@dataclass(frozen=True, slots=True)
class Stale:
    """Stale, but the client or the policy accepts that."""

    stored: StoredResponse
    refresh: bool
    """Whether a fresh one is to be fetched in the background (RFC 5861 section 3)."""


@dataclass(frozen=True, slots=True)
class Miss:
    """The upstream has to answer."""

    reason: MissReason
    fallback: StoredResponse | None = None
    """May be served if the upstream fails (stale-if-error, RFC 5861 section 4)."""


Outcome: TypeAlias = Hit | Stale | Miss


def judge(
    stored: StoredResponse | None, directives: Directives, policy: Policy, now: float
) -> Outcome:
    """Whether a stored response may be served now.

    1. nothing stored: a miss
    2. the client insists on a fresh one: a miss, even without a fallback
    3. fresh enough for policy and client: a hit
    4. fresh, but not as the client wants it: a miss
    5. stale within the client's max-stale: served as it is
    6. stale within stale-while-revalidate: served and refreshed
    7. otherwise a miss; within stale-if-error it stays as the fallback

    A client that sets max-age or min-fresh gets nothing that breaks them, not even as a fallback.
    """
    if stored is None:
        return Miss(MissReason.ABSENT)
    if directives.no_cache:
        return Miss(MissReason.REQUEST)
    left = remaining(stored, policy, now)
    too_old = directives.max_age is not None and age(stored, now) > directives.max_age
    if left > 0 and not too_old and left >= (directives.min_fresh or 0.0):
        return Hit(stored)
    if left > 0:
        return Miss(MissReason.REQUEST)
    may_be_stale = not too_old and directives.min_fresh is None
    if may_be_stale and directives.max_stale is not None and -left <= directives.max_stale:
        return Stale(stored, refresh=False)
    if may_be_stale and -left < policy.stale_while_revalidate:
        return Stale(stored, refresh=True)
    is_fallback = may_be_stale and -left < policy.stale_if_error
    return Miss(MissReason.STALE, fallback=stored if is_fallback else None)
