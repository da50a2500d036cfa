"""Spans as they are made of an exchange, whoever sends them."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from proxy.core.trace import Context

Value: TypeAlias = str | bool | int | float


class Kind(Enum):
    """What a span stands for."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()


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
