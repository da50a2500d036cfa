"""What is to be done with a request: look it up, or leave it alone and why."""

import fnmatch
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias, assert_never

from proxy.core.cache.directives import Directives
from proxy.core.cache.key import (
    Key,
    UnkeyableBody,
    canonical,
    make_key,
    mask,
    parse,
    tenant_digest,
)
from proxy.core.cache.thread import NO_THREADS, Threads
from proxy.core.exchange import Fwd
from proxy.core.head import Head, caller_digest, read_head
from proxy.core.meaning.comparable import compared_text, form_refusal, length_refusal, plain_text
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.model import Request, Shape
from proxy.core.policy import BypassRules, Policy, Pool, Rules, ScopeKind
from proxy.core.text import has_media, keywords, user_text
from proxy.core.wire import payload
from proxy.core.wire.operation import Json, JsonObject, Operation, Question


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


class Lookup(NamedTuple):
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
    text: str
    """The last user text, masked: what is compared by meaning. Empty where nothing is."""
    uncompared: Uncompared | None
    """Why it is empty; None too where it is only not remembered."""
    items: int | None = None
    """How many items a whole answer has; None where the question does not tell."""

    @property
    def is_remembered(self) -> bool:
        """Whether the text was left out of a plan that is kept."""
        return not self.text and self.uncompared is None


Plan: TypeAlias = Bypass | Lookup


def find_operation(path: str, operations: Sequence[Operation]) -> Operation | None:
    """The operation that a request path belongs to."""
    for operation in operations:
        if path.endswith(operation.suffixes):
            return operation
    return None


def classify(
    request: Request,
    rules: Rules,
    operations: Sequence[Operation],
    secret: bytes,
    threads: Threads = NO_THREADS,
    head: Head | None = None,
) -> Plan:
    """Decide by the head and, for an operation, the whole body of a request.

    `request.body` must be bytes for an operation that is to be looked up. `head` is what
    `read_head` says of the request, where that is known already. `threads` are the questions that
    were answered with what is stored for others.
    """
    operation = find_operation(request.path, operations)
    if operation is None or request.method != "POST":
        reason, fwd = BypassReason.PATH, Fwd.BYPASS
        if operation is not None:
            reason, fwd = BypassReason.METHOD, Fwd.METHOD
        model = _peek_model(request.body, rules)
        policy = rules.policy_for(request.path, model, request.header)
        return Bypass(reason, fwd, policy, rules.pool_for(model), model=model)
    head = head or read_head(request, secret)
    body, refusal = _read(request, head)
    question = operation.read(body) if body is not None else None
    model = question.model if question is not None else _peek_model(request.body, rules)
    policy = rules.policy_for(request.path, model, request.header)
    pool = rules.pool_for(model)
    if refusal is None:
        refusal = _refusal(head, policy, body or {}, question)
    if refusal is None and body is not None and question is not None:
        try:
            epoch: Json = policy.epoch
            if renewed := rules.epoch_of(model):
                epoch = [policy.epoch, renewed]
            return _lookup(
                request, head, operation, body, question, policy, pool, epoch, secret, threads
            )
        except UnkeyableBody:
            refusal = BypassReason.BODY
    return Bypass(
        refusal or BypassReason.FORM,
        Fwd.REQUEST if refusal is BypassReason.NO_STORE else Fwd.BYPASS,
        policy,
        pool,
        operation=operation.name,
        model=model,
        only_if_cached=head.wishes.only_if_cached,
    )


def _read(request: Request, head: Head) -> tuple[JsonObject | None, BypassReason | None]:
    if not isinstance(request.body, bytes):
        return None, BypassReason.TOO_LARGE
    if not head.is_json:
        return None, BypassReason.CONTENT_TYPE
    if head.is_coded:
        return None, BypassReason.CONTENT_CODING
    try:
        return parse(request.body), None
    except UnkeyableBody:
        return None, BypassReason.BODY


