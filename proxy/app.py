"""Puts it together: a configuration becomes a running application. Knows all concrete classes."""

import asyncio
import hashlib
import importlib
import logging
import platform
import random
import secrets
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aiohttp import web

from proxy import __version__
from proxy.admin.invalidation import Invalidation
from proxy.admin.questions import Questions
from proxy.admin.routes import Controls, application
from proxy.admin.sets import Sets
from proxy.clock import SystemClock
from proxy.config import Config
from proxy.config_values import Address
from proxy.core.cache.budget import Budget
from proxy.core.cache.change import Change, Learnt, Purged, Put, Renewed
from proxy.core.cache.epochs import Epochs, in_force, renew
from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.exchange import Exchange
from proxy.core.meaning.negatives import Negatives
from proxy.core.policy import SemanticRules
from proxy.core.wire.operation import Operation, discover
from proxy.core.wire.via import hop_value
from proxy.persistence import COUNTERS, Persistence
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.background import Background, Kind
from proxy.pipeline.chain import Chain
from proxy.pipeline.doorkeeper import Doorkeeper
from proxy.pipeline.explain import Explainer
from proxy.pipeline.feedback import Feedback, Opinion
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.journaled import JournaledStore
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.pipeline import Pipeline
from proxy.pipeline.purge import Survey, survey
from proxy.pipeline.record import Recorder
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.related import Related
from proxy.pipeline.replicas import Replicas
from proxy.pipeline.turns import Turns
from proxy.ports import Clock
from proxy.reload import POLL_SECONDS, Reloader, ReloadResult, Trigger
from proxy.server.connection import Server
from proxy.server.decode import Limits
from proxy.server.encode import STALL_SECONDS, Encoder
from proxy.server.handler import Handler
from proxy.server.incoming import request_of
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry import heartbeats, lag
from proxy.telemetry.audit import Audit
from proxy.telemetry.log import StructLog, trace_of
from proxy.telemetry.metrics import CONTENT_TYPE, Metrics
from proxy.telemetry.record_log import RecordLog
from proxy.telemetry.report import Backlog, Reporter
from proxy.telemetry.tally import Tally
from proxy.upstream.client import MAX_FIELDS, AiohttpUpstream

if TYPE_CHECKING:  # what it brings is loaded where it is needed
    from proxy.pipeline.meaning import Meaning
    from proxy.semantic_level import SemanticLevel

_SILENT = logging.getLogger("reprise.aiohttp")
"""aiohttp would print what is not HTTP to stderr: with a trace, and with the credentials in it."""
_SILENT.disabled = True

