"""Sends spans to a collector by OpenTelemetry's SDK (OTLP over HTTP), from a thread of its own.

Imported only where traces are wanted: the SDK is an extra, and large. Whatever the collector does
is in nobody's way: what waits for it is bounded, and what does not fit is counted. One log line
tells that spans do not arrive, another that they do again.
"""

import logging
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState
from requests.adapters import HTTPAdapter

from proxy.core.trace import Context
from proxy.telemetry.log import Log
from proxy.telemetry.spans import Kind, Span, Value

MAX_SPANS = 4096
"""What waits, and what is under way; a span takes about two KiB."""
MAX_REQUEST_SPANS = 512
EVERY_SECONDS = 1.0
"""So long spans wait for others."""
TIMEOUT_SECONDS = 10.0
"""For all tries of one request; what it held is dropped then."""
CLOSE_SECONDS = 3.0
"""What waits at the end is sent within this, or dropped."""
MAX_CHARACTERS = 256
"""Of a text: what clients write may be of any length."""
_KINDS = {
    Kind.INTERNAL: SpanKind.INTERNAL,
    Kind.SERVER: SpanKind.SERVER,
    Kind.CLIENT: SpanKind.CLIENT,
}
_UNSET, _ERROR = Status(StatusCode.UNSET), Status(StatusCode.ERROR)
_NO_STATE = TraceState()


class Counts(NamedTuple):
    """What became of spans so far."""

    sent: int
    dropped: int


