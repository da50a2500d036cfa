"""Where a request stands in a trace (W3C Trace Context), and the calls that it makes.

An exchange has a Trace only where traces are wanted. It notes ids and times; spans are made of it
when all is over, by telemetry/tracing.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

SAMPLED = 0x01
_KNOWN_FLAGS = 0x03
"""Sampled, and that the trace id is random (level 2 of the recommendation)."""
_FIELD = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
TRACEPARENT = b"traceparent"
TRACESTATE = b"tracestate"


class Context(NamedTuple):
    """A span as others refer to it."""

    trace_id: bytes
    """16 bytes."""
    span_id: bytes
    """8 bytes."""
    flags: int

    @property
    def is_sampled(self) -> bool:
        """Whether it is recorded."""
        return bool(self.flags & SAMPLED)

    def field(self) -> bytes:
        """The value of traceparent."""
        text = f"00-{self.trace_id.hex()}-{self.span_id.hex()}-{self.flags:02x}"
        return text.encode("ascii")


def read_context(value: str) -> Context | None:
    """The context of a traceparent field; None where it is malformed.

    A later version may have more behind what is known (W3C Trace Context 4.3).
    """
    parts = _FIELD.fullmatch(value.strip(" \t"))
    if parts is None:
        return None
    version, trace_id, span_id, flags, rest = parts.groups()
    if version == "ff" or (version == "00" and rest is not None):
        return None
    context = Context(bytes.fromhex(trace_id), bytes.fromhex(span_id), int(flags, 16))
    if not any(context.trace_id) or not any(context.span_id):
        return None
    return context._replace(flags=context.flags & _KNOWN_FLAGS)


class Source(Protocol):
    """What a trace needs of the outside."""

    def draw(self, count: int) -> bytes:
        """So many random bytes."""

    def monotonic(self) -> float:
        """A time in seconds that never runs backwards."""

    def tell(self, trace: "Trace", call: "Call") -> None:
        """A call of a trace has ended: make it known, if it is sampled."""


@dataclass(slots=True, eq=False)
class Call:
    """A call of the upstream. It does not know its trace: no cycle is left to be collected."""

    context: Context
    url: str
    """Of the upstream."""
    method: str
    operation: str
    """Empty for a path that is none."""
    model: str
    began: float
    """Monotonic seconds."""
    status: int = 0
    is_resent: bool = False
    """The request was sent a second time."""
    ended: float | None = None
    error: str = ""
    """The code of an error of ours, or "cancelled"."""


@dataclass(eq=False)
class Trace:
    """The trace that one request, or one call of the proxy's own, is a part of.

    Without slots, so that what is seldom set costs nothing: it stands in the class until then.
    """

    source: Source
    is_sampled: bool
    """Whether it is recorded."""
    parent: Context | None = None
    """Of the client's span."""
    state: str = ""
    """The client's tracestate."""
    offset: float = 0.0
    """What a monotonic time lacks to the wall time: the same for all spans, so that they nest."""
    cause: Context | None = None
    """Of the request for whose sake the proxy calls by itself; then there is no client."""
    kind: str = ""
    """Why it calls by itself."""
    call: Call | None = field(default=None, init=False)
    """The latest."""
    flies: bool = field(default=False, init=False)
    """The call belongs to a flight, which says when it ends."""
    joined: "Trace | None" = field(default=None, init=False)
    """That of the request whose call this one shares."""

    @cached_property
    def context(self) -> Context:
        """Of the span that stands for the request; drawn when somebody needs it."""
        if self.parent is not None:
            return self.parent._replace(span_id=self.source.draw(8))
        drawn = self.source.draw(24)
        return Context(drawn[:16], drawn[16:], SAMPLED if self.is_sampled else 0)

    def begin_call(self, url: str, *, method: str, operation: str, model: str) -> Call:
        """The upstream is called now, by its URL."""
        context = self.context._replace(span_id=self.source.draw(8))
        began = self.source.monotonic()
        self.call = Call(context, url, method, operation, model, began)
        return self.call

    def end_call(self, error: str = "") -> None:
        """The call has ended now, if one is under way: well, or with the code of an error."""
        call = self.call
        if call is not None and call.ended is None:
            call.ended = self.source.monotonic()
            call.error = error
            self.source.tell(self, call)

    def offshoot(self, kind: str) -> "Trace":
        """The trace of a call that this request has the proxy make by itself."""
        return Trace(
            self.source, self.is_sampled, offset=self.offset, cause=self.context, kind=kind
        )


def offshoot(trace: Trace | None, kind: str) -> Trace | None:
    """The same of a trace that may not be there."""
    return None if trace is None else trace.offshoot(kind)


class Fields(Protocol):
    """Header fields; case does not count in names."""

    def getall(self, name: str, default: Sequence[str], /) -> Sequence[str]:
        """All values of a name, in order."""


class Tracing(Protocol):
    """Begins traces, where they are wanted (telemetry/tracing.py)."""

    def begin(self, headers: Fields) -> Trace | None:
        """The trace of a request; None where it is not sampled and its client has none."""

    def unsampled(self) -> Trace:
        """For who goes on to the upstream without one: what is left out here is left out there."""
