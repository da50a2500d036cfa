"""The way of a request. Read this first.

classify -> Bypass: straight to the upstream
         -> Lookup: lookup -> Hit, Stale: replay
                           -> Miss: meaning -> Hit: replay
                                            -> Miss: collapse -> forward -> record
"""

import asyncio
from collections.abc import Sequence
from typing import assert_never

from proxy.core.cache.freshness import age, remaining
from proxy.core.cache.outcome import Hit, Miss, MissReason, Outcome, Stale
from proxy.core.cache.value import StoredResponse, tenant_name
from proxy.core.classify import Bypass, BypassReason, Lookup, Plan
from proxy.core.errors import LoopDetected, OnlyIfCachedMiss, UpstreamError
from proxy.core.exchange import Asked, Exchange, Fwd, Level, Stage, Timed
from proxy.core.head import caller_digest
from proxy.core.meaning.outcome import Match
from proxy.core.model import Request, Response
from proxy.core.policy import Rules
from proxy.core.trace import Tracing, offshoot
from proxy.core.wire.headers import by_name
from proxy.core.wire.operation import Operation
from proxy.core.wire.via import hop_value, is_circle
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.background import Background, Kind
from proxy.pipeline.chain import FEEDBACK_PATH
from proxy.pipeline.collapse import AnswerHasCome
from proxy.pipeline.feedback import Feedback
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.forward import forward, response_of, upgrade_head
from proxy.pipeline.lookup import lookup
from proxy.pipeline.plans import MEMO_BODY_BYTES, Plans
from proxy.pipeline.record import Recorder
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.replay import replay
from proxy.pipeline.replicas import Replicas
from proxy.pipeline.turns import Turns
from proxy.ports import Clock, Semantic, Store, Upstream, Wire


