"""A miss: join the flight that is under way for it, or begin one that is recorded at its end."""

import asyncio
from collections.abc import MutableMapping
from http import HTTPStatus

from proxy.core.cache.selector import Selector
from proxy.core.cache.storable import DoNotStore, Unstorable, shape_of
from proxy.core.classify import Lookup
from proxy.core.errors import ProxyError, UpstreamBroken
from proxy.core.exchange import Exchange
from proxy.core.model import Request, Response, Shape
from proxy.core.policy import OnClientGone, ScopeKind
from proxy.core.wire.headers import by_name, shared
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.collapse import AnswerHasCome, Flight
from proxy.pipeline.doorkeeper import Doorkeeper
from proxy.pipeline.flights import Flights
from proxy.pipeline.forward import forward, response_of
from proxy.pipeline.record import Recorder, Recording
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.replicas import Replicas
from proxy.pipeline.turns import Turns
from proxy.ports import Clock, Upstream
from proxy.tasks import Tasks

ENDING_SECONDS = 1.0
"""How long a stream may take to end after its last event before a repeat shares it live."""
_SHARED_LIVE = frozenset({Unstorable.READ_ONLY, Unstorable.DOORKEEPER})
"""Reasons that say nothing against sharing an answer while it is on its way."""


class Fetcher:
    """Gets answers from the upstream, once for all who ask the same at the same time."""

    def __init__(
        self,
        *,
        upstream: Upstream,
        recorder: Recorder,
        acceptance: Acceptance,
        refusals: Refusals,
        turns: Turns,
        tasks: Tasks,
        clock: Clock,
        replicas: Replicas | None = None,
        doubted: MutableMapping[bytes, None] | None = None,
    ) -> None:
        """`replicas` are those with which calls are shared too.

        `doubted` are keys of which an upstream that is a cache too shall not give what it has.
        """
        self._doubted = {} if doubted is None else doubted
        self.flights = Flights()
        self.doorkeeper: Doorkeeper | None = None
        """Says which questions are admitted to the cache, where not all are."""
        self._refusals = refusals
        self._under_way: set[Flight] = set()
        self._upstream = upstream
        self._recorder = recorder
        self._acceptance = acceptance
        self._turns = turns
        self._tasks = tasks
        self._clock = clock
        self._replicas = replicas

    async def fetch(
        self,
        request: Request,
        plan: Lookup,
        exchange: Exchange,
        *,
        may_join: bool,
        newer_than: float | None = None,
        in_turn: bool = False,
    ) -> Response:
        """The upstream's answer, live. Raises UpstreamError if it fails before its head.

        With `may_join` an identical call under way is shared. With `newer_than` (wall time in
        seconds) other replicas are asked for an answer made later; where there is one, or comes,
        AnswerHasCome is raised. With `in_turn` the caller has taken a turn for it, which is given
        back here.
        """
        flight = self.flights.find(plan) if may_join else None
        exchange.collapsed = flight is not None
        if flight is None:
            flight = self._begin(request, plan, exchange, newer_than, in_turn=in_turn)
        else:
            if in_turn:
                self._turns.give_back()
            if exchange.trace is not None:
                exchange.trace.joined = flight.trace
        if self.doorkeeper is not None and not plan.directives.is_background:
            flight.is_admitted = self.doorkeeper.admits(plan.key.exact)
        reader = flight.attach()
        try:
            if plan.directives.is_background:
                await self._judged(flight, plan)
            response = await reader.response()
        except BaseException:
            await reader.aclose()
            raise
        exchange.pool = plan.pool.name
        exchange.fwd_status = response.status
        exchange.stored = flight.stored if flight.is_settled else flight.will_be_stored
        if exchange.collapsed:
            # Cookies, rate limits and request ids are the first client's alone.
            response = response._replace(head=shared(flight.values))
        return response

    async def _judged(self, flight: Flight, plan: Lookup) -> None:
        # Whoever warms has time, and wants to be told by the head whether it was stored.
        while not (flight.ended or flight.is_settled):
            await flight.changed()
        self._recorder.settle(plan.key.exact)
        while not flight.is_settled:
            await flight.changed()

    async def wait_for_record(self, plan: Lookup) -> bool | None:
        """Wait where a stored answer is about to be there; whether it is now, None for no wait.

        1. A stream under way answers a request for JSON: that answer could not be had sooner from
           a call of its own.
        2. An identical answer is whole and is being judged.
        3. An identical stream has said all, but its connection has not ended yet. The SDKs stop
           reading at `[DONE]`, and whoever asks again at once shall get a hit.
        """
        flight = self.flights.find_stream(plan)
        if flight is None:
            flight = self.flights.find(plan)
            if flight is None:
                return None
            if flight.recording is None and not plan.operation.has_ended(flight.tail()):
                return None
        if not flight.is_recordable:
            return None
        reader = flight.attach()  # it counts as a reader: the flight goes on if its client leaves
        try:
            await _settled(flight, plan)
        except TimeoutError:
            return False
        finally:
            await reader.aclose()
        return flight.stored is True

    def purged(self, selector: Selector) -> None:
        """Answers that are on their way now are older than this purge."""
        for flight in self._under_way:
            flight.purges.append(selector)

    def refresh(
        self, request: Request, plan: Lookup, exchange: Exchange, newer_than: float
    ) -> None:
        """Fetch a fresh answer in the background, unless that is under way (RFC 5861 section 3).

        `newer_than` is when the stale one was made, here or by another replica.
        """
        if self.flights.find(plan) is None:
            self._begin(request, plan, exchange, newer_than)

    async def fetch_unread(
        self, request: Request, plan: Lookup, exchange: Exchange, newer_than: float
    ) -> bool | None:
        """Fetch an answer that no client reads, in a turn that the caller has taken.

        Whether it was stored; None where another replica has one that is newer. The turn is given
        back.
        """
        flight = self._begin(request, plan, exchange, newer_than, in_turn=True)
        while not flight.is_settled:
            await flight.changed()
        return None if isinstance(flight.error, AnswerHasCome) else flight.stored is True

    def _begin(
        self,
        request: Request,
        plan: Lookup,
        exchange: Exchange,
        newer_than: float | None,
        *,
        in_turn: bool = False,
    ) -> Flight:
        if not in_turn:
            self._turns.client_began()
        flight = Flight(
            keep_bytes=self._recorder.max_bytes,
            on_alone=lambda flight: self._alone(flight, plan),
            on_ended=self._turns.give_back if in_turn else self._turns.client_ended,
        )
        self.flights.add(plan, flight)
        self._under_way.add(flight)
        flight.newer_than = newer_than if self._replicas is not None else None
        flight.trace = exchange.trace
        if exchange.trace is not None:
            exchange.trace.flies = True
        flight.cancel = self._tasks.spawn(self._fly(flight, request, plan, exchange), "flight")
        return flight

    async def _fly(
        self, flight: Flight, request: Request, plan: Lookup, exchange: Exchange
    ) -> None:
        try:
            if self._replicas is not None and flight.newer_than is not None:
                if await self._replicas.claim(plan, flight.newer_than):
                    raise AnswerHasCome
                flight.is_claimed = True
            await self._feed(flight, request, plan, exchange, self._clock.now())
        except (ProxyError, AnswerHasCome) as error:
            flight.finish(error)
        except asyncio.CancelledError:
            if exchange.trace is not None:
                exchange.trace.end_call("cancelled")
            raise
        finally:
            if exchange.trace is not None:
                exchange.trace.end_call(_flaw(flight))
            if flight.recording is None:
                self._land(flight, plan)

    async def _feed(
        self,
        flight: Flight,
        request: Request,
        plan: Lookup,
        exchange: Exchange,
        began: float,
    ) -> None:
        key = plan.key.exact
        is_doubted = plan.pool.is_reprise and key in self._doubted
        if is_doubted:
            # Its name there may be unknown, or word of it still under way.
            request = request._replace(fields=(*request.fields, (b"Cache-Control", b"no-cache")))
        reply = await forward(request, plan.pool, plan.policy, self._upstream, exchange)
        if is_doubted and reply.status == HTTPStatus.OK:
            self._doubted.pop(key, None)
        try:
            self._acceptance.learn(plan.caller, reply.status)
            flight.values = values = by_name(reply.fields)
            shape = self._shape(flight, plan, reply.status)
            if isinstance(shape, DoNotStore):
                self._give_up(flight, plan, shape)
            response = response_of(reply, values)
            flight.begin(response)
            async for piece in reply.body:
                await flight.append(piece)
                if flight.is_recordable and not flight.is_whole:
                    self._give_up(flight, plan, DoNotStore(Unstorable.TOO_LARGE))
                if not (flight.is_recordable or flight.is_read):
                    raise UpstreamBroken("Nobody wants the rest of this answer.")
                if reply.body.at_end:
                    break
        finally:
            await reply.body.aclose()
        if not flight.is_recordable:
            if plan.policy.error_ttl > 0 and flight.is_whole:
                self._refuse(flight, plan, response, began)
            flight.finish()
        else:
            self._record(flight, self._recording(flight, plan, exchange, began))

    def _refuse(self, flight: Flight, plan: Lookup, response: Response, began: float) -> None:
        self._refusals.note(
            plan,
            response,
            flight.values,
            flight.body(),
            began=began,
            ended=self._clock.now(),
            purges=flight.purges,
        )

    def _record(self, flight: Flight, recording: Recording) -> None:
        try:
            if recording.plan.shape is Shape.JSON:
                # The head may still be on its way to the client: then it can tell.
                flight.will_be_stored = self._recorder.will_store(recording)
        finally:
            flight.finish()  # a mistake in judging is not the clients' matter
        flight.recording = recording  # it may be joined until it is stored
        self._recorder.add(recording)

    def _recording(
        self, flight: Flight, plan: Lookup, exchange: Exchange, began: float
    ) -> Recording:
        def settle(is_stored: bool) -> None:
            exchange.stored = flight.stored = is_stored
            if plan.policy.error_ttl > 0:
                self._refusals.discard(plan)
            self._land(flight, plan)

        return Recording(
            plan, flight.values, flight.body(), began, self._clock.now(), flight.purges, settle
        )

    def _land(self, flight: Flight, plan: Lookup) -> None:
        self._under_way.discard(flight)
        self.flights.remove(plan, flight)
        self._release(flight, plan)
        flight.close()

    def _release(self, flight: Flight, plan: Lookup) -> None:
        if flight.is_claimed and self._replicas is not None:
            flight.is_claimed = False
            self._replicas.release(plan)

    def _shape(self, flight: Flight, plan: Lookup, status: int) -> Shape | DoNotStore:
        is_shared = plan.policy.scope is not ScopeKind.CREDENTIAL
        shape = shape_of(status, flight.values, is_shared=is_shared)
        if isinstance(shape, DoNotStore):
            return shape
        if shape is not plan.shape:
            return DoNotStore(Unstorable.CONTENT_TYPE)  # not what was asked for: left alone
        if not plan.policy.stores:
            return DoNotStore(Unstorable.READ_ONLY)
        return shape if flight.is_admitted else DoNotStore(Unstorable.DOORKEEPER)

    def _give_up(self, flight: Flight, plan: Lookup, reason: DoNotStore) -> None:
        # Those who read it are served to its end; who comes later shall not wait for it.
        flight.is_recordable = False
        flight.stored = False
        if reason.reason not in _SHARED_LIVE:
            self.flights.remove(plan, flight)
        self._release(flight, plan)
        self._recorder.refuse(reason)

    def _alone(self, flight: Flight, plan: Lookup) -> None:
        if plan.policy.on_client_gone is OnClientGone.ABORT or not flight.is_recordable:
            self._cut(flight, plan)
        else:
            if flight.timer is not None:
                flight.timer.cancel()  # somebody came back, and has left again
            flight.timer = asyncio.get_running_loop().call_later(
                plan.policy.finish_within, self._cut, flight, plan
            )

    def _cut(self, flight: Flight, plan: Lookup) -> None:
        cancel = flight.cancel
        if cancel is not None and not flight.is_read:
            self._land(flight, plan)  # here, for a task that has not begun yet never ends
            cancel()


async def _settled(flight: Flight, plan: Lookup) -> None:
    """Wait until the answer is stored or not.

    Raises TimeoutError if the connection does not end within ENDING_SECONDS after the last event.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as bound:
        while not flight.is_settled:
            if bound.when() is None and plan.operation.has_ended(flight.tail()):
                bound.reschedule(loop.time() + ENDING_SECONDS)
            await flight.changed()


def _flaw(flight: Flight) -> str:
    """How a call ended, for its trace: the code of an error, or nothing."""
    return flight.error.code if isinstance(flight.error, ProxyError) else ""