def _refusal(
    head: Head, policy: Policy, body: JsonObject, question: Question | None
) -> BypassReason | None:
    if head.wishes.no_store:
        return BypassReason.NO_STORE
    if head.wishes.flaw is not None:
        return BypassReason.FIELD_VALUE
    if question is None:
        return BypassReason.FORM
    if head.dropped and not head.keeps(policy.scope_header):
        return BypassReason.CONNECTION
    if policy.deterministic_only and question.is_sampled and _temperature(body) != 0:
        return BypassReason.NOT_DETERMINISTIC
    return _rule(policy.bypass, body, question)


def _rule(rules: BypassRules, body: JsonObject, question: Question) -> BypassReason | None:
    # Most have no rules: then not even a generator is made.
    if rules.models and any(fnmatch.fnmatchcase(question.model, glob) for glob in rules.models):
        return BypassReason.RULE_MODEL
    if rules.fields and any(body.get(name) is not None for name in rules.fields):
        return BypassReason.RULE_FIELD
    limit = rules.max_temperature
    if limit is not None and (_temperature(body) or 0.0) > limit:
        return BypassReason.RULE_TEMPERATURE
    if rules.tools and (body.get("tools") or body.get("functions")):
        return BypassReason.RULE_TOOLS
    if rules.media and has_media(question):
        return BypassReason.RULE_MEDIA
    if rules.keywords or rules.patterns:
        text = user_text(question)
        if rules.keywords and keywords(rules.keywords).search(text):
            return BypassReason.RULE_KEYWORD
        if any(pattern.search(text) for pattern in rules.patterns):
            return BypassReason.RULE_PATTERN
    return None


def _temperature(body: JsonObject) -> float | None:
    value = body.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def _lookup(
    request: Request,
    head: Head,
    operation: Operation,
    body: JsonObject,
    question: Question,
    policy: Policy,
    pool: Pool,
    epoch: Json,
    secret: bytes,
    threads: Threads,
) -> Lookup:
    tenant = _tenant(request, policy, head.caller, secret)
    left_out = _left_out(operation.input_fields, operation.ignored_fields, policy.ignore_fields)
    key = make_key(
        tenant=tenant,
        namespace=head.wishes.namespace,
        operation=operation.name,
        pool=pool.name,
        target=request.target,
        variant=head.variant,
        epoch=epoch,
        settings={name: body[name] for name in body if name not in left_out},
        question=question,
        masks=policy.masks,
        threads=threads if policy.semantic.enabled else NO_THREADS,
        least=max(policy.semantic.min_similarity, head.wishes.threshold),
    )
    uncompared = form_refusal(body, question, policy.semantic)
    text = ""
    if uncompared is None:
        text = compared_text(str(mask(plain_text(question.last), policy.masks)))
        uncompared = length_refusal(text)
        text = "" if uncompared else text
    stream_options = canonical(dict(question.stream_options)) if question.stream_options else b""
    answer = key.exact + head.caller + head.coding
    if pool.is_reprise:
        # It gets the wishes too: who wants it fresher or nearer shall not share another's call.
        answer += b"\x00" + repr(head.wishes).encode("ascii", "backslashreplace")
    return Lookup(
        operation=operation,
        key=key,
        # A NUL stands in no field value, so that the coding cannot be taken for more.
        flight=answer + (b"\x00S" if question.stream else b"\x00J") + stream_options,
        caller=head.caller,
        tenant=tenant,
        answer=answer,
        model=question.model,
        shape=Shape.SSE if question.stream else Shape.JSON,
        include_usage=question.include_usage,
        stream_options=stream_options,
        directives=head.wishes,
        policy=policy,
        pool=pool,
        text=text,
        uncompared=uncompared,
        items=question.items,
    )


@functools.lru_cache(maxsize=64)
def _left_out(*names: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*names)


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


def readable_tenants(request: Request, rules: Rules, secret: bytes) -> frozenset[bytes]:
    """The digests of all tenants whose stored responses this client may get on some route."""
    caller = caller_digest(request, secret)
    policies = (rules.default, *(route.policy for route in rules.routes))
    return frozenset(_tenant(request, policy, caller, secret) for policy in policies)


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
