"""What is to be done with a request: look it up, or leave it alone and why."""

import fnmatch
import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from proxy.core.cache import directives as cache_directives
from proxy.core.cache.directives import Directives
from proxy.core.cache.key import Key, UnkeyableBody, canonical, make_key, parse, tenant_digest
from proxy.core.exchange import Fwd
from proxy.core.model import Request, Shape
from proxy.core.policy import BypassRules, Policy, Pool, Rules, ScopeKind
from proxy.core.wire import payload
from proxy.core.wire.headers import connection_options
from proxy.core.wire.operation import Json, JsonObject, Operation, Question

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
        "Content-Type",
        "Content-Encoding",
        "Accept-Encoding",
        "Connection",
    )
)
"""All request fields (lower case) that a plan depends on, besides those that the rules name."""

_LETTER = r"[^\W\u0530-\u1dff\u2000-\U0010ffff]"
"""A word character of a script with blanks between words: Latin, Greek, Cyrillic; digits."""


class BypassReason(StrEnum):
    """Why the cache is not consulted; the `detail` in Cache-Status."""

    PATH = "path"
    METHOD = "method"
    UPGRADE = "upgrade"
    TOO_LARGE = "too-large"
    CONTENT_TYPE = "content-type"
    CONTENT_CODING = "content-coding"
    BODY = "body"
    FORM = "form"
    CONNECTION = "connection"
    """A field that counts in the key is declared hop-by-hop: the upstream will not see it."""
    NO_STORE = "no-store"
    FIELD_VALUE = "x-cache-field"
    NOT_DETERMINISTIC = "not-deterministic"
    RULE_MODEL = "rule-model"
    RULE_FIELD = "rule-field"
    RULE_TEMPERATURE = "rule-temperature"
    RULE_TOOLS = "rule-tools"
    RULE_MEDIA = "rule-media"
    RULE_KEYWORD = "rule-keyword"
    RULE_PATTERN = "rule-pattern"


@dataclass(frozen=True, slots=True)
class Bypass:
    """Straight to the upstream, nothing looked up, nothing stored."""

    reason: BypassReason
    fwd: Fwd
    policy: Policy
    pool: Pool
    operation: str = ""
    model: str = ""
    only_if_cached: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """To be answered from the cache if it can be."""

    operation: Operation
    key: Key
    flight: bytes
    """Requests with the same one may share an upstream call: same key, caller, shape, coding."""
    caller: bytes
    """The digest of the caller's credential, whoever shares the stored response."""
    tenant: bytes
    """The digest of whose the stored response is."""
    answer: bytes
    """What `flight` is, without shape and stream options."""
    model: str
    shape: Shape
    """The shape that the client asked for."""
    include_usage: bool
    stream_options: bytes
    """Canonical JSON; empty for none."""
    directives: Directives
    policy: Policy
    pool: Pool


Plan: TypeAlias = Bypass | Lookup


def find_operation(path: str, operations: Sequence[Operation]) -> Operation | None:
    """The operation that a request path belongs to."""
    for operation in operations:
        if path.endswith(operation.suffixes):
            return operation
    return None


def classify(
    request: Request, rules: Rules, operations: Sequence[Operation], secret: bytes
) -> Plan:
    """Decide by the head and, for an operation, the whole body of a request.

    `request.body` must be bytes for an operation that is to be looked up.
    """
    operation = find_operation(request.path, operations)
    if operation is None or request.method != "POST":
        reason, fwd = BypassReason.PATH, Fwd.BYPASS
        if operation is not None:
            reason, fwd = BypassReason.METHOD, Fwd.METHOD
        model = _peek_model(request.body, rules)
        policy = rules.policy_for(request.path, model, request.header)
        return Bypass(reason, fwd, policy, rules.pool_for(model), model=model)
    wishes = cache_directives.parse(request.header)
    body, refusal = _read(request)
    question = operation.read(body) if body is not None else None
    model = question.model if question is not None else _peek_model(request.body, rules)
    policy = rules.policy_for(request.path, model, request.header)
    pool = rules.pool_for(model)
    if refusal is None:
        refusal = _refusal(request, wishes, policy, body or {}, question)
    if refusal is None and body is not None and question is not None:
        try:
            return _lookup(request, operation, body, question, wishes, policy, pool, secret)
        except UnkeyableBody:
            refusal = BypassReason.BODY
    return Bypass(
        refusal or BypassReason.FORM,
        Fwd.REQUEST if refusal is BypassReason.NO_STORE else Fwd.BYPASS,
        policy,
        pool,
        operation=operation.name,
        model=model,
        only_if_cached=wishes.only_if_cached,
    )


def caller_digest(request: Request, secret: bytes) -> bytes:
    """Who is asking: a keyed digest of every field that carries a credential."""
    return tenant_digest(secret, [request.header(name) for name in CREDENTIAL_FIELDS])


