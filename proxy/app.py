"""Puts it together: a configuration becomes a running application. Knows all concrete classes."""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiohttp import web

from proxy import __version__
from proxy.admin.routes import application
from proxy.clock import SystemClock
from proxy.condition import Condition
from proxy.config import Config
from proxy.core.address import Address
from proxy.core.cache.budget import Budget
from proxy.core.cache.change import Change, Put
from proxy.core.cache.epochs import in_force
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.exchange import Exchange, Level
from proxy.core.meaning.negatives import Negatives
from proxy.core.wire.operation import Operation, discover
from proxy.core.wire.via import hop_value
from proxy.oversight import Oversight
from proxy.persistence import Persistence
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.background import Background, Kind
from proxy.pipeline.chain import Chain
from proxy.pipeline.doorkeeper import Doorkeeper
from proxy.pipeline.feedback import Feedback, Opinion
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.invalidator import Invalidator
from proxy.pipeline.journaled import JournaledStore
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.pipeline import Pipeline
from proxy.pipeline.record import Recorder
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.related import Related
from proxy.pipeline.replicas import Replicas
from proxy.pipeline.turns import Turns
from proxy.ports import Clock
from proxy.reload import POLL_SECONDS, Reloader, ReloadResult, Trigger
from proxy.semantic_loader import SemanticLoader, semantic_rules
from proxy.server.connection import Server
from proxy.server.decode import Limits
from proxy.server.encode import Encoder
from proxy.server.handler import Handler
from proxy.server.incoming import request_of
from proxy.server.listening import BACKLOG, bound, url_of
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry import heartbeats, lag
from proxy.telemetry.audit import Audit
from proxy.telemetry.catalog_traffic import UNKNOWN
from proxy.telemetry.exposition import Exposition
from proxy.telemetry.load import UpstreamLoad
from proxy.telemetry.log import StructLog, trace_of
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.record_log import RecordLog
from proxy.telemetry.report import Backlog, Reporter
from proxy.telemetry.tally import Tally
from proxy.telemetry.tracing import Tracer
from proxy.upstream.client import MAX_FIELDS, AiohttpUpstream

_SILENT = logging.getLogger("reprise.aiohttp")
"""aiohttp would print what is not HTTP to stderr: with a trace, and with the credentials in it."""
_SILENT.disabled = True

IDLE_SECONDS = 600.0
"""A client's connection without a request, or with half a head, ends after this."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What one of several processes that share an address is told by the one that keeps them."""

    number: int
    """From 1."""
    listen: Address
    """The address to share, with the port that the system chose."""
    admin_socket: str
    """The path of the socket of its admin listener."""
    secret: bytes = field(repr=False)
    """In place of one of its own, so that digests of credentials are alike."""
    log_form: str
    """json or console; its own standard output is a pipe."""


