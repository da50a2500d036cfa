"""The way of a request. Read this first.

classify -> Bypass: straight to the upstream
         -> Lookup: lookup -> Hit, Stale: replay
                           -> Miss: collapse -> forward -> record
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import assert_never

from proxy.core.cache.freshness import age, remaining
from proxy.core.cache.outcome import Hit, Miss, MissReason, Stale
from proxy.core.cache.value import StoredResponse, tenant_name
from proxy.core.classify import (
    Bypass,
    BypassReason,
    Lookup,
    Plan,
    classify,
)
from proxy.core.errors import OnlyIfCachedMiss, UpstreamError
from proxy.core.exchange import Exchange, Fwd, Level
from proxy.core.head import DECIDING_FIELDS, Head, caller_digest, read_head
from proxy.core.model import Request, Response
from proxy.core.policy import Rules, ScopeKind
from proxy.core.wire.headers import by_name
from proxy.core.wire.operation import Operation
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.forward import forward, response_of, upgrade_head
from proxy.pipeline.lookup import lookup
from proxy.pipeline.record import Recorder
from proxy.pipeline.replay import replay
from proxy.ports import Clock, Store, Upstream, Wire

MEMO_ENTRIES = 4096
"""Plans of repeated requests that are kept (twice as many at most)."""
MEMO_BODY_BYTES = 64 * 1024
"""Larger bodies are parsed in a thread, and their plans are not remembered."""
MEMO_PLAN_BYTES = 1024
"""What a remembered plan may hold of the client's own text."""
MEMO_HEAD_BYTES = 4096
"""The deciding fields of a head that is remembered, in sum."""