class Exporter(SpanExporter):
    """Sends spans, many at a time.

    The SDK's queue and thread stand between `add` and `export`.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        *,
        resource: Mapping[str, Value],
        scope: str,
        version: str,
        log: Log,
    ) -> None:
        """`endpoint` is the URL with its path. `resource` says what the spans are of, besides
        OTEL_RESOURCE_ATTRIBUTES of the environment; `scope` and its version who made them.
        """
        # Each change of state has a line of ours; theirs would be one for each try.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        self._endpoint = endpoint
        self._log = log
        self._resource = Resource.create(resource)
        self._scope = InstrumentationScope(scope, version)
        self._lock = threading.Lock()  # held for moments only
        self._waiting = 0
        self._sent = 0
        self._dropped = 0
        self._is_well = True
        self._is_closing = False
        self._why = ""
        """What was wrong with the latest try."""
        self._wire = OTLPSpanExporter(
            endpoint,
            certificate_file=_authorities(),
            headers=dict(headers),
            timeout=TIMEOUT_SECONDS,
            session=_session(self._tried),
        )
        self._processor = BatchSpanProcessor(
            self,
            max_queue_size=MAX_SPANS,  # never reached: `add` counts also what is under way
            schedule_delay_millis=EVERY_SECONDS * 1000,
            max_export_batch_size=min(MAX_REQUEST_SPANS, MAX_SPANS),
        )

    @property
    def state(self) -> str:
        """ "ok", or "failing" while spans do not arrive."""
        return "ok" if self._is_well else "failing"

    @property
    def counts(self) -> Counts:
        """How many spans the collector took, and how many it never will."""
        with self._lock:
            return Counts(self._sent, self._dropped)

    @property
    def is_full(self) -> bool:
        """Nothing more would be taken now."""
        return self._waiting >= MAX_SPANS

    def drop(self, count: int) -> None:
        """Count spans that were not even made."""
        with self._lock:
            self._dropped += count

    def add(self, span: Span) -> None:
        """Send it, soon; dropped where too many wait. Never blocks."""
        with self._lock:
            if self.is_full or self._is_closing:
                self._dropped += 1
                return
            self._waiting += 1
        self._processor.on_end(self._readable(span))

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send what waits, within some seconds, and end. Blocks so long at most."""
        with self._lock:
            self._is_closing = True
        # The SDK itself would wait half a minute.
        end = threading.Thread(target=self._processor.shutdown, name="spans-end", daemon=True)
        end.start()
        end.join(seconds)
        self._wire.shutdown()  # type: ignore[no-untyped-call]  # it has no types
        with self._lock:
            self._dropped += self._waiting
            self._waiting = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them, and say what became of them. For the SDK, in its thread."""
        self._why = ""
        result = self._wire.export(spans)
        if result is not SpanExportResult.SUCCESS:
            # Without a try they could not be written, or it is too late.
            self._fails(self._why or "they are not sent")
        are_sent = not self._why and result is SpanExportResult.SUCCESS
        with self._lock:
            taken = min(len(spans), self._waiting)  # none after `close`
            self._waiting -= taken
            if are_sent:
                self._sent += taken
            else:
                self._dropped += taken
        if are_sent:
            self._is_back()
        return result

    def shutdown(self) -> None:
        """Nothing: `close` ends what is below. For the SDK, when all that waited is sent."""

    def _tried(self, why: str) -> None:
        """The collector was asked: in vain, where there is a reason."""
        self._why = why
        if why:
            self._fails(why)

    def _fails(self, why: str) -> None:
        if self._is_well:
            self._is_well = False
            told = {"endpoint": self._endpoint, "why": why}
            self._log.emit("warning", "traces do not reach the collector", told)

    def _is_back(self) -> None:
        if not self._is_well:
            self._is_well = True
            told = {"endpoint": self._endpoint, "dropped": self.counts.dropped}
            self._log.emit("info", "traces reach the collector again", told)

    def _readable(self, span: Span) -> ReadableSpan:
        context = _context(span.context, state=span.state)
        parent = None
        if span.parent:
            above = span.context._replace(span_id=span.parent)
            parent = _context(above, is_remote=span.is_remote)
        return ReadableSpan(
            _text(span.name),
            context,
            parent,
            self._resource,
            {
                key: _text(value) if isinstance(value, str) else value
                for key, value in span.attributes.items()
            },
            links=[Link(_context(link)) for link in span.links],
            kind=_KINDS[span.kind],
            status=_ERROR if span.has_failed else _UNSET,
            start_time=span.began,
            end_time=span.ended,
            instrumentation_scope=self._scope,
        )


class _Watched(HTTPAdapter):
    """Tells what became of each try: the SDK says it of the last one, and not why."""

    def __init__(self, tried: Callable[[str], None]) -> None:
        self._tried = tried
        super().__init__()

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        try:
            answer = super().send(request, stream, timeout, verify, cert, proxies)
        except OSError as error:
            self._tried(_words(error))
            raise
        is_well = 200 <= answer.status_code < 300
        self._tried("" if is_well else f"it answers with status {answer.status_code}")
        return answer


def _session(tried: Callable[[str], None]) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # neither a proxy nor credentials that are another's business
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Watched(tried))
    return session


def _authorities() -> str | None:
    """What the system trusts, or SSL_CERT_FILE; None for the list that comes with `requests`."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath


def _context(context: Context, *, state: str = "", is_remote: bool = False) -> SpanContext:
    return SpanContext(
        int.from_bytes(context.trace_id),
        int.from_bytes(context.span_id),
        is_remote,
        TraceFlags(context.flags),
        TraceState.from_header([state]) if state else _NO_STATE,
    )


def _text(value: str) -> str:
    value = value[:MAX_CHARACTERS]
    # A client's bytes that are not UTF-8 came as lone surrogates, which protobuf has not.
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _words(error: BaseException) -> str:
    """Why it could not be reached. Texts of the libraries name the URL, and perhaps more."""
    if isinstance(error, requests.Timeout):
        return "it does not answer in time"
    told, cause = type(error).__name__, error.__cause__ or error.__context__
    while cause is not None:
        told = getattr(cause, "strerror", None) or type(cause).__name__
        if isinstance(cause, OSError):
            break
        cause = cause.__cause__ or cause.__context__
    return told
