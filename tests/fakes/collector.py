"""A real OTLP receiver on loopback: it reads protobuf by opentelemetry's own definitions."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.watch import until


@dataclass(frozen=True, slots=True)
class Received:
    """One span as it arrived."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent: str
    """The id of its parent; empty for the first of a trace."""
    began: int
    ended: int
    has_failed: bool
    is_remote: bool
    """Its parent is of another process."""
    state: str
    links: tuple[tuple[str, str], ...]
    """Trace and span id."""
    attributes: dict[str, Any]
    resource: dict[str, Any] = field(repr=False)


class Collector:
    """Takes spans; `status` is what it answers, and while `may_answer` is not set it is frozen."""

    def __init__(self, port: int = 0) -> None:
        self.spans: list[Received] = []
        self.heads: list[dict[str, str]] = []
        """The header fields of all requests, names in lower case."""
        self.status = 200
        self.fields: dict[str, str] = {}
        """Of its answers."""
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = 0
        """Requests that have begun."""
        self.url = ""
        self.port = port
        self._runner: web.ServerRunner | None = None

    def of(self, trace_id: str) -> list[Received]:
        """The spans of a trace."""
        return [span for span in self.spans if span.trace_id == trace_id]

    async def has(self, count: int) -> list[Received]:
        """Wait for so many spans; all that are there."""
        await until(lambda: len(self.spans) >= count)
        return self.spans

    async def one(self, is_wanted: Callable[[Received], bool]) -> Received:
        """Wait for a span of a kind."""
        await until(lambda: any(map(is_wanted, self.spans)))
        return next(filter(is_wanted, self.spans))

    async def start(self) -> None:
        """Listen."""
        self._runner = web.ServerRunner(web.Server(self._take), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Listen no more, and close all connections."""
        self.may_answer.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _take(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked += 1
        body = await request.read()
        await self.may_answer.wait()
        self.heads.append({name.lower(): value for name, value in request.headers.items()})
        if request.path != "/v1/traces":
            return web.Response(status=404)
        if self.status == 200:
            self.spans += read(body)
        return web.Response(status=self.status, headers=self.fields)


def read(body: bytes) -> list[Received]:
    """The spans of a request's body."""
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    return [
        _received(span, _attributes(resource.resource.attributes))
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _received(span: Span, resource: dict[str, Any]) -> Received:
    return Received(
        name=span.name,
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        has_failed=span.status.code == Status.STATUS_CODE_ERROR,
        is_remote=bool(span.flags & 0x200),
        state=span.trace_state,
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        attributes=_attributes(span.attributes),
        resource=resource,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    value: AnyValue = pair.value
    return getattr(value, str(value.WhichOneof("value")))
