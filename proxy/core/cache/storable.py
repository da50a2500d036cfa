"""May this answer be stored? (design 3; mission D7)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import orjson

from proxy.core.head import CREDENTIAL_FIELDS, VARIANT_FIELDS
from proxy.core.model import Shape
from proxy.core.wire.coding import plain
from proxy.core.wire.headers import connection_options
from proxy.core.wire.operation import Answer, Operation

FINISHED = frozenset({"stop", "tool_calls", "function_call"})
"""The finish reasons of an answer that is whole."""

_ALWAYS_KEYED = frozenset(name.lower().encode() for name in (*VARIANT_FIELDS, "Accept-Encoding"))
"""What an answer may vary by: fields that are in the key, and content codings, which are undone."""
_KEYED = _ALWAYS_KEYED | {name.lower().encode() for name in CREDENTIAL_FIELDS}
"""The same where each caller has its own answers."""


class Unstorable(StrEnum):
    """Why an answer is not stored."""

    STATUS = "status"
    NO_STORE = "no-store"
    VARY = "vary"
    CONTENT_TYPE = "content-type"
    CONTENT_CODING = "content-coding"
    UNREADABLE = "unreadable"
    ERROR = "error"
    CUT = "cut"
    FINISH_REASON = "finish-reason"
    EMPTY = "empty"
    ITEMS = "items"
    """Fewer or more than were asked for."""
    TOO_LARGE = "too-large"
    MEANING = "meaning"
    """The upstream, a cache too, gave it to another question than it was made for."""
    READ_ONLY = "read-only"
    """The policy stores nothing."""
    DOORKEEPER = "doorkeeper"
    """The question came for the first time."""


@dataclass(frozen=True, slots=True)
class Store:
    """It may: the plain body, its shape, and what it says of itself."""

    shape: Shape
    body: bytes
    answer: Answer


@dataclass(frozen=True, slots=True)
class DoNotStore:
    """It may not."""

    reason: Unstorable


Verdict: TypeAlias = Store | DoNotStore


def shape_of(status: int, values: Mapping[bytes, bytes], *, is_shared: bool) -> Shape | DoNotStore:
    """What the head alone decides: the shape of an answer that may be stored, or why it may not.

    `values` has the field values by lower-case name (core/wire/headers.py:by_name).
    An upstream's `no-store` is honoured, and its `private` where answers are shared (RFC 9111
    5.2.2). Its `no-cache` is not: servers send it with every event stream. An answer that varies by
    a field which is not in the key is not stored (RFC 9111 4.1).
    """
    if status != 200:
        return DoNotStore(Unstorable.STATUS)
    control = values.get(b"cache-control", b"").lower()
    if b"no-store" in control or (is_shared and b"private" in control):
        return DoNotStore(Unstorable.NO_STORE)
    vary = values.get(b"vary")
    if vary and not (_ALWAYS_KEYED if is_shared else _KEYED).issuperset(_names(vary)):
        return DoNotStore(Unstorable.VARY)
    if b"content-type" in connection_options(values):
        return DoNotStore(Unstorable.CONTENT_TYPE)
    if b"x-cache-similarity" in values:
        # As an answer of its own it would be compared again, with questions yet further away.
        return DoNotStore(Unstorable.MEANING)
    media_type = values.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type == b"application/json":
        return Shape.JSON
    if media_type == b"text/event-stream":
        return Shape.SSE
    return DoNotStore(Unstorable.CONTENT_TYPE)


def _names(field: bytes) -> Iterator[bytes]:
    return (name.strip().lower() for name in field.split(b","))


def storable(
    operation: Operation,
    shape: Shape,
    coding: bytes | None,
    body: bytes,
    *,
    max_bytes: int,
    items: int | None = None,
) -> Verdict:
    """Whether a body that was received to its clean end is a whole answer.

    `coding` is the value of Content-Encoding; `items` is how many the question asked for, where it
    tells.
    """
    if len(body) > max_bytes:
        return DoNotStore(Unstorable.TOO_LARGE)
    data = plain(body, coding, max_bytes)
    if data is None:
        return DoNotStore(Unstorable.CONTENT_CODING)
    answer = _describe(operation, shape, data)
    if answer is None:
        return DoNotStore(Unstorable.UNREADABLE)
    if answer.has_error:
        return DoNotStore(Unstorable.ERROR)
    if not answer.is_terminated:
        return DoNotStore(Unstorable.CUT)
    if answer.is_empty:
        return DoNotStore(Unstorable.EMPTY)
    if answer.items != items:
        return DoNotStore(Unstorable.ITEMS)
    if not FINISHED.issuperset(answer.finish_reasons):
        return DoNotStore(Unstorable.FINISH_REASON)
    return Store(shape, data, answer)


def _describe(operation: Operation, shape: Shape, data: bytes) -> Answer | None:
    if shape is Shape.SSE:
        return operation.describe_stream(data)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return operation.describe_document(document) if isinstance(document, dict) else None
