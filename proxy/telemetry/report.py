"""What is told of a finished exchange: one log line, one set of metrics. The only place."""

from collections.abc import Callable

from proxy.core.errors import ProxyError
from proxy.core.exchange import Exchange
from proxy.telemetry.log import Event, Log
from proxy.telemetry.metrics import Metrics

_MODEL_CHARACTERS = 128


BATCH = 256
BATCH_SECONDS = 0.02


class Backlog:
    """Finished exchanges that wait to be told of, many at a time.

    Telling of one right away costs several times as much: its code would be out of the processor's
    caches by the next request, and the client of a quick hit may be waiting already.
    """

    def __init__(
        self,
        report: Callable[[Exchange], None],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """`later` calls a function after some seconds, as the event loop does."""
        self._report = report
        self._later = later
        self._exchanges: list[Exchange] = []

    def add(self, exchange: Exchange) -> None:
        """Tell of it within BATCH_SECONDS."""
        self._exchanges.append(exchange)
        count = len(self._exchanges)
        if count == 1:
            self._later(BATCH_SECONDS, self.flush)
        elif count == BATCH:
            self.flush()

    def flush(self) -> None:
        """Tell of all that wait."""
        exchanges, self._exchanges = self._exchanges, []
        for exchange in exchanges:
            self._report(exchange)


class Reporter:
    """Tells of exchanges."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics

    def report(self, exchange: Exchange) -> None:
        """Tell of one that has ended."""
        cache = exchange.level or exchange.fwd or "none"
        self._metrics.observe(exchange)
        fields: Event = {
            "timestamp": exchange.ended_at,
            "request_id": exchange.request_id,
            "method": exchange.method,
            "path": exchange.path,
            "status": exchange.status,
            "cache": cache,
            "duration_ms": _milliseconds(exchange.ended - exchange.started),
            "bytes": exchange.bytes_sent,
        }
        if exchange.operation:
            fields["operation"] = exchange.operation
            # The client writes it; a prompt may stand in it.
            fields["model"] = exchange.model[:_MODEL_CHARACTERS]
            fields["tenant"] = exchange.tenant
        if exchange.level is not None:
            fields["age"] = exchange.age
            fields["saved_tokens"] = exchange.saved_tokens
        else:
            self._add_forwarding(fields, exchange)
        if exchange.similarity is not None:
            fields["similarity"] = round(exchange.similarity, 4)
        if exchange.meaning_seconds is not None:
            fields["meaning"] = exchange.meaning or "match"
            fields["meaning_ms"] = _milliseconds(exchange.meaning_seconds)
            if exchange.guard:
                fields["guard"] = exchange.guard
        if exchange.error:
            fields["error"] = exchange.error
        if exchange.client_gone:
            fields["client_gone"] = True
        if exchange.trace is not None and exchange.trace.is_sampled:
            fields["trace_id"] = exchange.trace.context.trace_id.hex()
            fields["span_id"] = exchange.trace.context.span_id.hex()
        level = "error" if exchange.error == ProxyError.code else "info"
        self._log.emit(level, "request", fields)

    def _add_forwarding(self, fields: Event, exchange: Exchange) -> None:
        fields["fwd_status"] = exchange.fwd_status
        fields["upstream"] = exchange.pool
        if exchange.first_byte is not None:
            fields["first_byte_ms"] = _milliseconds(exchange.first_byte - exchange.started)
        if exchange.detail:
            fields["detail"] = exchange.detail
        if exchange.collapsed:
            fields["collapsed"] = True
        if exchange.stored is not None:
            fields["stored"] = exchange.stored
        if exchange.retried:
            fields["retried"] = True


def _milliseconds(seconds: float) -> float:
    return int(seconds * 1e6) / 1000
