"""Age and freshness (RFC 9111 4.2, RFC 5861). All times in seconds."""

import re
from collections.abc import Mapping

from proxy.core.cache.value import StoredResponse
from proxy.core.policy import Policy

_AGE = re.compile(rb"[ \t]*([0-9]+)[ \t]*(?:,.*)?")


def made_at(values: Mapping[bytes, bytes], *, began: float, ended: float) -> float:
    """The moment at which an answer was made: when it was whole, unless it came from a cache.

    `values` are its fields by lower-case name. With an Age it is as old as that says, and the time
    it was on its way is added (RFC 9111 4.2.3). An Age that is none is left out (5.1).
    """
    age_field = values.get(b"age")
    if age_field is None:
        return ended
    told = _AGE.fullmatch(age_field)
    return began - min(int(told[1][:10]), 2**31) if told else ended


KEPT_STALE_SECONDS = 600.0
"""How long journals keep what is stale, for an upstream that fails; memory keeps it as it can."""


def freshness_lifetime(policy: Policy, asked: float | None, chance: float) -> float:
    """The lifetime that a new stored response gets.

    `chance` in [0, 1) spreads the policy's by its jitter to both sides, so that what was stored
    together does not end together. `asked` is the client's x-cache-ttl, which can only shorten it.
    """
    lifetime = policy.ttl * (1 + policy.ttl_jitter * (2 * chance - 1))
    return lifetime if asked is None else min(asked, lifetime)


def age(stored: StoredResponse, now: float) -> float:
    """How long ago it was received; never negative, whatever the clock did (RFC 9111 4.2.3)."""
    return max(0.0, now - stored.created)


def remaining(stored: StoredResponse, policy: Policy, now: float) -> float:
    """Seconds until it is stale, negative afterwards.

    It keeps the lifetime it was given, but a policy that has become shorter since holds for it.
    """
    return _lifetime(stored, policy) - age(stored, now)


def is_ending(stored: StoredResponse, policy: Policy, now: float) -> bool:
    """Whether a fresh one is in the last part of its lifetime, in which it is refreshed ahead."""
    return remaining(stored, policy, now) < policy.refresh_ahead * _lifetime(stored, policy)


def _lifetime(stored: StoredResponse, policy: Policy) -> float:
    return min(stored.ttl, policy.ttl * (1 + policy.ttl_jitter))
