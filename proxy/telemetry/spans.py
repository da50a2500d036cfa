"""Spans as bytes of OTLP (opentelemetry-proto 1.x, collector/trace/v1 and trace/v1).

Written by hand, since to build and serialise the protobuf objects of one hit takes as long as
serving the hit. What is written once for all (names, values of closed sets) is kept.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from proxy.core.trace import Context

Value: TypeAlias = str | bool | int | float

KEPT_ATTRIBUTES = 1024
"""Attributes whose bytes are kept."""
MAX_CHARACTERS = 256
"""Of a text: what clients write may be of any length."""
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
_ERROR = b"\x7a\x02\x18\x02"  # status {code: ERROR}


class Kind(IntEnum):
    """What a span stands for."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


class Span(NamedTuple):
    """A piece of work that has ended."""

    context: Context
    parent: bytes
    """The id of the parent span; empty for the first of a trace."""
    name: str
    kind: Kind
    began: int
    """Wall time in nanoseconds, as `ended`."""
    ended: int
    attributes: Mapping[str, Value]
    has_failed: bool = False
    is_remote: bool = False
    """The parent is of another process."""
    state: str = ""
    """tracestate."""
    links: Sequence[Context] = ()


class SpanWriter:
    """Writes spans and requests of one service."""

    def __init__(self, resource: Mapping[str, Value], scope: str, version: str) -> None:
        """`resource` says what the spans are of; `scope` and its version who made them."""
        kept = lru_cache(KEPT_ATTRIBUTES, typed=True)
        self._attribute = kept(attribute)
        self._double = kept(_before_double)
        self._name = kept(lambda name: _field(0x2A, _text(name)))
        attributes = b"".join(_tagged(0x0A, attribute(*pair)) for pair in resource.items())
        self._resource = _field(0x0A, attributes)
        self._scope = _field(0x0A, _field(0x0A, _text(scope)) + _field(0x12, _text(version)))

    def span(self, span: Span) -> bytes:
        """One span, as `request` takes it."""
        context, remote = span.context, _IS_REMOTE if span.is_remote else 0
        keep, double = self._attribute, self._double
        parts = [
            b"\x0a\x10",
            context.trace_id,
            b"\x12\x08",
            context.span_id,
            self._name(span.name),
            b"\x30%c\x39" % span.kind,
            _LONG(span.began),
            b"\x41",
            _LONG(span.ended),
            *[
                b"\x4a"
                + (double(key) + _DOUBLE(value) if type(value) is float else keep(key, value))
                for key, value in span.attributes.items()
            ],
            b"\x85\x01",
            _INT(context.flags | _HAS_IS_REMOTE | remote),
        ]
        if span.parent:
            parts += (b"\x22\x08", span.parent)
        if span.state:
            parts.append(_field(0x1A, _text(span.state, 512)))
        parts += [_field(0x6A, _link(link)) for link in span.links]
        if span.has_failed:
            parts.append(_ERROR)
        return _field(0x12, b"".join(parts))

    def request(self, spans: Iterable[bytes]) -> bytes:
        """The body of a request to the collector."""
        scope_spans = _field(0x12, b"".join((self._scope, *spans)))
        return _field(0x0A, self._resource + scope_spans)


_LONG = struct.Struct("<Q").pack
_INT = struct.Struct("<I").pack
_DOUBLE = struct.Struct("<d").pack


def attribute(key: str, value: Value) -> bytes:
    """A KeyValue, with its length before it."""
    if isinstance(value, bool):
        told = b"\x10\x01" if value else b"\x10\x00"
    elif isinstance(value, int):
        told = b"\x18" + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    elif isinstance(value, float):
        return _before_double(key) + _DOUBLE(value)
    else:
        told = _field(0x0A, _text(value))
    pair = _field(0x0A, key.encode()) + _field(0x12, told)
    return _varint(len(pair)) + pair


def _before_double(key: str) -> bytes:
    """What stands before the eight bytes of a KeyValue whose value is a double."""
    pair = _field(0x0A, key.encode()) + b"\x12\x09\x21"
    return _varint(len(pair) + 8) + pair


def _link(context: Context) -> bytes:
    return b"\x0a\x10%b\x12\x08%b\x35%b" % (
        context.trace_id,
        context.span_id,
        _INT(context.flags | _HAS_IS_REMOTE),
    )


def _text(value: str, characters: int = MAX_CHARACTERS) -> bytes:
    # A client's bytes that are not UTF-8 came as lone surrogates, which protobuf has not.
    return value[:characters].encode("utf-8", "replace")


def _field(tag: int, content: bytes) -> bytes:
    return bytes((tag,)) + _varint(len(content)) + content


def _tagged(tag: int, content: bytes) -> bytes:
    return bytes((tag,)) + content


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
