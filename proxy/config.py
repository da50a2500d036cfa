"""The configuration: what a file and the command line say, checked and ready for use.

`Static` is what a process keeps until it is restarted, `Dynamic` what a reload replaces. All checks
happen here; nothing below proxy.app sees these types (it gets a Policy, a Pool, a number).
"""

import hashlib
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from proxy.config_check import check
from proxy.config_file import Document, parse, read_bytes
from proxy.config_model import (
    Bypass,
    Conduct,
    EncoderModel,
    File,
    RouteModel,
    RouteSemantic,
    Section,
    Timeouts,
    Ttl,
)
from proxy.core.address import Address
from proxy.core.policy import (
    BypassRules,
    Deadlines,
    Match,
    OnClientGone,
    Policy,
    Pool,
    Route,
    Rules,
    ScopeKind,
    SemanticRules,
)

_S = TypeVar("_S", bound=Section)

LogFormat: TypeAlias = Literal["auto", "json", "console"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Static:
    """What a running process does not change."""

    listen: Address = field(metadata={"path": "listen"})
    admin_listen: Address = field(metadata={"path": "admin.listen"})
    admin_token: str = field(metadata={"path": "admin.token"}, repr=False)
    secret: str = field(metadata={"path": "tenancy.secret"}, repr=False)
    max_header_bytes: int = field(metadata={"path": "limits.max_header_bytes"})
    max_connections: int = field(metadata={"path": "limits.max_connections"})
    log_format: LogFormat = field(metadata={"path": "log.format"})
    encoders: tuple[EncoderModel, ...] = field(metadata={"path": "semantic.encoders"})
    scan_below: int = field(metadata={"path": "semantic.scan_below"})
    verifier: str = field(metadata={"path": "semantic.verifier"})
    """A path; empty for the shipped one."""
    workers: int = field(metadata={"path": "workers"})
    index: Literal["memory", "redis"] = field(metadata={"path": "semantic.index"})
    record_requests: str = field(metadata={"path": "privacy.record_requests"})
    disk_enabled: bool = field(metadata={"path": "persist.disk.enabled"})
    disk_path: str = field(metadata={"path": "persist.disk.path"})
    """Empty for the default directory."""
    disk_max_bytes: int = field(metadata={"path": "persist.disk.max_bytes"})
    redis_url: str = field(metadata={"path": "persist.redis.url"}, repr=False)
    """Empty for none."""
    redis_prefix: str = field(metadata={"path": "persist.redis.prefix"})
    redis_deadline: float = field(metadata={"path": "persist.redis.deadline"})
    redis_max_connections: int = field(metadata={"path": "persist.redis.max_connections"})
    redis_log_entries: int = field(metadata={"path": "persist.redis.log_entries"})
    redis_snapshot_every: float = field(metadata={"path": "persist.redis.snapshot_every"})
    redis_collapse_wait: float = field(metadata={"path": "persist.redis.collapse_wait"})
    trace_endpoint: str = field(metadata={"path": "tracing.endpoint"})
    """A URL with its path; empty for none."""
    trace_sample: float = field(metadata={"path": "tracing.sample"})
    trace_headers: Mapping[str, str] = field(metadata={"path": "tracing.headers"}, repr=False)
    trace_service: str = field(metadata={"path": "tracing.service_name"})


@dataclass(frozen=True, slots=True)
class Dynamic:
    """What a reload replaces as a whole. Durations in seconds."""

    pools: tuple[Pool, ...]
    policy: Policy
    routes: tuple[Route, ...]
    memory_max_bytes: int
    memory_max_entries: int
    memory_max_entry_bytes: int
    max_body_bytes: int
    max_keyed_body_bytes: int
    log_level: LogLevel
    shutdown_grace: float
    keep_prompts: bool
    doorkeeper: bool
    related: bool
    yield_above: int
    background_concurrent: int
    background_per_minute: int
    background_tokens_per_hour: int


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration in force, or one that may come into force."""

    static: Static
    dynamic: Dynamic
    digest: str
    """SHA-256 of the file's bytes and the command line's part, in hexadecimal."""
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """Every key with its value in the file's notation, without secrets."""

    def rules(self, generation: int) -> Rules:
        """What requests are judged by."""
        return Rules(generation, self.dynamic.pools, self.dynamic.policy, self.dynamic.routes)

    def redacted(self) -> dict[str, Any]:
        """Every key with its value in the file's notation; secrets as `***`."""
        return deepcopy(dict(self.document))

    def with_static_of(self, running: "Config") -> "Config":
        """This configuration as far as a process can take it over without a restart."""
        document = self.redacted()
        for path in STATIC_PATHS:
            *sections, key = path.split(".")
            into, source = document, running.document
            for name in sections:
                into, source = into[name], source[name]
            into[key] = source[key]
        return replace(self, static=running.static, document=document)


STATIC_PATHS: tuple[str, ...] = tuple(item.metadata["path"] for item in fields(Static))
"""The keys that need a restart."""


def static_changes(old: Config, new: Config) -> list[str]:
    """The keys that differ and need a restart."""
    return [
        item.metadata["path"]
        for item in fields(Static)
        if getattr(old.static, item.name) != getattr(new.static, item.name)
    ]


def load(
    path: Path | None,
    *,
    upstream: str | None = None,
    listen: str | None = None,
    admin_listen: str | None = None,
    log_level: str | None = None,
    env: Mapping[str, str],
    raw: bytes | None = None,
) -> Config:
    """The configuration of a file, if there is one, and the command line, which wins.

    Reads the file unless its content is given, so it blocks. Raises ConfigError with all mistakes.
    """
    if raw is None:
        raw = b"" if path is None else read_bytes(path)
    overrides = {
        "upstream": upstream,
        "listen": listen,
        "admin.listen": admin_listen,
        "log.level": log_level,
    }
    given = {key: value for key, value in overrides.items() if value is not None}
    document = Document("") if path is None else parse(raw, str(path), env)
    file = check(document, given)
    digest = hashlib.sha256(raw + repr(sorted(given.items())).encode())
    return Config(_static(file), _dynamic(file), digest.hexdigest(), _redacted(file))


def _redacted(file: File) -> dict[str, Any]:
    document = file.model_dump(mode="json")
    # a route says only what it overrides
    document["routes"] = [
        route.model_dump(mode="json", exclude_unset=True) for route in file.routes
    ]
    return document


def _static(file: File) -> Static:
    return Static(
        listen=file.listen,
        admin_listen=file.admin.listen,
        admin_token=file.admin.token,
        secret=file.tenancy.secret,
        max_header_bytes=file.limits.max_header_bytes,
        max_connections=file.limits.max_connections,
        log_format=file.log.format,
        encoders=file.semantic.encoders,
        scan_below=file.semantic.scan_below,
        verifier=file.semantic.verifier,
        workers=file.workers,
        index=file.semantic.index,
        record_requests=file.privacy.record_requests,
        disk_enabled=file.persist.disk.enabled,
        disk_path=file.persist.disk.path,
        disk_max_bytes=file.persist.disk.max_bytes,
        redis_url=file.persist.redis.url,
        redis_prefix=file.persist.redis.prefix,
        redis_deadline=file.persist.redis.deadline,
        redis_max_connections=file.persist.redis.max_connections,
        redis_log_entries=file.persist.redis.log_entries,
        redis_snapshot_every=file.persist.redis.snapshot_every,
        redis_collapse_wait=file.persist.redis.collapse_wait,
        trace_endpoint=file.tracing.endpoint,
        trace_sample=file.tracing.sample,
        trace_headers=file.tracing.headers,
        trace_service=file.tracing.service_name,
    )


def _dynamic(file: File) -> Dynamic:
    return Dynamic(
        pools=_pools(file),
        policy=_policy(
            file.ttl, file.policy, file.bypass, file.semantic, file.timeouts, file.tenancy.scope
        ),
        routes=tuple(_route(file, route) for route in file.routes),
        memory_max_bytes=file.memory.max_bytes,
        memory_max_entries=file.memory.max_entries,
        memory_max_entry_bytes=file.memory.max_entry_bytes,
        max_body_bytes=file.limits.max_body_bytes,
        max_keyed_body_bytes=file.limits.max_keyed_body_bytes,
        log_level=file.log.level,
        shutdown_grace=file.shutdown.grace,
        keep_prompts=file.privacy.keep_prompts,
        doorkeeper=file.memory.doorkeeper,
        related=file.background.related,
        yield_above=file.background.yield_above,
        background_concurrent=file.background.max_concurrent,
        background_per_minute=file.background.max_per_minute,
        background_tokens_per_hour=file.background.max_tokens_per_hour,
    )


def _pools(file: File) -> tuple[Pool, ...]:
    if file.upstream is not None:
        return (Pool(file.upstream, file.upstream),)
    return tuple(
        Pool(
            name=upstream.name or upstream.url,
            url=upstream.url,
            models=upstream.models,
            api_key=upstream.api_key,
            fields=tuple(
                (name.encode("ascii"), value.encode("ascii"))
                for name, value in upstream.headers.items()
            ),
            is_reprise=upstream.reprise,
            admin_url=upstream.admin_url or "",
            admin_token=upstream.admin_token,
        )
        for upstream in file.upstreams
    )


def _route(file: File, route: RouteModel) -> Route:
    header, header_value = next(iter(route.match.header.items()), ("", ""))
    return Route(
        Match(route.match.path, route.match.model, header, header_value),
        _policy(
            _over(file.ttl, route.ttl),
            _over(file.policy, route.policy),
            _over(file.bypass, route.bypass),
            _over(file.semantic, route.semantic),
            _over(file.timeouts, route.timeouts),
            _over(file.tenancy, route.tenancy).scope,
        ),
    )


def _over(base: _S, override: Section) -> _S:
    """The base with the keys that the override names; sections in it key by key too."""
    update = {}
    for key in override.model_fields_set:
        value = getattr(override, key)
        update[key] = _over(getattr(base, key), value) if isinstance(value, Section) else value
    return base.model_copy(update=update)


def _policy(
    ttl: Ttl,
    conduct: Conduct,
    bypass: Bypass,
    semantic: RouteSemantic,
    timeouts: Timeouts,
    scope: str,
) -> Policy:
    kind, _, scope_header = scope.partition(":")
    return Policy(
        scope=ScopeKind(kind),
        scope_header=scope_header,
        epoch=conduct.epoch,
        ttl=ttl.exact,
        ttl_jitter=ttl.jitter,
        stale_while_revalidate=ttl.stale_while_revalidate,
        stale_if_error=ttl.stale_if_error,
        error_ttl=ttl.errors,
        refresh_ahead=ttl.refresh_ahead,
        stores=conduct.store,
        deterministic_only=conduct.deterministic_only,
        on_client_gone=OnClientGone(conduct.on_client_gone),
        finish_within=conduct.finish_within,
        ignore_fields=frozenset(conduct.ignore_fields),
        masks=tuple(re.compile(mask) for mask in conduct.masks),
        bypass=BypassRules(
            models=bypass.models,
            keywords=bypass.keywords,
            patterns=tuple(re.compile(pattern) for pattern in bypass.patterns),
            fields=bypass.fields,
            max_temperature=bypass.max_temperature,
            tools=bypass.tools,
            media=bypass.media,
        ),
        semantic=SemanticRules(
            enabled=semantic.enabled,
            ttl=ttl.exact if ttl.semantic is None else ttl.semantic,
            max_error_rate=semantic.max_error_rate,
            min_similarity=semantic.min_similarity,
            deadline=semantic.deadline,
            max_temperature=semantic.max_temperature,
            tools=semantic.tools,
            languages=frozenset(semantic.languages),
            keywords=semantic.bypass.keywords,
            patterns=tuple(re.compile(pattern) for pattern in semantic.bypass.patterns),
        ),
        deadlines=Deadlines(
            connect=timeouts.connect,
            first_byte=timeouts.first_byte,
            between_bytes=timeouts.between_bytes,
            total=timeouts.total,
        ),
    )