def _read(request: Request) -> tuple[JsonObject | None, BypassReason | None]:
    if not isinstance(request.body, bytes):
        return None, BypassReason.TOO_LARGE
    media_type = (request.header("Content-Type") or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        return None, BypassReason.CONTENT_TYPE
    if request.header("Content-Encoding"):
        return None, BypassReason.CONTENT_CODING
    try:
        return parse(request.body), None
    except UnkeyableBody:
        return None, BypassReason.BODY


def _refusal(
    request: Request,
    wishes: Directives,
    policy: Policy,
    body: JsonObject,
    question: Question | None,
) -> BypassReason | None:
    if wishes.no_store:
        return BypassReason.NO_STORE
    if wishes.flaw is not None:
        return BypassReason.FIELD_VALUE
    if question is None:
        return BypassReason.FORM
    dropped = connection_options(request.fields)
    if not DECIDING_FIELDS.isdisjoint(dropped) or policy.scope_header.lower().encode() in dropped:
        return BypassReason.CONNECTION
    if policy.deterministic_only and _temperature(body) != 0:
        return BypassReason.NOT_DETERMINISTIC
    return _rule(policy.bypass, body, question)


def _rule(rules: BypassRules, body: JsonObject, question: Question) -> BypassReason | None:
    if any(fnmatch.fnmatchcase(question.model, pattern) for pattern in rules.models):
        return BypassReason.RULE_MODEL
    if any(body.get(name) is not None for name in rules.fields):
        return BypassReason.RULE_FIELD
    temperature = _temperature(body)
    limit = rules.max_temperature
    if limit is not None and temperature is not None and temperature > limit:
        return BypassReason.RULE_TEMPERATURE
    if rules.tools and (body.get("tools") or body.get("functions")):
        return BypassReason.RULE_TOOLS
    if rules.media and any(_has_media(item) for item in (*question.history, question.last)):
        return BypassReason.RULE_MEDIA
    if rules.keywords or rules.patterns:
        text = _user_text(question)
        if rules.keywords and _keywords(rules.keywords).search(text):
            return BypassReason.RULE_KEYWORD
        if any(pattern.search(text) for pattern in rules.patterns):
            return BypassReason.RULE_PATTERN
    return None


def _temperature(body: JsonObject) -> float | None:
    value = body.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def _user_text(question: Question) -> str:
    said = (
        message
        for message in (question.last, *reversed(question.history))
        if isinstance(message, dict) and message.get("role") == "user"
    )
    return _nfc("\n".join(texts(next(said, question.last))))


def texts(message: Json) -> Iterator[str]:
    """The text of a message, or of a prompt: its strings and its text parts."""
    if isinstance(message, str):
        yield message
    elif isinstance(message, list):
        for part in message:
            yield from texts(part)
    elif isinstance(message, dict):
        for member in ("content", "text"):
            yield from texts(message.get(member))


def _has_media(message: Json) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") not in ("text", "refusal") for part in content
    )


@functools.lru_cache(maxsize=64)
def _keywords(words: tuple[str, ...]) -> re.Pattern[str]:
    # Other scripts have no blanks between words, and none between theirs and a Latin one.
    return re.compile("|".join(_whole(_nfc(word)) for word in words), re.IGNORECASE)


def _whole(word: str) -> str:
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, word[0]) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, word[-1]) else ""
    return before + re.escape(word) + after


def _nfc(text: str) -> str:
    # As the key has it, so that no other spelling gets round a rule.
    return unicodedata.normalize("NFC", text)


def _lookup(
    request: Request,
    operation: Operation,
    body: JsonObject,
    question: Question,
    wishes: Directives,
    policy: Policy,
    pool: Pool,
    secret: bytes,
) -> Lookup:
    caller = caller_digest(request, secret)
    tenant = _tenant(request, policy, caller, secret)
    left_out = operation.input_fields | operation.ignored_fields | policy.ignore_fields
    key = make_key(
        tenant=tenant,
        namespace=wishes.namespace,
        operation=operation.name,
        pool=pool.name,
        target=request.target,
        variant=[request.header(name) for name in VARIANT_FIELDS],
        epoch=policy.epoch,
        settings={name: value for name, value in body.items() if name not in left_out},
        question=question,
        masks=policy.masks,
    )
    stream_options = canonical(dict(question.stream_options)) if question.stream_options else b""
    shape = Shape.SSE if question.stream else Shape.JSON
    coding = (request.header("Accept-Encoding") or "").encode("utf-8", "surrogateescape")
    answer = hashlib.sha256(b"".join((key.exact, caller, coding))).digest()
    flight = hashlib.sha256(b"".join((answer, shape.value.encode(), stream_options))).digest()
    return Lookup(
        operation=operation,
        key=key,
        flight=flight,
        caller=caller,
        tenant=tenant,
        answer=answer,
        model=question.model,
        shape=shape,
        include_usage=question.include_usage,
        stream_options=stream_options,
        directives=wishes,
        policy=policy,
        pool=pool,
    )


def _tenant(request: Request, policy: Policy, caller: bytes, secret: bytes) -> bytes:
    match policy.scope:
        case ScopeKind.CREDENTIAL:
            return caller
        case ScopeKind.SHARED:
            return tenant_digest(secret, ["shared"])
        case ScopeKind.HEADER:
            value = request.header(policy.scope_header)
            return tenant_digest(secret, ["header", policy.scope_header.lower(), value])
    assert_never(policy.scope)


def _peek_model(body: object, rules: Rules) -> str:
    # Only for the choice of an upstream: a body that cannot be read goes where every model goes.
    if not rules.has_models or not isinstance(body, bytes):
        return ""
    try:
        document = payload.read(body.decode("utf-8", "replace"))
    except ValueError:
        return ""
    model = document.get("model") if isinstance(document, dict) else None
    return model if isinstance(model, str) else ""