class App:
    """One proxy in one process: both listeners and everything behind them."""

    def __init__(
        self,
        config: Config,
        *,
        write: Callable[[bytes], None] = lambda line: None,
        path: Path | None = None,
        load: Callable[[], Config] | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
        worker: Worker | None = None,
    ) -> None:
        """`write` takes log lines. `path` is the file that is watched, `load` reads it again.

        `worker` is given where several processes serve as one.

        Must be made inside a running event loop.
        """
        static, dynamic = config.static, config.dynamic
        clock = clock or SystemClock()
        self._clock = clock
        self._worker = worker
        self.log = StructLog(
            write,
            form=worker.log_form if worker else static.log_format,
            level=dynamic.log_level,
            wall=clock.now,
            worker=worker.number if worker else None,
        )
        self.metrics = Metrics(__version__)
        self.metrics.configured(clock.now())
        self._load = UpstreamLoad(clock.monotonic)
        self._load.expect(pool.name for pool in dynamic.pools)
        self.metrics.watch_load(self._load)
        self._tasks = Tasks(self._task_died)
        self._operations: tuple[Operation, ...] = discover()
        self._generation = 0
        self._audit = Audit(self.log, clock.now)
        self._acceptance = Acceptance(clock, self._note)
        self._refusals = Refusals()
        self._memory = MemoryStore(
            max_bytes=dynamic.memory_max_bytes,
            max_entries=dynamic.memory_max_entries,
            max_entry_bytes=dynamic.memory_max_entry_bytes,
            on_gone=self._forget,
            on_evicted=lambda key: self._forget(key, is_evicted=True),
        )
        self._store = JournaledStore(self._memory, note=self._note, clock=clock)
        self._aliases = Aliases()
        self._negatives = Negatives()
        self._hop = f"reprise-{secrets.token_hex(6)}"  # like none that a request passed before
        self._upstream = AiohttpUpstream(
            max_connections=static.max_connections,
            max_header_bytes=static.max_header_bytes,
            via=hop_value(self._hop),
            tasks=self._tasks,
            load=self._load,
        )
        self._chain = Chain(
            upstream=self._upstream,
            pools=lambda: self._handler.pipeline.rules.pools,
            on_feedback=self.metrics.forwarded,
            tasks=self._tasks,
            clock=clock,
        )
        self._feedback = Feedback(
            store=self._store,
            aliases=self._aliases,
            negatives=self._negatives,
            chain=self._chain,
            clock=clock,
            on_opinion=self._heard,
            on_rejected=self._note,
        )
        self._ledger = Ledger(
            store=self._memory,
            aliases=self._aliases,
            feedback=self._feedback,
            acceptance=self._acceptance,
            on_purged=lambda purged: self.invalidator.purged_elsewhere(purged),
            on_renewed=lambda renewed: self.invalidator.renewed_elsewhere(renewed),
            clock=clock,
        )
        self._persistence = Persistence(
            static,
            own_secret=worker.secret if worker else secrets.token_bytes(32),
            ledger=self._ledger,
            max_entries=dynamic.memory_max_entries,
            on_secret=self._use_secret,
            clock=clock,
            tasks=self._tasks,
            log=self.log,
        )
        # What was kept, or what replicas have, is of callers whom this process never saw accepted.
        self._acceptance.has_past = static.disk_enabled or bool(static.redis_url)
        self._secret = self._persistence.secret
        shared = self._persistence.shared
        self._replicas: Replicas | None = None
        if shared is not None:
            self._replicas = Replicas(
                shared, admit=self._ledger.admit, patience=static.redis_collapse_wait
            )
        self._recorder = Recorder(
            store=self._store,
            clock=clock,
            chance=chance,
            max_bytes=dynamic.memory_max_entry_bytes,
            on_verdict=self.metrics.answer,
            on_stored=self._learn,
            tasks=self._tasks,
        )
        self._turns = Turns(
            yield_above=dynamic.yield_above, max_concurrent=dynamic.background_concurrent
        )
        self._fetcher = Fetcher(
            upstream=self._upstream,
            recorder=self._recorder,
            acceptance=self._acceptance,
            refusals=self._refusals,
            turns=self._turns,
            tasks=self._tasks,
            clock=clock,
            replicas=self._replicas,
            doubted=self._ledger.doubted,
        )
        self._keep_door(config)
        self.invalidator = Invalidator(
            store=self._store,
            recorder=self._recorder,
            fetcher=self._fetcher,
            refusals=self._refusals,
            ledger=self._ledger,
            audit=self._audit,
            clock=clock,
            on_epochs=self._swap_pipeline,
        )
        self.semantic = SemanticLoader(
            current=lambda: self.reloader.current,
            store=self._store,
            aliases=self._aliases,
            negatives=self._negatives,
            ledger=self._ledger,
            feedback=self._feedback,
            vectors=lambda: self._persistence.vectors(),
            note=self._note,
            on_made=self._swap_pipeline,
            clock=clock,
            tasks=self._tasks,
            log=self.log,
        )
        self._background = Background(
            turns=self._turns,
            budget=Budget(
                per_minute=dynamic.background_per_minute,
                tokens_per_hour=dynamic.background_tokens_per_hour,
            ),
            fetcher=self._fetcher,
            store=self._store,
            tasks=self._tasks,
            clock=clock,
            on_result=self.metrics.background,
        )
        self._ahead = Ahead(background=self._background, store=self._store, clock=clock)
        self._related = Related(
            plan=lambda request: self._handler.pipeline.plan(request),
            background=self._background,
            store=self._store,
            clock=clock,
        )
        self._encoder = Encoder(clock)
        loop = asyncio.get_running_loop()
        self._reporter = Reporter(self.log, self.metrics)
        self._tally = Tally(keep_prompts=dynamic.keep_prompts)
        self._record: RecordLog | None = None
        if static.record_requests:
            self._record = RecordLog(static.record_requests, self.log.emit)
        self._backlog = Backlog(self._report, loop.call_later)
        self._tracer = self._make_tracer(config)
        self._handler = Handler(
            pipeline=self._pipeline(config),
            limits=_limits(config),
            operations=self._operations,
            encoder=self._encoder,
            report=self._backlog.add,
            log=self.log,
            clock=clock,
            id_prefix=f"req_{secrets.token_hex(4)}",
            tracing=self._tracer,
        )
        self.reloader = Reloader(
            path,
            load or (lambda: config),
            self.apply,
            config,
            report=self._reloaded,
        )
        self.metrics.watch_tasks(
            lambda: heartbeats.pulses(self._tasks.heartbeats, now=loop.time(), wall=clock.now())
        )
        self._server = Server(
            self._handler.handle,
            request_factory=request_of,
            keepalive_timeout=IDLE_SECONDS,
            handler_cancellation=True,
            access_log=None,
            logger=_SILENT,
            auto_decompress=False,
            max_line_size=static.max_header_bytes,
            max_field_size=static.max_header_bytes,
            max_headers=MAX_FIELDS,
        )
        self.condition = Condition(
            has_started=lambda: bool(self.url),
            encoder=self._encoder,
            persistence=self._persistence,
            semantic=self.semantic,
            tasks=self._tasks,
            memory=self._memory,
            handler=self._handler,
            fetcher=self._fetcher,
            server=self._server,
            refusals=self._refusals,
            turns=self._turns,
            related=self._related,
            aliases=self._aliases,
            negatives=self._negatives,
            wants_traces=bool(static.trace_endpoint),
            tracer=self._tracer,
        )
        self.metrics.watch(self.condition.figures)
        self.metrics.watch(self.reloader.figures)
        self._runners: list[web.BaseRunner] = []
        self._stop_watching: list[Callable[[], object]] = [self.semantic.stop]
        self.url = ""
        self.admin_url = ""

    async def start(self) -> None:
        """Listen. Raises OSError where an address cannot be had."""
        static = self.reloader.current.static
        admin = web.AppRunner(
            application(self._oversight().controls()), access_log=None, logger=_SILENT
        )
        data = web.ServerRunner(self._server)
        # The admin listener first: whoever sees the data port open may ask whether it is ready.
        if self._worker is None:
            self.admin_url = await self._listen(admin, static.admin_listen, "admin.listen")
            await self._persistence.open()
            self.url = await self._listen(data, static.listen, "listen")
        else:
            await self._set_up(admin)
            await web.UnixSite(admin, self._worker.admin_socket).start()
            await self._persistence.open()
            self.url = await self._listen(data, self._worker.listen, "listen")
        for pool in self.reloader.current.dynamic.pools:
            if pool.url.endswith("/v1"):
                told = {"upstream": pool.url, "remedy": "leave out /v1: clients send it"}
                self.log.emit("warning", "the upstream's URL ends in /v1", told)
        self._keep_loops()
        self.semantic.load(self.reloader.current)
        stop = self._tasks.spawn(self._persistence.start(), "load-entries")
        self._stop_watching.append(stop)
        if self._worker is None:
            self.log.emit("info", "listening", {"url": self.url, "admin_url": self.admin_url})
        else:
            self.log.emit("info", "worker listening", {"url": self.url})

    def _keep_loops(self) -> None:
        keep, sleep = self._tasks.keep, asyncio.sleep
        monotonic, now = self._clock.monotonic, asyncio.get_running_loop().time
        self._stop_watching += (
            keep(self.reloader.watch, "watch-config", every=POLL_SECONDS),
            keep(
                lambda beat: lag.watch_lag(sleep, monotonic, self.metrics.lag, beat),
                "watch-lag",
                every=lag.EVERY_SECONDS,
            ),
            keep(
                lambda beat: heartbeats.watch_heartbeats(
                    self._tasks.heartbeats, sleep=sleep, now=now, log=self.log, beat=beat
                ),
                "watch-heartbeats",
                every=heartbeats.EVERY_SECONDS,
            ),
        )

    async def stop(self) -> None:
        """Drain: take no more, let what is under way end within the grace, then cut it."""
        grace = self.reloader.current.dynamic.shutdown_grace
        self._encoder.is_draining = True
        self._turns.close()
        self.log.emit("info", "draining", {"requests": self._handler.in_flight, "grace": grace})
        admin, *data = self._runners
        for runner in data:
            for site in list(runner.sites):
                await site.stop()
        for stop in self._stop_watching:
            stop()
        self._server.wind_up()
        loop = asyncio.get_running_loop()
        end = loop.time() + grace
        while self._handler.in_flight and loop.time() < end:  # noqa: ASYNC110 - once, at the end
            await asyncio.sleep(0.01)
        await self._server.shutdown(0.1)  # whoever is still there is cut
        await self._tasks.drain(max(0.0, end - loop.time()))
        self._recorder.flush()
        await self.semantic.close()
        await self._persistence.close()
        for runner in (*data, admin):
            await runner.cleanup()
        await self._upstream.close()
        self._backlog.flush()
        if self._tracer is not None:
            await asyncio.to_thread(self._tracer.close)
        if self._record is not None:
            await asyncio.to_thread(self._record.close)
        self.log.emit("info", "stopped", {})

    def reload_soon(self) -> None:
        """Reload in the background, as SIGHUP asks, and go on in a file that was rotated."""
        if self._record is not None:
            self._record.reopen()
        self._tasks.spawn(self.reloader.reload("signal"), "reload")

    def apply(self, config: Config) -> None:
        """Swap in a configuration; requests under way end with the one they began with."""
        dynamic = config.dynamic
        self._load.expect(pool.name for pool in dynamic.pools)
        self._recorder.max_bytes = dynamic.memory_max_entry_bytes
        self._memory.resize(
            max_bytes=dynamic.memory_max_bytes,
            max_entries=dynamic.memory_max_entries,
            max_entry_bytes=dynamic.memory_max_entry_bytes,
        )
        self.log.set_level(dynamic.log_level)
        self._tally.keeps_prompts = dynamic.keep_prompts
        self._turns.bound(
            yield_above=dynamic.yield_above, max_concurrent=dynamic.background_concurrent
        )
        if not dynamic.related:
            self._related.followers.clear()
        self._background.budget.per_minute = dynamic.background_per_minute
        self._background.budget.tokens_per_hour = dynamic.background_tokens_per_hour
        self._handler.limits = _limits(config)
        self._keep_door(config)
        if semantic_rules(config) != semantic_rules(self.reloader.current):
            self._aliases.clear()  # they were judged by other rules
        self.semantic.judge_by(config)
        self._handler.pipeline = self._pipeline(config)
        self.semantic.load(config)

    def exposition(self) -> bytes:
        """All metrics as of now, in Prometheus' text format."""
        return self.exposed("").body

    def exposed(self, accept: str) -> Exposition:
        """All metrics as of now, in a format that the scraper's Accept names."""
        self._settle()
        return self.metrics.exposed(accept)

    def _settle(self) -> None:
        """Let what has happened be stored and counted."""
        self._recorder.flush()
        self._backlog.flush()

    def _make_tracer(self, config: Config) -> Tracer | None:
        static = config.static
        if not static.trace_endpoint:
            return None
        try:
            return Tracer(
                endpoint=static.trace_endpoint,
                headers=static.trace_headers,
                service=static.trace_service,
                sample=static.trace_sample,
                version=__version__,
                worker=self._worker.number if self._worker else None,
                clock=self._clock,
                log=self.log,
            )
        except ImportError as error:
            remedy = "pip install 'reprise-proxy[tracing]', and restart"
            told = {"why": str(error), "remedy": remedy}
            self.log.emit("error", "requests are not traced", told)
            return None

    def _report(self, exchange: Exchange) -> None:
        self._reporter.report(exchange)
        if self._tracer is not None:
            self._tracer.report(exchange)
        self._tally.note(exchange)
        if exchange.retried:
            self._load.retried(exchange.pool)
        if exchange.asked is not None:
            self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        if self._record is not None:
            self._record.note(exchange)
        if self.reloader.current.dynamic.related:
            self._related.note(exchange)

    def _pipeline(self, config: Config) -> Pipeline:
        self._generation += 1
        return Pipeline(
            rules=replace(config.rules(self._generation), epochs=in_force(self.invalidator.epochs)),
            operations=self._operations,
            secret=self._secret,
            store=self._store,
            aliases=self._aliases,
            semantic=self.semantic.meaning,
            acceptance=self._acceptance,
            fetcher=self._fetcher,
            recorder=self._recorder,
            refusals=self._refusals,
            feedback=self._feedback,
            turns=self._turns,
            background=self._background,
            ahead=self._ahead,
            keeps_requests=bool(config.static.record_requests) or config.dynamic.related,
            upstream=self._upstream,
            clock=self._clock,
            hop=self._hop,
            replicas=self._replicas,
            tracing=self._tracer,
        )

    def _use_secret(self, secret: bytes) -> None:
        """Take over the secret that replicas have in common."""
        self._secret = secret
        self._swap_pipeline()

    def _swap_pipeline(self) -> None:
        """Let what has become another count from the next request on."""
        self._handler.pipeline = self._pipeline(self.reloader.current)

    def _note(self, change: Change) -> None:
        self._ledger.note(change)

    def _learn(self, plan: Lookup, stored: StoredResponse) -> None:
        self._aliases.follow(plan.key.followed, stored.key)
        if plan.directives.is_background:
            tokens = stored.prompt_tokens + stored.completion_tokens
            self.metrics.background_tokens(Kind.CLIENT, tokens)
        self.metrics.made(
            stored.operation,
            input_tokens=stored.prompt_tokens,
            output_tokens=stored.completion_tokens,
        )
        self._note(Put(stored, plan.key.followed))
        if self.semantic.meaning is not None:
            self.semantic.meaning.learn(plan, stored)

    def _forget(self, key: bytes, *, is_evicted: bool = False) -> None:
        if self.semantic.meaning is not None:
            self.semantic.meaning.forget(key, is_evicted=is_evicted)

    def _heard(self, opinion: Opinion, level: Level | None) -> None:
        self.metrics.opinion(opinion.verdict, level or UNKNOWN)
        told = {"entry": opinion.entry, "verdict": opinion.verdict}
        self.log.emit("info", "feedback", told)

    async def _listen(self, runner: web.BaseRunner, address: Address, key: str) -> str:
        await self._set_up(runner)
        listener = bound(address, key, is_shared=self._worker is not None)
        await web.SockSite(runner, listener, backlog=BACKLOG).start()
        return url_of(listener)

    async def _set_up(self, runner: web.BaseRunner) -> None:
        await runner.setup()
        self._runners.append(runner)

    def _oversight(self) -> Oversight:
        return Oversight(
            condition=self.condition,
            exposed=self.exposed,
            settle=self._settle,
            reloader=self.reloader,
            secret=lambda: self._secret,
            hop=self._hop,
            operations=self._operations,
            handler=self._handler,
            store=self._store,
            memory=self._memory,
            aliases=self._aliases,
            negatives=self._negatives,
            acceptance=self._acceptance,
            semantic=self.semantic,
            ledger=self._ledger,
            invalidator=self.invalidator,
            feedback=self._feedback,
            chain=self._chain,
            tally=self._tally,
            audit=self._audit,
            clock=self._clock,
        )

    def _keep_door(self, config: Config) -> None:
        if not config.dynamic.doorkeeper:
            self._fetcher.doorkeeper = None
        elif self._fetcher.doorkeeper is None:
            self._fetcher.doorkeeper = Doorkeeper()

    def _reloaded(self, trigger: Trigger, result: ReloadResult) -> None:
        outcome = "applied" if result.applied else "failed" if result.problems else "unchanged"
        self.metrics.reload(trigger, outcome)
        if result.applied:
            self.metrics.configured(self._clock.now())
        self.log.emit(
            "error" if result.problems else "info",
            f"configuration {outcome}",
            {"trigger": trigger, **result.told()},
        )

    def _task_died(self, name: str, error: BaseException) -> None:
        self.metrics.task_error(name)
        self.log.emit("error", "background task died", {"task": name, **trace_of(error)})


def _limits(config: Config) -> Limits:
    dynamic = config.dynamic
    return Limits(
        max_body_bytes=dynamic.max_body_bytes, max_keyed_body_bytes=dynamic.max_keyed_body_bytes
    )
