"""Traces (mission F6): the spans of a finished exchange, and of the calls that it made.

While a request is under way only ids and times are noted (core/trace.py). Spans are made of them
behind the client, where an exchange is reported.
"""

import importlib
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from proxy.core.exchange import Exchange
from proxy.core.trace import Call, Context, Fields, Trace, read_context
from proxy.ports import Clock
from proxy.telemetry.log import Log
from proxy.telemetry.spans import Kind, Span, Value

if TYPE_CHECKING:  # what it brings is loaded where it is needed
    from proxy.telemetry.exporter import Exporter

Attributes: TypeAlias = dict[str, Value]

SCOPE = "reprise"
LOOKUP = "lookup"
MODEL_CHARACTERS = 128
STATE_CHARACTERS = 512
STATE_MEMBERS = 32
METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)
_OTHER_METHOD = "_OTHER"

METHOD = "http.request.method"
RESENT = "http.request.resend_count"
PATH = "url.path"
STATUS = "http.response.status_code"
ADDRESS = "server.address"
PORT = "server.port"
ERROR = "error.type"
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
HIT = "proxy.cache.hit"
FWD = "proxy.cache.fwd"
DETAIL = "proxy.cache.detail"
AGE = "proxy.cache.age"
TTL = "proxy.cache.ttl"
STORED = "proxy.cache.stored"
COLLAPSED = "proxy.cache.collapsed"
SIMILARITY = "proxy.cache.similarity"
MEANING = "proxy.cache.meaning"
GUARD = "proxy.cache.guard"
REQUEST_ID = "proxy.request_id"
FIRST_BYTE = "proxy.time_to_first_byte"
CLIENT_GONE = "proxy.client_gone"
BACKGROUND = "proxy.background"

ATTRIBUTES: Mapping[str, str] = {
    METHOD: "The method; `_OTHER` for one that HTTP does not know.",
    PATH: "The path, without the query; 256 characters at most, as every text.",
    STATUS: "What the client got, or what the upstream answered.",
    ERROR: "The code of an error of ours, `cancelled`, or the status where that is an error.",
    OPERATION: "`chat`, `text_completion` or `embeddings`; nothing on other paths.",
    MODEL: "The model that was asked for.",
    REQUEST_ID: "`x-request-id`, as in the log.",
    FIRST_BYTE: "Seconds from the request's head to the first byte of the response.",
    CLIENT_GONE: "The client left before the end.",
    HIT: "How the answer was found: `exact`, `semantic`, `alias` or `negative`.",
    FWD: "Why the upstream was asked (RFC 9211).",
    DETAIL: "The reason of a miss or bypass, as in Cache-Status.",
    AGE: "Seconds since the answer that was served was made.",
    TTL: "Seconds for which it stays fresh.",
    STORED: "Whether the answer was stored.",
    COLLAPSED: "It shares the call of another request; a link leads to that call's span.",
    SIMILARITY: "To the question whose answer was served, or the nearest that was looked at.",
    MEANING: "`match`, or why nothing was served by meaning.",
    GUARD: "The guard that objected to the nearest one.",
    PROVIDER: "`openai`: the language that the upstream speaks, whoever made it.",
    ADDRESS: "The upstream's host.",
    PORT: "The upstream's port.",
    RESENT: "1 where the request was sent again because a pooled connection had died.",
    BACKGROUND: "Why the proxy called by itself: `refresh` or `related`.",
}
"""All attributes of our spans; never a text of a request, an answer or a credential."""