_COUNTERS = frozenset({"evictions", "vectors_left_out"})
BACKLOG = 1024
"""Connections that the system holds for us until we take them."""
IDLE_SECONDS = 600.0
"""A client's connection without a request, or with half a head, ends after this."""
STALL_MILLISECONDS = int(STALL_SECONDS * 1000)


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
        self._tasks = Tasks(self._task_died)
        self._operations: tuple[Operation, ...] = discover()
        self._generation = 0
        self._epochs: Epochs = ()
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
        self._level: SemanticLevel | None = None
        self._is_loading = False
        self._has_loaded = False
        """Whether what is to be loaded at the start is there, or known to be missing."""
        self._hop = f"reprise-{secrets.token_hex(6)}"  # like none that a request passed before
        self._upstream = AiohttpUpstream(
            max_connections=static.max_connections,
            max_header_bytes=static.max_header_bytes,
            via=hop_value(self._hop),
            tasks=self._tasks,
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
            on_purged=self._purged_elsewhere,
            on_renewed=self._renewed_elsewhere,
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
        )
        self._keep_door(config)
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
        self._gate_digest = b""
        self._encoder = Encoder(clock)
        loop = asyncio.get_running_loop()
        self._reporter = Reporter(self.log, self.metrics)
        self._tally = Tally(keep_prompts=dynamic.keep_prompts)
        self._record: RecordLog | None = None
        if static.record_requests:
            self._record = RecordLog(static.record_requests, self.log.emit)
        self._backlog = Backlog(self._report, loop.call_later)
        self._handler = Handler(
            pipeline=self._pipeline(config),
            limits=_limits(config),
            operations=self._operations,
            encoder=self._encoder,
            report=self._backlog.add,
            log=self.log,
            clock=clock,
            id_prefix=f"req_{secrets.token_hex(4)}",
        )
        self.reloader = Reloader(
            path,
            load or (lambda: config),
            self.apply,
            config,
            report=self._reloaded,
        )
        self.metrics.watch(self._figures, _COUNTERS | COUNTERS)
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
        self._runners: list[web.BaseRunner] = []
        self._stop_watching: list[Callable[[], object]] = []
        self.url = ""
        self.admin_url = ""

    async def start(self) -> None:
        """Listen. Raises OSError where an address cannot be had."""
        static = self.reloader.current.static
        admin = web.AppRunner(application(self._controls()), access_log=None, logger=_SILENT)
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
        self._load_semantic(self.reloader.current)
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
        if self._level is not None:
            await self._level.close()
        await self._persistence.close()
        for runner in (*data, admin):
            await runner.cleanup()
        await self._upstream.close()
        self._backlog.flush()
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
        if _semantic_rules(config) != _semantic_rules(self.reloader.current):
            self._aliases.clear()  # they were judged by other rules
        self._judge_by(config)
        self._handler.pipeline = self._pipeline(config)
        self._load_semantic(config)

    async def purge(self, selector: Selector, soft: bool, by: str = "") -> int:
        """Take out what a selector names, of answers on their way too; how many were stored.

        `by` is who asked for it.
        """
        count = self._take_out(selector)
        count += await self._ledger.purge(selector, soft=soft, by=by)
        self._audit.note("purge", by, _purge_told(selector, soft=soft) | {"count": count})
        return count

    def renew(self, model: str, epoch: str, by: str) -> None:
        """Give models another epoch, or with an empty one none; `by` is who asked for it."""
        # Later than all before, whatever the clock of whoever set them says.
        at = max([self._clock.now(), *(one.at + 1e-6 for one in self._epochs)])
        change = Renewed(model, epoch, at, by)
        self._take_renewed(change)
        self._note(change)
        self._audit.note("epoch", by, {"model": model, "epoch": epoch})

    def _renewed_elsewhere(self, change: Renewed) -> None:
        self._take_renewed(change)
        told = {"model": change.model, "epoch": change.epoch}
        self._audit.keep(change.at, "epoch", change.by, told)

    def _take_renewed(self, change: Renewed) -> None:
        epochs = renew(self._epochs, change)
        if epochs is not self._epochs:
            self._epochs = epochs
            self._handler.pipeline = self._pipeline(self.reloader.current)

    def exposition(self) -> bytes:
        """All metrics as of now, in Prometheus' text format."""
        self._settle()
        return self.metrics.exposition()

    def _settle(self) -> None:
        """Let what has happened be stored and counted."""
        self._recorder.flush()
        self._backlog.flush()

    def _report(self, exchange: Exchange) -> None:
        self._reporter.report(exchange)
        self._tally.note(exchange)
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
            rules=replace(config.rules(self._generation), epochs=in_force(self._epochs)),
            operations=self._operations,
            secret=self._secret,
            store=self._store,
            aliases=self._aliases,
            semantic=self._level.meaning if self._level is not None else None,
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
        )

    def _load_semantic(self, config: Config) -> None:
        """Load the semantic level, where some route wants it and it is not there."""
        policies = (config.dynamic.policy, *(route.policy for route in config.dynamic.routes))
        is_wanted = any(policy.semantic.enabled for policy in policies) and config.static.encoders
        if is_wanted and self._level is None and not self._is_loading:
            self._is_loading = True
            # Who stops meanwhile does not wait for it.
            stop = self._tasks.spawn(self._bring_semantic(), "load-semantic")
            self._stop_watching.append(stop)
        elif not is_wanted and self._level is None:
            self._ledger.learn_nothing()

    async def _bring_semantic(self) -> None:
        try:
            # A thread, for the libraries take their time and exact answers are served meanwhile.
            module = await asyncio.to_thread(importlib.import_module, "proxy.semantic_level")
            try:
                await self._make_semantic(module)
            except (OSError, module.VerifierError) as error:
                remedy = "exact answers are served; mend it and restart"
                told = {"why": str(error), "remedy": remedy}
                self.log.emit("error", "nothing is compared by meaning", told)
        finally:
            if self._level is None:
                self._ledger.learn_nothing()
            self._is_loading = False
            self._has_loaded = True

    async def _make_semantic(self, module: ModuleType) -> None:
        static = self.reloader.current.static
        gate = await asyncio.to_thread(module.make_gate, static.verifier)
        self._gate_digest = await asyncio.to_thread(module.gate_digest, static.verifier)
        identities = await asyncio.to_thread(module.identities_of, static.encoders)
        shared = self._persistence.vectors() if static.index == "redis" else None
        link, recall = shared or (None, None)
        level: SemanticLevel = module.SemanticLevel(
            encoders=static.encoders,
            identities=identities,
            gate=gate,
            scan_below=static.scan_below,
            store=self._store,
            aliases=self._aliases,
            negatives=self._negatives,
            clock=self._clock,
            tasks=self._tasks,
            log=self.log,
            note=self._note,
            recall=recall,
            link=link,
            prefix=static.redis_prefix,
        )
        self._level = level
        self._judge_by(self.reloader.current)
        self._feedback.questions = level.meaning
        self._handler.pipeline = self._pipeline(self.reloader.current)
        await self._ledger.learn_by(level.meaning)
        await level.loaded()

    def _judge_by(self, config: Config) -> None:
        """Say what decides by meaning from now on."""
        if self._level is not None:
            rules = [one.fingerprint for one in _semantic_rules(config)]
            digest = hashlib.sha256(self._gate_digest + "\n".join(rules).encode())
            self._ledger.judge = self._level.meaning.judge = digest.digest()

    def _take_out(self, selector: Selector) -> int:
        """Take out of all but the store; how many refusals there were."""
        self._recorder.flush()
        self._fetcher.purged(selector)
        return self._refusals.purge(selector)

    def _purged_elsewhere(self, purged: Purged) -> None:
        self._take_out(purged.selector)
        told = _purge_told(purged.selector, soft=purged.soft)
        self._audit.keep(purged.at, "purge", purged.by, told)

    def _use_secret(self, secret: bytes) -> None:
        """Take over the secret that replicas have in common."""
        self._secret = secret
        self._handler.pipeline = self._pipeline(self.reloader.current)

    def _note(self, change: Change) -> None:
        self._ledger.note(change)

    def _learn(self, plan: Lookup, stored: StoredResponse) -> None:
        self._aliases.follow(plan.key.followed, stored.key)
        if plan.directives.is_background:
            tokens = stored.prompt_tokens + stored.completion_tokens
            self.metrics.background_tokens(Kind.CLIENT, tokens)
        self._note(Put(stored, plan.key.followed))
        if self._level is not None:
            self._level.meaning.learn(plan, stored)

    def _forget(self, key: bytes, *, is_evicted: bool = False) -> None:
        if self._level is not None:
            self._level.meaning.forget(key, is_evicted=is_evicted)

    def _heard(self, opinion: Opinion) -> None:
        self.metrics.opinion(opinion.verdict)
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

    def _controls(self) -> Controls:
        async def reload() -> dict[str, Any]:
            return _told(await self.reloader.reload("admin"))

        return Controls(
            version={"version": __version__, "python": platform.python_version()},
            token=self.reloader.current.static.admin_token,
            state=self._state,
            detail=self._detail,
            metrics=self.exposition,
            metrics_content_type=CONTENT_TYPE,
            config=lambda: self.reloader.current.redacted(),
            reload=reload,
            invalidation=self._invalidation(),
            sets=self._sets(),
            questions=self._questions(),
            feedback=self._hear_operator,
        )

    def _invalidation(self) -> Invalidation:
        return Invalidation(
            purge=self.purge,
            survey=self._survey,
            renew=self.renew,
            epochs=lambda: self._epochs,
            audit=self._audit,
            chain=self._chain,
            hop=self._hop,
        )

    def _sets(self) -> Sets:
        return Sets(
            store=self._store,
            tally=self._tally,
            companions=self._companions,
            beginning=lambda: self._epochs,
            take=self._take_set,
            settle=self._settle,
            upstreams=lambda: [pool.name for pool in self._handler.pipeline.rules.pools],
            secret=lambda: self._secret,
            audit=self._audit,
            clock=self._clock,
        )

    async def _take_set(self, changes: Sequence[Change]) -> int:
        """Take over what another proxy has exported; how many entries are stored."""
        now = self._clock.now()
        chosen = [change for change in changes if self._is_wanted(change, now)]
        await self._ledger.take_over(chosen)
        return sum(
            self._memory.peek(change.stored.key) is change.stored
            for change in chosen
            if isinstance(change, Put)
        )

    def _is_wanted(self, change: Change, now: float) -> bool:
        if not isinstance(change, Put):
            return isinstance(change, Learnt | Renewed)
        stored = change.stored
        there = self._memory.peek(stored.key)
        return stored.created + stored.ttl > now and (
            there is None or there.created < stored.created
        )

    async def _companions(self, keys: Sequence[bytes]) -> Sequence[Change]:
        return await self._level.meaning.learnt(keys) if self._level is not None else ()

    async def _survey(self, selector: Selector) -> Survey:
        self._recorder.flush()
        return await survey(self._store, selector)

    async def _hear_operator(self, opinion: Opinion, by: str) -> bool:
        is_taken = await self._feedback.take(opinion, lambda stored: True)
        if is_taken:
            told = {"entry": opinion.entry, "verdict": opinion.verdict}
            self._audit.note("feedback", by, told)
        return is_taken

    def _keep_door(self, config: Config) -> None:
        if not config.dynamic.doorkeeper:
            self._fetcher.doorkeeper = None
        elif self._fetcher.doorkeeper is None:
            self._fetcher.doorkeeper = Doorkeeper()

    def _questions(self) -> Questions:
        def meaning() -> "Meaning | None":
            return self._level.meaning if self._level is not None else None

        explainer = Explainer(
            operations=self._operations,
            secret=self._secret,
            store=self._store,
            aliases=self._aliases,
            negatives=self._negatives,
            acceptance=self._acceptance,
            clock=self._clock,
            meaning=meaning,
        )
        return Questions(
            tally=self._tally,
            store=self._store,
            explainer=explainer,
            clock=self._clock,
            rules=lambda: self._handler.pipeline.rules,
            meaning=meaning,
            settle=self._settle,
        )

    def _state(self) -> str:
        if self._encoder.is_draining:
            return "draining"
        if not self.url:
            return "starting"
        is_loading = self._is_loading and not self._has_loaded
        return "loading" if is_loading or self._persistence.is_loading else "ok"

    def _detail(self) -> dict[str, Any]:
        now = asyncio.get_running_loop().time()
        return {
            "tasks": heartbeats.detail(self._tasks.heartbeats, now=now),
            "parts": self._parts(),
        }

    def _parts(self) -> dict[str, str]:
        """What may be broken while requests are served: "ok", "off", or what is wrong."""
        if self._is_loading:
            semantic = "loading"
        elif self._level is not None:
            semantic = "ok" if self._level.figures()["encoders_ready"] else "no encoder"
        else:
            semantic = "missing" if self._has_loaded else "off"
        return {"semantic": semantic, **self._persistence.states()}

    def _figures(self) -> dict[str, float]:
        return {
            "entries": len(self._memory),
            "store_bytes": self._memory.size_bytes,
            "evictions": self._memory.evictions,
            "in_flight_requests": self._handler.in_flight,
            "flights": len(self._fetcher.flights),
            "connections": len(self._server.connections),
            "background_tasks": len(self._tasks),
            "refusals": len(self._refusals),
            "background_requests_waiting": len(self._turns),
            "related_pairs": self._related.followers.pairs,
            "related_bytes": self._related.followers.size_bytes,
            "aliases": len(self._aliases),
            "negative_pairs": len(self._negatives),
            **(self._level.figures() if self._level is not None else {}),
            **self._persistence.figures(),
        }

    def _reloaded(self, trigger: Trigger, result: ReloadResult) -> None:
        outcome = "applied" if result.applied else "failed" if result.problems else "unchanged"
        self.metrics.reload(trigger, outcome)
        self.log.emit(
            "error" if result.problems else "info",
            f"configuration {outcome}",
            {"trigger": trigger, **_told(result)},
        )

    def _task_died(self, name: str, error: BaseException) -> None:
        self.metrics.task_error(name)
        self.log.emit("error", "background task died", {"task": name, **trace_of(error)})


