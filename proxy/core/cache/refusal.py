"""An upstream's refusal of a request, which may be repeated for a while (mission E6)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from proxy.core.cache.directives import Directives
from proxy.core.cache.value import entry_id

REPEATED = frozenset({400, 404, 413, 415, 422})
"""Statuses that speak of the request alone. 401 and 403 speak of the caller, 408, 409, 425 and 429
of the moment, and 5xx of the upstream: none of these is repeated."""
MAX_BODY_BYTES = 16 * 1024

_OF_THE_MOMENT = re.compile(
    r"quota|billing|credit|balance|payment|funds|rate.?limit|too many|overload|capacity|busy"
    r"|time.?d?.?out|temporar|try again|retry|later|unavailable|not ready|loading|internal"
    r"|server.?error|upstream",
    re.IGNORECASE,
)
"""Some providers say by 400 or 404 that the account is empty, or that a server behind them fails:
the same request may be answered a moment later."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the upstream said of one request. What a selector asks for has the same names as in a
    StoredResponse."""

    status: int
    reason: bytes
    content_type: bytes
    body: bytes
    created: float
    """Wall time in seconds at which it was made, as far as that is known."""
    ttl: float
    """Seconds for which it is repeated."""
    key: bytes
    """The exact key of the question."""
    tenant: bytes
    model: str
    namespace: str
    tags: tuple[str, ...]

    @property
    def id(self) -> str:
        """Its public name, as that of an answer."""
        return entry_id(self.key, self.created)


def is_repeatable(status: int, values: Mapping[bytes, bytes], body: bytes) -> bool:
    """Whether the same request would be refused again, as far as an answer tells.

    `values` are its fields by lower-case name. It must be whole, small, and carry an OpenAI error
    object that says nothing of a passing state.
    """
    if status not in REPEATED or len(body) > MAX_BODY_BYTES:
        return False
    if b"retry-after" in values or values.get(b"x-should-retry", b"").lower() == b"true":
        return False
    if b"no-store" in values.get(b"cache-control", b"").lower() or b"content-encoding" in values:
        return False
    media_type = values.get(b"content-type", b"").partition(b";")[0].strip().lower()
    return media_type == b"application/json" and _speaks_of_request(body)


def _speaks_of_request(body: bytes) -> bool:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return False
    told = (error.get(name) for name in ("message", "type", "code"))
    return not any(isinstance(text, str) and _OF_THE_MOMENT.search(text) for text in told)


def serves(refusal: Refusal, directives: Directives, now: float) -> bool:
    """Whether it may be repeated now: as fresh as the client wants it (RFC 9111 5.2.1)."""
    passed = max(0.0, now - refusal.created)
    left = refusal.ttl - passed
    too_old = directives.max_age is not None and passed > directives.max_age
    return left > 0 and not (directives.no_cache or too_old or left < (directives.min_fresh or 0))