class Tracer:
    """Begins the traces of requests, and makes their spans."""

    def __init__(
        self,
        *,
        endpoint: str,
        headers: Mapping[str, str],
        service: str,
        sample: float,
        version: str,
        worker: int | None,
        clock: Clock,
        log: Log,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`sample` is the share of traces that are recorded of those that begin here.

        `worker` is which of several processes. Raises ImportError without OpenTelemetry's SDK.
        """
        self._clock = clock
        self._monotonic = clock.monotonic
        self._sample = sample
        self._chance = chance
        self._random = random.Random()  # noqa: S311 - ids have to differ, not to be secret
        resource: Attributes = {
            "service.name": service,
            "service.version": version,
            "service.instance.id": str(uuid4()),
        }
        if worker is not None:
            resource["reprise.worker"] = worker
        module = importlib.import_module("proxy.telemetry.exporter")
        self._exporter: Exporter = module.Exporter(
            endpoint, headers, resource=resource, scope=SCOPE, version=version, log=log
        )

    @property
    def state(self) -> str:
        """ "ok", or "failing" while spans do not arrive."""
        return self._exporter.state

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        counts = self._exporter.counts
        return {"trace_spans_sent": counts.sent, "trace_spans_dropped": counts.dropped}

    def close(self) -> None:
        """Send what waits. Blocks, a few seconds at most."""
        self._exporter.close()

    def draw(self, count: int) -> bytes:
        """So many random bytes."""
        return self._random.randbytes(count)

    def monotonic(self) -> float:
        """A time in seconds that never runs backwards."""
        return self._monotonic()

    def begin(self, headers: Fields) -> Trace | None:
        """The trace of a request; it goes on with that of its client, if there is one.

        What is malformed begins another one. None where none is to be recorded.
        """
        told = headers.getall("traceparent", ())
        if told:
            parent = read_context(",".join(told))
            if parent is not None:
                state = _state(",".join(headers.getall("tracestate", ())))
                return Trace(self, parent.is_sampled, parent, state, self._offset())
        if self._chance() < self._sample:
            return Trace(self, is_sampled=True, offset=self._offset())
        return None

    def unsampled(self) -> Trace:
        """A trace that is not recorded, for who is asked next."""
        return Trace(self, is_sampled=False)

    def _offset(self) -> float:
        return self._clock.now() - self._monotonic()

    def report(self, exchange: Exchange) -> None:
        """Make the spans of an exchange that has ended."""
        trace = exchange.trace
        if trace is None:
            return
        call = trace.call
        if call is not None and call.ended is None and not trace.flies:
            call.ended, call.error = exchange.ended, exchange.error
            self.tell(trace, call)
        if not trace.is_sampled:
            return
        if self._exporter.is_full:
            self._exporter.drop(1 + _count(exchange))
            return
        parent = trace.parent
        self._add(
            Span(
                trace.context,
                parent.span_id if parent is not None else b"",
                _name(exchange.operation, exchange.model, exchange.method, exchange.path),
                Kind.SERVER,
                _wall(trace, exchange.started),
                _wall(trace, exchange.ended),
                _of_request(exchange),
                has_failed=bool(exchange.error) or exchange.status >= 500,
                is_remote=parent is not None,
                state=trace.state,
                links=_links(trace),
            ),
        )
        self._add_lookup(trace, exchange)

    def tell(self, trace: Trace, call: Call) -> None:
        """Make the span of a call that has ended."""
        if not trace.is_sampled:
            return
        if self._exporter.is_full:
            self._exporter.drop(1)
            return
        links = () if trace.cause is None else (trace.cause,)
        self._add(
            Span(
                call.context,
                trace.context.span_id if trace.cause is None else b"",
                _name(call.operation, call.model, call.method, ""),
                Kind.CLIENT,
                _wall(trace, call.began),
                _wall(trace, call.ended or call.began),
                _of_call(call, trace.kind),
                has_failed=bool(call.error) or call.status >= 400,
                state=trace.state,
                links=links,
            ),
        )

    def _add_lookup(self, trace: Trace, exchange: Exchange) -> None:
        """How an answer was looked for, and the stages of that."""
        ended = exchange.looked_up
        if ended is None:
            return
        for stage in exchange.stages:
            ended = max(ended, stage.ended)
        lookup = self._add_stage(trace, trace.context, LOOKUP, exchange.started, ended)
        for name, began, ended in exchange.stages:
            self._add_stage(trace, lookup, name, began, ended)

    def _add_stage(
        self, trace: Trace, around: Context, name: str, began: float, ended: float
    ) -> Context:
        context = around._replace(span_id=self.draw(8))
        began_at, ended_at = _wall(trace, began), _wall(trace, ended)
        self._add(Span(context, around.span_id, name, Kind.INTERNAL, began_at, ended_at, _NONE))
        return context

    def _add(self, span: Span) -> None:
        self._exporter.add(span)


_NONE: Mapping[str, Value] = {}


def _state(text: str) -> str:
    """The first members of tracestate, as many as there is room for (W3C Trace Context 3.3)."""
    text = ",".join(text.split(",", STATE_MEMBERS)[:STATE_MEMBERS])
    if len(text) > STATE_CHARACTERS:
        text = text[: STATE_CHARACTERS + 1].rpartition(",")[0]
    return text


def _wall(trace: Trace, monotonic: float) -> int:
    return int((monotonic + trace.offset) * 1e9)


def _count(exchange: Exchange) -> int:
    """How many spans its lookup makes."""
    return 0 if exchange.looked_up is None else 1 + len(exchange.stages)


def _links(trace: Trace) -> tuple[Context, ...]:
    joined = trace.joined
    return () if joined is None or joined.call is None else (joined.call.context,)


def _name(operation: str, model: str, method: str, path: str) -> str:
    if operation:
        return f"{operation} {model[:MODEL_CHARACTERS]}".rstrip()
    method = method if method in METHODS else "HTTP"
    return f"{method} {path}".rstrip()


def _of_request(exchange: Exchange) -> Attributes:
    method = exchange.method
    told: Attributes = {
        METHOD: method if method in METHODS else _OTHER_METHOD,
        PATH: exchange.path,
    }
    if exchange.status:
        told[STATUS] = exchange.status
    if exchange.operation:
        told[OPERATION] = exchange.operation
        told[MODEL] = exchange.model[:MODEL_CHARACTERS]
    if exchange.error or exchange.status >= 500:
        told[ERROR] = exchange.error or str(exchange.status)
    if exchange.first_byte is not None:
        told[FIRST_BYTE] = exchange.first_byte - exchange.started
    if exchange.client_gone:
        told[CLIENT_GONE] = True
    if exchange.level is not None:
        told |= {HIT: exchange.level.value, AGE: exchange.age, TTL: exchange.ttl or 0}
    else:
        _add_forwarding(told, exchange)
    if exchange.similarity is not None:
        told[SIMILARITY] = exchange.similarity
    if exchange.meaning_seconds is not None:
        told[MEANING] = exchange.meaning or "match"
        if exchange.guard:
            told[GUARD] = exchange.guard
    told[REQUEST_ID] = exchange.request_id
    return told


def _add_forwarding(told: Attributes, exchange: Exchange) -> None:
    if exchange.fwd is not None:
        told[FWD] = exchange.fwd.value
    if exchange.detail:
        told[DETAIL] = str(exchange.detail)
    if exchange.collapsed:
        told[COLLAPSED] = True
    if exchange.stored is not None:
        told[STORED] = exchange.stored


def _of_call(call: Call, kind: str) -> Attributes:
    parts = urlsplit(call.url)
    told: Attributes = {
        METHOD: call.method if call.method in METHODS else _OTHER_METHOD,
        ADDRESS: parts.hostname or "",
        PORT: parts.port or (443 if parts.scheme == "https" else 80),
    }
    if call.operation:
        told |= {
            OPERATION: call.operation,
            PROVIDER: "openai",
            MODEL: call.model[:MODEL_CHARACTERS],
        }
    if call.status:
        told[STATUS] = call.status
    if call.is_resent:
        told[RESENT] = 1
    if call.error or call.status >= 400:
        told[ERROR] = call.error or str(call.status)
    if kind:
        told[BACKGROUND] = kind
    return told
