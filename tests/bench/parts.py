"""What each part of a hit costs, measured in process by calling our own functions.

The same application as `serve` runs is asked over loopback until the answer is stored. Then the
steps of a hit are called one after the other, with a look at the clock in between. They are not
repeated one by one, because a step alone in a loop has the processor's caches to itself and takes
half the time. Nothing is written to a socket.
"""

import asyncio
import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any, TypeVar, cast

import uvloop
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import HttpRequestParser
from aiohttp.web_protocol import RequestHandler

from proxy.app import App
from proxy.config import load
from proxy.core.cache.outcome import Hit
from proxy.core.classify import Lookup
from proxy.core.exchange import Exchange
from proxy.core.model import Request, Response, Shape
from proxy.pipeline.replay import replay
from proxy.server.decode import decode
from proxy.server.incoming import Incoming
from proxy.telemetry.log import LineWriter
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.report import Reporter
from tests.bench.load import Order, WrongAnswerError, perform
from tests.bench.processes import BenchError, Processes
from tests.bench.systems import start_upstream
from tests.bench.work import chat_request
from tests.watch import until

_TRIES = 40
_READY_SECONDS = 60.0
_READ_LIMIT = 1 << 16

RECEIVE = "aiohttp: parse, wrap the request"
DECODE = "decode"
KEY = "key, by the memo of the request's digest"
LOOKUP = "look-up"
REPLAY = "replay"
ENCODE = "encode"
METRICS = "metrics"
LOG = "log line"
REST = "the handler and pipeline around them"
CLASSIFY = "key without the memo"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a hit, in microseconds a request."""

    name: str
    json_us: float
    sse_us: float

    @property
    def is_extra(self) -> bool:
        """Told, but no part of a hit that the memo knows."""
        return self.name == CLASSIFY


class _Sink:
    """A transport that takes everything."""

    def write(self, data: bytes) -> None:
        """Forget it."""

    def is_closing(self) -> bool:
        """Never."""
        return False

    def get_extra_info(self, name: str) -> None:
        """Nothing is known of it."""


class _NoMetrics:
    """Counts nothing, so that a report is the log line only."""

    def observe(self, exchange: Exchange) -> None:
        """Forget it."""


class Stopwatch:
    """Collects the times of steps by name."""

    def __init__(self) -> None:
        self._taken: dict[str, list[int]] = defaultdict(list)
        self._since = 0

    def start(self) -> None:
        """From now."""
        self._since = perf_counter_ns()

    def lap(self, name: str) -> None:
        """The time since the last look was this step's."""
        now = perf_counter_ns()
        self._taken[name].append(now - self._since)
        self._since = perf_counter_ns()

    def microseconds(self) -> dict[str, float]:
        """The medians: what else the machine does touches few of them."""
        return {name: median(times) / 1000 for name, times in self._taken.items()}


def finish(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    raise BenchError("a step of a hit had to wait")


class _Hit:
    """One hit, step by step."""

    def __init__(self, app: App, *, stream: bool) -> None:
        self._app = app
        self._handler = app._handler
        self._raw = chat_request(stream=stream)
        self._protocol: RequestHandler = app._server()
        self._protocol.transport = cast(Any, _Sink())
        self._log_only = Reporter(app.log, cast(Metrics, _NoMetrics()))

    def time(self, times: int) -> dict[str, float]:
        """Microseconds by the name of the step."""
        watch = Stopwatch()
        whole = "whole"
        for _ in range(times):
            request = self._steps(watch)
            raw = self._receive()
            watch.start()
            finish(self._handler.handle(cast(web.BaseRequest, raw)))
            watch.lap(whole)
            pipeline = self._handler.pipeline
            watch.start()
            pipeline._plans.make(request)
            watch.lap(CLASSIFY)
        taken = watch.microseconds()
        steps = (DECODE, KEY, LOOKUP, REPLAY, ENCODE, METRICS, LOG)
        taken[REST] = max(taken.pop(whole) - sum(taken[step] for step in steps), 0.0)
        return taken

    def _receive(self) -> Incoming:
        """What aiohttp does before our handler, but for its own parser's making."""
        protocol = self._protocol
        loop = protocol._loop
        parser = HttpRequestParser(protocol, loop, _READ_LIMIT, max_headers=1024)
        messages, _, _ = parser.feed_data(self._raw)
        message, payload = messages[0]
        no_writer, no_task = cast(AbstractStreamWriter, None), cast(Any, None)
        return Incoming(message, payload, protocol, no_writer, no_task)

    def _steps(self, watch: Stopwatch) -> Request:
        app, handler = self._app, self._handler
        pipeline = handler.pipeline
        exchange = Exchange(app._clock.monotonic(), "POST", "/v1/chat/completions", "req_0123abcd1")
        watch.start()
        raw = self._receive()
        watch.lap(RECEIVE)
        request = finish(decode(raw, app._operations, handler.limits, has_models=False))
        watch.lap(DECODE)
        plan, _ = pipeline._plans.find(request)
        watch.lap(KEY)
        assert isinstance(plan, Lookup)
        watch.start()
        outcome = pipeline._lookup(plan)
        watch.lap(LOOKUP)
        assert isinstance(outcome, Hit)
        watch.start()
        response = finish(replay(outcome.stored, plan, app._store))
        watch.lap(REPLAY)
        assert isinstance(response, Response)
        exchange.operation, exchange.model, exchange.tenant = "chat", plan.model, "0123456789ab"
        pipeline._note_hit(exchange, plan, outcome)
        watch.start()
        finish(app._encoder.send(raw, response, exchange))
        watch.lap(ENCODE)
        exchange.ended = app._clock.monotonic()
        watch.start()
        app.metrics.observe(exchange)
        watch.lap(METRICS)
        self._log_only.report(exchange)
        watch.lap(LOG)
        return request


async def _store(port: int, work: str) -> None:
    """Ask until the answer comes from the cache; a stream is stored a little after its end."""
    for _ in range(_TRIES):
        await perform(Order(port, work, 1, "", count=1), 0)
        await asyncio.sleep(0.05)
        with contextlib.suppress(WrongAnswerError):
            await perform(Order(port, work, 1, "; hit", count=1), 0)
            return
    raise BenchError(f"{work} never becomes a hit")


async def _measure(upstream_port: int, times: int) -> Sequence[Part]:
    config = load(
        None,
        upstream=f"http://127.0.0.1:{upstream_port}",
        listen="127.0.0.1:0",
        admin_listen="127.0.0.1:0",
        env={},
    )
    config = replace(config, static=replace(config.static, disk_enabled=False))
    null = os.open(os.devnull, os.O_WRONLY)
    writer = LineWriter(null)
    app = App(config, write=writer.write)
    await app.start()
    try:
        await until(lambda: app.condition.state() == "ok", within=_READY_SECONDS)
        port = int(app.url.rpartition(":")[2])
        for shape in Shape:
            await _store(port, f"hit_{shape.value}")
        of_json = _Hit(app, stream=False).time(times)
        of_sse = _Hit(app, stream=True).time(times)
    finally:
        await app.stop()
        writer.close()
        os.close(null)
    order = (RECEIVE, DECODE, KEY, LOOKUP, REPLAY, ENCODE, METRICS, LOG, REST, CLASSIFY)
    return [Part(name, round(of_json[name], 2), round(of_sse[name], 2)) for name in order]


def measure_parts(times: int) -> Sequence[Part]:
    """Time the steps of so many hits."""
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes:
        return uvloop.run(_measure(start_upstream(processes), times))