class Pipeline:
    """Answers requests by one generation of rules; a reload makes another."""

    def __init__(
        self,
        *,
        rules: Rules,
        operations: Sequence[Operation],
        secret: bytes,
        store: Store,
        acceptance: Acceptance,
        fetcher: Fetcher,
        recorder: Recorder,
        upstream: Upstream,
        clock: Clock,
    ) -> None:
        """`secret` keys the digests of credentials."""
        self.rules = rules
        self.has_models = rules.has_models
        """Whether the model decides where a request goes."""
        self._operations = operations
        self._secret = secret
        self._store = store
        self._acceptance = acceptance
        self._fetcher = fetcher
        self._recorder = recorder
        self._upstream = upstream
        self._clock = clock
        self._deciding = (
            DECIDING_FIELDS
            | {route.match.header.lower().encode() for route in rules.routes}
            | {
                policy.scope_header.lower().encode()
                for policy in (rules.default, *(route.policy for route in rules.routes))
                if policy.scope is ScopeKind.HEADER
            }
        )
        self._memo: dict[bytes, Lookup] = {}
        self._older_memo: dict[bytes, Lookup] = {}
        self._heads: dict[bytes, Head] = {}

    async def handle(self, request: Request, exchange: Exchange) -> Response:
        """Answer a request. What happens on the way is noted in the exchange.

        Raises ProxyError where there is no answer but one of our own making.
        """
        if isinstance(request.body, bytes) and len(request.body) > MEMO_BODY_BYTES:
            plan, fingerprint = await asyncio.to_thread(self._plan, request)
        else:
            plan, fingerprint = self._plan(request)
        if isinstance(plan, Bypass):
            return await self._pass(request, plan, exchange)
        exchange.operation = plan.operation.name
        exchange.model = plan.model
        exchange.tenant = tenant_name(plan.tenant)
        now = self._clock.now()
        self._recorder.settle(plan.key.exact)
        outcome = lookup(plan, self._store, self._acceptance, now)
        match outcome:
            case Hit(stored):
                response = await replay(stored, plan, self._store)
            case Stale(stored, refresh):
                response = await replay(stored, plan, self._store)
                if refresh and response is not None:
                    self._refresh(request, plan)
            case Miss():
                return await self._fetch(request, plan, outcome, exchange)
            case _:
                assert_never(outcome)
        if response is None:
            return await self._fetch(request, plan, Miss(MissReason.SHAPE), exchange)
        self._remember(fingerprint, plan)
        self._note_hit(exchange, plan, stored, now)
        return response

    async def connect(self, request: Request, exchange: Exchange) -> Wire:
        """The way of a request to upgrade the connection: its head goes on, then raw bytes.

        Raises UpstreamError.
        """
        pool = self.rules.pool_for("")
        policy = self.rules.policy_for(request.path, "", request.header)
        exchange.pool = pool.name
        exchange.fwd = Fwd.BYPASS
        exchange.detail = BypassReason.UPGRADE
        wire = await self._upstream.dial(pool.url, policy.deadlines)
        await wire.write(upgrade_head(request, pool))
        return wire

    def _plan(self, request: Request) -> tuple[Plan, bytes]:
        # A byte-identical request that hit before skips parsing: its plan is remembered.
        body = request.body
        if not isinstance(body, bytes) or len(body) > MEMO_BODY_BYTES:
            return classify(request, self.rules, self._operations, self._secret), b""
        deciding = self._deciding
        parts = [self._secret, request.method.encode(), request.target.encode()]
        for field in request.fields:
            if field[0].lower() in deciding:
                parts += field
        # Field names and values hold no NUL, so that the body cannot be taken for one.
        fingerprint = hashlib.sha256(b"\x00".join((*parts, b"", body))).digest()
        plan = self._memo.get(fingerprint) or self._older_memo.get(fingerprint)
        if plan is not None:
            return plan, fingerprint
        head = self._head(request, b"\x00".join(parts))
        return classify(request, self.rules, self._operations, self._secret, head), fingerprint

    def _head(self, request: Request, deciding: bytes) -> Head:
        # The heads of one client's requests are alike: read once.
        digest = hashlib.sha256(deciding).digest()
        head = self._heads.get(digest)
        if head is None:
            head = read_head(request, self._secret)
            if len(self._heads) >= MEMO_ENTRIES:
                self._heads.clear()
            if len(deciding) <= MEMO_HEAD_BYTES:
                self._heads[digest] = head
        return head

    def _remember(self, fingerprint: bytes, plan: Lookup) -> None:
        size = len(plan.stream_options) + len(plan.model)
        if fingerprint and size <= MEMO_PLAN_BYTES and fingerprint not in self._memo:
            if len(self._memo) >= MEMO_ENTRIES:
                self._older_memo, self._memo = self._memo, {}
            self._memo[fingerprint] = plan

    async def _pass(self, request: Request, plan: Bypass, exchange: Exchange) -> Response:
        exchange.operation = plan.operation
        exchange.model = plan.model
        exchange.fwd = plan.fwd
        exchange.detail = plan.reason
        if plan.only_if_cached:
            raise OnlyIfCachedMiss("only-if-cached was asked for, and this request is not cached.")
        reply = await forward(request, plan.pool, plan.policy, self._upstream, exchange)
        if reply.status == 401 or (plan.operation and reply.status == 403):
            self._acceptance.learn(caller_digest(request, self._secret), reply.status)
        return response_of(reply, by_name(reply.fields))

    async def _fetch(
        self, request: Request, plan: Lookup, miss: Miss, exchange: Exchange
    ) -> Response:
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
        if plan.directives.only_if_cached:
            raise OnlyIfCachedMiss("only-if-cached was asked for, and nothing fit is stored.")
        # The call under way began before the wish for a fresh answer, or before the refusal.
        may_join = not (
            plan.directives.no_cache
            or miss.reason is MissReason.REQUEST
            or miss.reason is MissReason.CREDENTIAL
        )
        if may_join and await self._fetcher.wait_for_record(plan):
            return await self.handle(request, exchange)
        try:
            response = await self._fetcher.fetch(request, plan, exchange, may_join=may_join)
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

    def _refresh(self, request: Request, plan: Lookup) -> None:
        background = Exchange(
            started=self._clock.monotonic(), method=request.method, path=request.path
        )
        self._fetcher.refresh(request, plan, background)

    async def _fallback(self, miss: Miss, plan: Lookup, exchange: Exchange) -> Response | None:
        # RFC 5861 section 4: better a stale answer than an error.
        if miss.fallback is None:
            return None
        response = await replay(miss.fallback, plan, self._store)
        if response is not None:
            self._note_hit(exchange, plan, miss.fallback, self._clock.now())
        return response

    def _note_hit(
        self, exchange: Exchange, plan: Lookup, stored: StoredResponse, now: float
    ) -> None:
        exchange.level = Level.EXACT
        exchange.ttl = int(remaining(stored, plan.policy, now))
        exchange.age = int(age(stored, now))
        exchange.saved_tokens = stored.completion_tokens
