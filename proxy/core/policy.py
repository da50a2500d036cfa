"""What the operator decided, ready for use: one Policy a route, one Pool an upstream."""

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from proxy.core.model import Fields


class ScopeKind(Enum):
    """Who shares stored responses with whom (design 7)."""

    CREDENTIAL = "credential"
    """Each credential has its own; the default."""
    SHARED = "shared"
    """Everybody of the route shares; declared by the operator."""
    HEADER = "header"
    """The value of a header that a trusted hop sets takes the place of the credential."""


class OnClientGone(Enum):
    """What happens to an upstream answer whose last reader has left."""

    FINISH = "finish"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Bounds of one upstream exchange, in seconds; None means no bound."""

    connect: float | None = 5.0
    first_byte: float | None = 600.0
    between_bytes: float | None = 300.0
    total: float | None = 3600.0


@dataclass(frozen=True, slots=True)
class BypassRules:
    """Requests that the cache leaves alone (mission D3), by what needs no embedding."""

    models: tuple[str, ...] = ()
    """Glob patterns of model names."""
    keywords: tuple[str, ...] = ()
    """Looked for in the last user text; case does not count. Latin words match as whole words."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """Searched in the last user text."""
    fields: tuple[str, ...] = ()
    """Top-level body members whose presence (not null) is enough."""
    max_temperature: float | None = None
    """A given temperature above it is left alone; an absent one is not zero (design 14)."""
    tools: bool = False
    """Requests that offer tools."""
    media: bool = False
    """Requests with a content part that is not text."""


@dataclass(frozen=True, slots=True)
class SemanticRules:
    """What is compared by meaning, and how sure it must be (design 5, 6)."""

    enabled: bool = True
    ttl: float = 86400.0
    """Freshness lifetime in seconds of what is found by meaning."""
    max_error_rate: float = 0.01
    """Chooses the verifier's threshold from its calibration."""
    min_similarity: float = 0.0
    """A similarity that is needed besides; 0 leaves it to the calibration."""
    deadline: float = 0.1
    """How long in seconds a request waits for its vector at most."""
    max_temperature: float = 1.0
    """A given temperature above it is not compared."""
    tools: bool = False
    """Compare requests that offer tools too."""
    languages: frozenset[str] = frozenset({"en", "zh"})
    """Languages (core/meaning/language.py) of texts that are compared."""
    keywords: tuple[str, ...] = ()
    """A text with one of these is not compared; as in BypassRules."""
    patterns: tuple[re.Pattern[str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """Equal in every process with equal rules."""
        return repr(replace(self, languages=frozenset())) + repr(sorted(self.languages))


@dataclass(frozen=True, slots=True)
class Policy:
    """What a route says of its requests. Durations in seconds, sizes in bytes."""

    scope: ScopeKind = ScopeKind.CREDENTIAL
    scope_header: str = ""
    epoch: str = ""
    """Part of the key; a new value separates everything stored before."""
    ttl: float = 86400.0
    ttl_jitter: float = 0.1
    stale_while_revalidate: float = 0.0
    stale_if_error: float = 600.0
    error_ttl: float = 0.0
    """How long an upstream's refusal of a request is repeated (mission E6)."""
    refresh_ahead: float = 0.0
    """Share of the lifetime, at its end, in which a hit makes a fresh answer be fetched."""
    stores: bool = True
    """Whether new answers are stored; else only what is there is served."""
    deterministic_only: bool = False
    """Only requests with `temperature: 0` are looked up and stored."""
    on_client_gone: OnClientGone = OnClientGone.FINISH
    finish_within: float = 30.0
    ignore_fields: frozenset[str] = frozenset()
    """Body members left out of the key besides the operation's own."""
    masks: tuple[re.Pattern[str], ...] = ()
    """What they match is taken out of the text that is hashed, never out of the request."""
    bypass: BypassRules = field(default_factory=BypassRules)
    semantic: SemanticRules = field(default_factory=SemanticRules)
    deadlines: Deadlines = field(default_factory=Deadlines)


@dataclass(frozen=True, slots=True)
class Match:
    """Which requests a route is for; an empty member matches everything."""

    path: str = ""
    """Glob of the request path."""
    model: str = ""
    """Glob of the requested model."""
    header: str = ""
    header_value: str = ""
    """Glob of the value of `header`."""


@dataclass(frozen=True, slots=True)
class Route:
    """A policy for the requests that `match` names."""

    match: Match
    policy: Policy


@dataclass(frozen=True, slots=True)
class Pool:
    """An upstream: where requests for its models go."""

    name: str
    """Its identity in keys: the configured name, else the URL."""
    url: str
    """Scheme, authority and path prefix, without a slash at the end."""
    models: tuple[str, ...] = ()
    """Globs of model names; empty serves every model."""
    api_key: str = field(default="", repr=False)
    """Sent as bearer token in place of the client's, where set."""
    fields: Fields = field(default=(), repr=False)
    """Further fields of requests to it; they replace the client's of the same name."""
    is_reprise: bool = False
    """It is a cache of our kind (mission G5): it gets the client's wishes, feedback and purges."""
    admin_url: str = ""
    """Its admin listener, for purges; empty where they are not forwarded."""
    admin_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """All that requests are judged by; a reload swaps the whole for another."""

    generation: int
    """Counts reloads; part of the memo's key, so that no decision outlives its rules."""
    pools: tuple[Pool, ...]
    default: Policy
    routes: tuple[Route, ...] = ()
    epochs: tuple[tuple[str, str], ...] = ()
    """Globs of models and the epochs that an operator gave them; of several the last counts."""

    @property
    def has_models(self) -> bool:
        """Whether the choice of upstream or route depends on the requested model."""
        return any(pool.models for pool in self.pools) or any(
            route.match.model for route in self.routes
        )

    def policy_for(self, path: str, model: str, header: Callable[[str], str | None]) -> Policy:
        """The policy of the first route that matches, else the default one."""
        for route in self.routes:
            match = route.match
            if match.path and not fnmatch.fnmatchcase(path, match.path):
                continue
            if match.model and not fnmatch.fnmatchcase(model, match.model):
                continue
            if match.header and not fnmatch.fnmatchcase(
                header(match.header) or "", match.header_value or "?*"
            ):
                continue
            return route.policy
        return self.default

    def epoch_of(self, model: str) -> str:
        """The epoch that an operator gave to a model, besides its policy's; empty for none."""
        for glob, epoch in reversed(self.epochs):
            if fnmatch.fnmatchcase(model, glob):
                return epoch
        return ""

    def pool_for(self, model: str) -> Pool:
        """The first that serves the model, else the first that serves all, else the first."""
        # Plain loops: one of these runs for every request.
        for pool in self.pools:
            for pattern in pool.models:
                if fnmatch.fnmatchcase(model, pattern):
                    return pool
        for pool in self.pools:
            if not pool.models:
                return pool
        return self.pools[0]