def bound(
    address: Address, key: str, *, is_shared: bool = False, listens: bool = True
) -> socket.socket:
    """A socket that is bound to an address and listens, unless told otherwise.

    What is shared may be bound by several processes; those that listen share what comes in.
    Raises OSError, which names the configuration's `key`, where the address cannot be had.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if listener.family is socket.AF_INET6:
            # As create_server: the same port of IPv4 is another address.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "linux":
            # A closed connection whose client never takes the rest goes away by itself.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_MILLISECONDS)
        listener.bind((address.host, address.port))
        if listens:
            listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise OSError(f"{key} {address}: {error.strerror}") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL of a socket's address."""
    host, port = listener.getsockname()[:2]
    return f"http://{Address(host, port)}"


def _semantic_rules(config: Config) -> tuple[SemanticRules, ...]:
    dynamic = config.dynamic
    return tuple(
        policy.semantic for policy in (dynamic.policy, *(r.policy for r in dynamic.routes))
    )


def _purge_told(selector: Selector, *, soft: bool) -> dict[str, Any]:
    """What the audit list tells of a purge."""
    chosen = {name: value for name, value in asdict(selector).items() if value}
    return {"selector": chosen, "soft": soft}


def _limits(config: Config) -> Limits:
    dynamic = config.dynamic
    return Limits(
        max_body_bytes=dynamic.max_body_bytes, max_keyed_body_bytes=dynamic.max_keyed_body_bytes
    )


def _told(result: ReloadResult) -> dict[str, Any]:
    return {
        "applied": result.applied,
        "unchanged": result.unchanged,
        "problems": [str(problem) for problem in result.problems],
        "restart_required": list(result.restart_required),
    }
