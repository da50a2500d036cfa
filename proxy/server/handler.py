"""The one error boundary: decode -> pipeline -> encode -> report."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import cast

from aiohttp import web

from proxy.core.errors import ProxyError
from proxy.core.exchange import Exchange
from proxy.core.trace import Tracing
from proxy.core.wire.operation import Operation
from proxy.pipeline.pipeline import Pipeline
from proxy.ports import Clock
from proxy.server.decode import ClientBody, Limits, decode
from proxy.server.encode import Encoder
from proxy.server.incoming import Incoming
from proxy.server.upgrade import is_upgrade, tunnel
from proxy.telemetry.log import Log, trace_of


class InternalError(ProxyError):
    """A mistake of ours; the log has it."""


class Handler:
    """Answers every request of the data plane. `pipeline` and `limits` are swapped by a reload."""

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        limits: Limits,
        operations: Sequence[Operation],
        encoder: Encoder,
        report: Callable[[Exchange], None],
        log: Log,
        clock: Clock,
        id_prefix: str,
        tracing: Tracing | None = None,
    ) -> None:
        """`id_prefix` makes the request ids of this process unlike those of others.

        `tracing` begins the traces of requests, where they are wanted.
        """
        self.pipeline = pipeline
        self.limits = limits
        self._operations = operations
        self._encoder = encoder
        self._report = report
        self._log = log
        self._clock = clock
        self._id_prefix = id_prefix
        self._tracing = tracing
        self._ids = itertools.count(1)
        self.in_flight = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; what is returned only tells aiohttp whether to keep the connection."""
        raw = cast(Incoming, request)
        exchange = Exchange(
            self._clock.monotonic(),
            raw.method,
            raw.path,
            raw.headers.get("x-request-id") or f"{self._id_prefix}{next(self._ids):x}",
        )
        if self._tracing is not None:
            exchange.trace = self._tracing.begin(raw.headers)
        self.in_flight += 1
        try:
            return _SENT[await self._answer(raw, exchange)]
        except (ConnectionError, TimeoutError):
            exchange.client_gone = True
            if raw.transport is not None:
                raw.transport.abort()  # closing would wait for ever until it takes the rest
            return _SENT[False]
        except asyncio.CancelledError:
            # That is also how a tunnel ends.
            exchange.client_gone = exchange.status != 101
            raise
        finally:
            self.in_flight -= 1
            exchange.ended = self._clock.monotonic()
            exchange.ended_at = self._clock.now()
            self._report(exchange)

    async def _answer(self, raw: Incoming, exchange: Exchange) -> bool:
        # Whoever began with one pipeline ends with it, whatever is reloaded meanwhile.
        pipeline = self.pipeline
        body: object = None
        try:
            request = await decode(
                raw, self._operations, self.limits, has_models=pipeline.has_models
            )
            body = request.body
            if is_upgrade(raw):
                return await tunnel(raw, request, pipeline, exchange)
            response = await pipeline.handle(request, exchange)
        except ProxyError as error:
            # What a live request body ran into shows only as a failure to send it on.
            flaw = body.flaw if isinstance(body, ClientBody) else None
            return await self._encoder.send_error(raw, flaw or error, exchange)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: a mistake of ours ends one request
            told = {"request_id": exchange.request_id, **trace_of(error)}
            self._log.emit("error", "internal error", told)
            return await self._encoder.send_error(
                raw, InternalError("An error inside the proxy; its log has it."), exchange
            )
        return await self._encoder.send(raw, response, exchange)


class _Sent(web.StreamResponse):
    """Stands for a response that was written already."""

    def __init__(self, *, keeps_alive: bool) -> None:
        super().__init__()
        self._keeps_alive = keeps_alive

    @property
    def keep_alive(self) -> bool:
        return self._keeps_alive

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to do."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to do."""


_SENT = {keeps_alive: _Sent(keeps_alive=keeps_alive) for keeps_alive in (True, False)}
