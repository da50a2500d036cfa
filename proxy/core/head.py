"""What the head of a request says to the cache.

All requests of one client usually have the same, so that it is worth remembering.
"""

import re
from dataclasses import dataclass

from proxy.core.cache import directives
from proxy.core.cache.directives import Directives
from proxy.core.cache.key import tenant_digest
from proxy.core.model import Request
from proxy.core.wire.headers import by_name, connection_options

CREDENTIAL_FIELDS = (
    "Authorization",
    "api-key",
    "apikey",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
    "Ocp-Apim-Subscription-Key",
    "Cookie",
)
"""Fields by which upstreams know a caller: all of them tell tenants apart."""

VARIANT_FIELDS = (
    "OpenAI-Organization",
    "OpenAI-Project",
    "OpenAI-Beta",
    "anthropic-version",
    "anthropic-beta",
    "Origin",
)
"""Fields that may change an answer (or, Origin, the fields around it) and so count in the key."""

DECIDING_FIELDS = frozenset(
    name.lower().encode()
    for name in (
        *CREDENTIAL_FIELDS,
        *VARIANT_FIELDS,
        "Cache-Control",
        "x-cache-namespace",
        "x-cache-ttl",
        "x-cache-tags",
        "x-cache-threshold",
        "x-cache-priority",
        "Content-Type",
        "Content-Encoding",
        "Accept-Encoding",
        "Connection",
    )
)
"""All request fields (lower case) that a plan depends on, besides those that the rules name."""


_JSON = re.compile(r'\s*application/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """What the deciding fields come to."""

    caller: bytes
    """A keyed digest of every field that carries a credential."""
    wishes: Directives
    variant: tuple[str | None, ...]
    """The values of VARIANT_FIELDS."""
    coding: bytes
    """The content codings that the client accepts, as sent."""
    is_json: bool
    """The body is JSON, and in no other charset than JSON's own."""
    is_coded: bool
    """The body has a content coding."""
    dropped: frozenset[bytes]
    """Fields that the client declares hop-by-hop: the upstream will not see them."""

    def keeps(self, scope_header: str) -> bool:
        """Whether the upstream sees everything that the plan depends on."""
        return (
            DECIDING_FIELDS.isdisjoint(self.dropped)
            and scope_header.lower().encode() not in self.dropped
        )


def read_head(request: Request, secret: bytes) -> Head:
    """Read the deciding fields. `secret` keys the digest of the credentials."""
    header = request.header
    return Head(
        caller=caller_digest(request, secret),
        wishes=directives.parse(header),
        variant=tuple(header(name) for name in VARIANT_FIELDS),
        coding=(header("Accept-Encoding") or "").encode("utf-8", "surrogateescape"),
        is_json=_JSON.fullmatch(header("Content-Type") or "") is not None,
        is_coded=bool(header("Content-Encoding")),
        dropped=connection_options(by_name(request.fields)),
    )


def caller_digest(request: Request, secret: bytes) -> bytes:
    """Who is asking: a keyed digest of every field that carries a credential."""
    return tenant_digest(secret, [request.header(name) for name in CREDENTIAL_FIELDS])