class Pipeline:
    """Answers requests by one generation of rules; a reload makes another."""

    def __init__(
        self,
        *,
        rules: Rules,
        operations: Sequence[Operation],
        secret: bytes,
        store: Store,
        aliases: Aliases,
        semantic: Semantic | None,
        acceptance: Acceptance,
        fetcher: Fetcher,
        recorder: Recorder,
        refusals: Refusals,
        feedback: Feedback,
        turns: Turns,
        background: Background,
        ahead: Ahead,
        keeps_requests: bool,
        upstream: Upstream,
        clock: Clock,
        hop: str,
        replicas: Replicas | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        """`secret` keys the digests of credentials; `hop` is this proxy's name in Via.

        `replicas` are asked for what is not here. `keeps_requests`: whoever is told of exchanges
        wants to see the requests too. `tracing` is there where traces are wanted.
        """
        self.rules = rules
        self.has_models = rules.has_models
        """Whether the model decides where a request goes."""
        self._secret = secret
        self._store = store
        self._aliases = aliases
        self._semantic = semantic
        self._acceptance = acceptance
        self._fetcher = fetcher
        self._recorder = recorder
        self._refusals = refusals
        self._feedback = feedback
        self._turns = turns
        self._background = background
        self._ahead = ahead
        self._keeps_requests = keeps_requests
        self._upstream = upstream
        self._clock = clock
        self._hop = hop
        self._replicas = replicas
        self._tracing = tracing
        self._plans = Plans(rules=rules, operations=operations, secret=secret, aliases=aliases)

    async def handle(self, request: Request, exchange: Exchange) -> Response:
        """Answer a request. What happens on the way is noted in the exchange.

        Raises ProxyError where there is no answer but one of our own making.
        """
        if request.path == FEEDBACK_PATH:
            self._recorder.flush()  # whoever has the answer may speak of it
            return await self._feedback.answer(request, self.rules, self._secret)
        if isinstance(request.body, bytes) and len(request.body) > MEMO_BODY_BYTES:
            plan, fingerprint = await asyncio.to_thread(self._plans.find, request)
        else:
            plan, fingerprint = self._plans.find(request)
        if isinstance(plan, Bypass):
            return await self._pass(request, plan, exchange)
        return await self._answer(request, plan, fingerprint, exchange)

    async def _answer(
        self, request: Request, plan: Lookup, fingerprint: bytes, exchange: Exchange
    ) -> Response:
        exchange.operation = plan.operation.name
        exchange.model = plan.model
        exchange.tenant = tenant_name(plan.tenant)
        if self._keeps_requests and not plan.directives.is_background:
            exchange.asked = Asked(request, plan.caller, plan.key.scope + plan.key.settings)
        self._recorder.settle(plan.key.exact)
        outcome = self._lookup(plan)
        exchange.looked_up = self._clock.monotonic()
        if isinstance(outcome, Miss):
            if plan.policy.error_ttl > 0 and (refused := self._repeat(plan, outcome, exchange)):
                return refused
            plan, outcome = await self._look_further(request, plan, outcome, exchange)
        match outcome:
            case Hit(stored) | Stale(stored):
                response = await replay(stored, plan, self._store)
            case Miss():
                return await self._fetch(request, plan, outcome, exchange)
            case _:
                assert_never(outcome)
        if response is None:
            return await self._fetch(request, plan, Miss(MissReason.SHAPE), exchange)
        if isinstance(outcome, Stale) and outcome.refresh and plan.policy.stores:
            self._refresh(request, plan, stored, exchange)
        self._plans.remember(fingerprint, plan)
        self._note_hit(exchange, plan, outcome)
        share = plan.policy.refresh_ahead
        if share and (exchange.ttl or 0) < share * outcome.stored.ttl:
            self._ahead.note(request, plan, outcome, exchange.trace)
        return _telling(response, exchange.similarity)

    def _repeat(self, plan: Lookup, miss: Miss, exchange: Exchange) -> Response | None:
        """The upstream's refusal of the same request, if it may be repeated."""
        now = self._clock.now()
        refusal = self._refusals.find(plan, now)
        if refusal is None or miss.reason is MissReason.CREDENTIAL:
            return None
        exchange.level = Level.NEGATIVE
        exchange.age = int(max(0.0, now - refusal.created))
        exchange.ttl = int(refusal.ttl - (now - refusal.created))
        head = b"Content-Type: %b\r\n" % refusal.content_type
        return Response(refusal.status, refusal.reason, head, refusal.body, len(refusal.body))

    def plan(self, request: Request) -> Plan:
        """What would be done with a request whose body is whole and not long."""
        return self._plans.make(request)

    async def connect(self, request: Request, exchange: Exchange) -> Wire:
        """The way of a request to upgrade the connection: its head goes on, then raw bytes.

        Raises UpstreamError or LoopDetected.
        """
        self._go_on(request, exchange)
        pool = self.rules.pool_for("")
        policy = self.rules.policy_for(request.path, "", request.header)
        exchange.pool = pool.name
        exchange.fwd = Fwd.BYPASS
        exchange.detail = BypassReason.UPGRADE
        wire = await self._upstream.dial(pool.url, policy.deadlines)
        await wire.write(upgrade_head(request, pool, hop_value(self._hop), exchange.trace))
        return wire

    def _lookup(self, plan: Lookup) -> Outcome:
        alias = self._aliases.get(plan.key.exact)
        if alias is not None:
            self._recorder.settle(alias.target)  # it may have been asked for anew
        return lookup(
            plan,
            self._store,
            self._acceptance,
            self._aliases,
            self._semantic,
            self._clock.now(),
        )

    async def _ask_replicas(self, plan: Lookup, miss: Miss, replicas: Replicas) -> Outcome:
        """Look for an answer that another replica has stored."""
        may_ask = miss.reason is MissReason.ABSENT and not plan.directives.no_cache
        if not may_ask or self._fetcher.flights.find(plan):
            return miss
        return self._lookup(plan) if await replicas.find(plan) else miss

    async def _look_further(
        self, request: Request, plan: Lookup, outcome: Outcome, exchange: Exchange
    ) -> tuple[Lookup, Outcome]:
        """Where nothing fit is here by key: at other replicas, then by meaning."""
        if isinstance(outcome, Miss) and self._replicas is not None:
            began = self._clock.monotonic()
            outcome = await self._ask_replicas(plan, outcome, self._replicas)
            exchange.stages += (Timed(Stage.REPLICAS, began, self._clock.monotonic()),)
        if isinstance(outcome, Miss) and self._semantic is not None:
            plan = self._whole(request, plan)
            outcome = await self._mean(plan, outcome, self._semantic, exchange)
        return plan, outcome

    async def _mean(
        self, plan: Lookup, miss: Miss, semantic: Semantic, exchange: Exchange
    ) -> Outcome:
        """Look by meaning, where nothing fit was found by key."""
        may_look = miss.reason is MissReason.ABSENT or miss.reason is MissReason.STALE
        if not may_look or self._fetcher.flights.find(plan):
            return miss
        self._recorder.flush()  # whoever asks the same in other words at once shall find it
        began = self._clock.monotonic()
        meant = await semantic.find(plan)
        exchange.meaning_seconds = self._clock.monotonic() - began
        exchange.stages += meant.stages
        if isinstance(meant, Match):
            stored = self._store.get(meant.key)
            left = semantic.remaining(meant.key, plan, self._clock.now())
            if stored is not None and left > 0:
                return Hit(stored, Level.SEMANTIC, meant.similarity, left)
            return miss
        exchange.meaning = meant.reason
        exchange.similarity = meant.nearest
        exchange.guard = meant.guard
        self._recorder.settle(plan.key.exact)
        return self._lookup(plan)  # somebody else's answer may have come meanwhile

    def _whole(self, request: Request, plan: Lookup) -> Lookup:
        # A plan is remembered without its text.
        if not plan.is_remembered:
            return plan
        whole = self._plans.make(request)
        return whole if isinstance(whole, Lookup) else plan

    async def _pass(self, request: Request, plan: Bypass, exchange: Exchange) -> Response:
        self._go_on(request, exchange)
        exchange.operation = plan.operation
        exchange.model = plan.model
        exchange.fwd = plan.fwd
        exchange.detail = plan.reason
        if plan.only_if_cached:
            raise OnlyIfCachedMiss("only-if-cached was asked for, and this request is not cached.")
        self._turns.client_began()
        try:
            reply = await forward(request, plan.pool, plan.policy, self._upstream, exchange)
        except BaseException:
            self._turns.client_ended()
            raise
        if reply.status == 401 or (plan.operation and reply.status == 403):
            self._acceptance.learn(caller_digest(request, self._secret), reply.status)
        response = response_of(reply, by_name(reply.fields))
        return response._replace(body=self._turns.watched(reply.body))

    def _go_on(self, request: Request, exchange: Exchange) -> None:
        """What is to be said of a request to whoever is asked next. Raises LoopDetected."""
        if self._tracing is not None and exchange.trace is None:
            exchange.trace = self._tracing.unsampled()
        # Before a flight is joined: it may be the one that this request is a part of.
        via = request.header("Via")
        if via is not None and is_circle(via, self._hop):
            raise LoopDetected("The request was here before: the proxy is its own upstream.")

    async def _fetch(
        self, request: Request, plan: Lookup, miss: Miss, exchange: Exchange
    ) -> Response:
        self._go_on(request, exchange)
        self._note_miss(plan, miss, exchange)
        if plan.directives.only_if_cached:
            raise OnlyIfCachedMiss("only-if-cached was asked for, and nothing fit is stored.")
        # The call under way began before the wish for a fresh answer, or before the refusal.
        may_join = not (
            plan.directives.no_cache
            or miss.reason is MissReason.REQUEST
            or miss.reason is MissReason.CREDENTIAL
        )
        if may_join and await self._has_come(plan, miss):
            return await self.handle(request, exchange)
        joins = may_join and self._fetcher.flights.find(plan) is not None
        in_turn = plan.directives.is_background and not joins
        if in_turn:
            await self._background.take_turn()
            if may_join and self._came_meanwhile(plan, miss):
                self._background.give_back()
                return await self.handle(request, exchange)
        try:
            response = await self._fetcher.fetch(
                request,
                plan,
                exchange,
                may_join=may_join,
                newer_than=self._newer_than(plan, miss) if may_join else None,
                in_turn=in_turn,
            )
        except AnswerHasCome:
            return await self.handle(request, exchange)
        except UpstreamError as error:
            instead = await self._fallback(miss, plan, exchange)
            if instead is None:
                raise
            exchange.error = error.code
            return instead
        if response.status >= 500 and (instead := await self._fallback(miss, plan, exchange)):
            if not isinstance(response.body, bytes):
                await response.body.aclose()
            return instead
        return response

    def _newer_than(self, plan: Lookup, miss: Miss) -> float | None:
        """When an answer must have been made to serve in place of a call; None where none may.

        Nor is anybody to wait for a call whose answer will not be stored.
        """
        if not plan.policy.stores:
            return None
        if miss.reason is not MissReason.ABSENT and miss.reason is not MissReason.STALE:
            return None
        there = self._store.peek(plan.key.exact)
        return float("-inf") if there is None else there.created

    async def _has_come(self, plan: Lookup, miss: Miss) -> bool:
        is_there = await self._fetcher.wait_for_record(plan)
        if is_there is not False:
            return bool(is_there)
        # While it waited, the answer to a call in the other shape may have been stored.
        return miss.reason is MissReason.ABSENT and isinstance(self._lookup(plan), Hit)

    def _came_meanwhile(self, plan: Lookup, miss: Miss) -> bool:
        # While it waited for its turn a client may have asked the same.
        if self._fetcher.flights.find(plan) is not None:
            return True
        self._recorder.settle(plan.key.exact)
        may_be_there = miss.reason is MissReason.ABSENT or miss.reason is MissReason.STALE
        return may_be_there and isinstance(self._lookup(plan), Hit)

    def _refresh(
        self, request: Request, plan: Lookup, stale: StoredResponse, exchange: Exchange
    ) -> None:
        background = Exchange(
            started=self._clock.monotonic(),
            method=request.method,
            path=request.path,
            operation=plan.operation.name,
            model=plan.model,
            trace=offshoot(exchange.trace, Kind.REFRESH),
        )
        self._fetcher.refresh(request, plan, background, stale.created)

    async def _fallback(self, miss: Miss, plan: Lookup, exchange: Exchange) -> Response | None:
        # RFC 5861 section 4: better a stale answer than an error.
        if miss.fallback is None:
            return None
        response = await replay(miss.fallback, plan, self._store)
        if response is not None:
            self._note_hit(exchange, plan, Stale(miss.fallback, refresh=False))
        return response

    def _note_miss(self, plan: Lookup, miss: Miss, exchange: Exchange) -> None:
        match miss.reason:
            case MissReason.STALE:
                exchange.fwd = Fwd.STALE
            case MissReason.REQUEST:
                exchange.fwd = Fwd.REQUEST
            case MissReason.ABSENT | MissReason.SHAPE | MissReason.CREDENTIAL:
                exchange.fwd = Fwd.MISS
            case _:
                assert_never(miss.reason)
        exchange.detail = "" if miss.reason is MissReason.ABSENT else miss.reason
        exchange.missed = plan.key.exact
        exchange.question = plan.text

    def _note_hit(self, exchange: Exchange, plan: Lookup, found: Hit | Stale) -> None:
        stored, now = found.stored, self._clock.now()
        exchange.level = Level.EXACT
        exchange.similarity = None
        left = remaining(stored, plan.policy, now)
        if isinstance(found, Hit) and found.left is not None:
            exchange.level, exchange.similarity, left = found.level, found.similarity, found.left
            self._aliases.use(plan.key.exact)
        exchange.ttl = int(left)
        exchange.age = int(age(stored, now))
        exchange.entry = stored.key
        exchange.saved_tokens = stored.completion_tokens
        exchange.saved_prompt_tokens = stored.prompt_tokens
        exchange.saved_seconds = stored.duration


def _telling(response: Response, similarity: float | None) -> Response:
    """The response, with how near its question is to the one that was asked."""
    if similarity is None:
        return response
    return response._replace(head=response.head + b"x-cache-similarity: %.4f\r\n" % similarity)
