"""Calls of low priority: they wait for their turn at the upstream (mission E1, E2, E5).

Those that clients mark `x-cache-priority: background`, and those of the proxy's own making.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from proxy.core.cache.budget import Budget
from proxy.core.classify import Lookup
from proxy.core.errors import BackgroundBusy
from proxy.core.exchange import Exchange
from proxy.core.model import Request
from proxy.core.trace import Trace, offshoot
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.turns import Turns
from proxy.ports import Clock, Store
from proxy.tasks import Tasks

MAX_PENDING = 32
"""Requests of the proxy's own that wait or are under way at once."""


class Kind(StrEnum):
    """Why it is asked."""

    CLIENT = "client"
    REFRESH = "refresh"
    RELATED = "related"


class Result(StrEnum):
    """What came of it."""

    ASKED = "asked"
    """Of a client's: it had its turn."""
    SPARED = "spared"
    """When its turn had come the answer was there, or under way for somebody else."""
    BUSY = "busy"
    """It got no turn."""
    OVER_BUDGET = "over-budget"
    STORED = "stored"
    FAILED = "failed"
    """There was no answer, or none that may be stored."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request that the proxy would like to make."""

    kind: Kind
    request: Request
    plan: Lookup
    tokens: int
    """What it is expected to take."""
    newer_than: float
    """Wall time in seconds: what another replica has made later does as well."""
    is_wanted: Callable[[], bool]
    """Whether it is, still; asked again when its turn has come."""
    cause: Trace | None = None
    """The trace of the client's request for whose sake it is made."""


class Background:
    """Makes the proxy's own requests: within their budget, in turn, off every client's path."""

    def __init__(
        self,
        *,
        turns: Turns,
        budget: Budget,
        fetcher: Fetcher,
        store: Store,
        tasks: Tasks,
        clock: Clock,
        on_result: Callable[[Kind, Result, int], None],
    ) -> None:
        """`on_result` is told what became of each, and the tokens that it took."""
        self.budget = budget
        self._turns = turns
        self._fetcher = fetcher
        self._store = store
        self._tasks = tasks
        self._clock = clock
        self._on_result = on_result
        self._pending: set[bytes] = set()

    def is_asking(self, key: bytes) -> bool:
        """Whether a question waits or is under way, by its exact key."""
        return key in self._pending

    def ask(self, wanted: Wanted, on_failed: Callable[[], None] = lambda: None) -> None:
        """Ask, some time, unless the same is asked already. `on_failed`: nothing was stored."""
        key = wanted.plan.key.exact
        if key in self._pending or len(self._pending) >= MAX_PENDING:
            return
        if not wanted.plan.policy.stores:
            return  # nobody would have anything of it
        self._pending.add(key)
        self._tasks.spawn(self._ask(wanted, on_failed), "background-request")

    async def take_turn(self) -> None:
        """Wait for the turn of a request that its client marked. Raises BackgroundBusy."""
        try:
            await self._turns.take()
        except BackgroundBusy:
            self._on_result(Kind.CLIENT, Result.BUSY, 0)
            raise
        self._on_result(Kind.CLIENT, Result.ASKED, 0)

    def give_back(self) -> None:
        """That turn was not needed."""
        self._turns.give_back()
        self._on_result(Kind.CLIENT, Result.SPARED, 0)

    async def _ask(self, wanted: Wanted, on_failed: Callable[[], None]) -> None:
        key = wanted.plan.key.exact
        tokens = 0
        try:
            result = await self._in_turn(wanted)
            if result is Result.STORED:
                tokens = self._settle(wanted)
            elif result is Result.FAILED:
                on_failed()
        finally:
            self._pending.discard(key)
        self._on_result(wanted.kind, result, tokens)

    async def _in_turn(self, wanted: Wanted) -> Result:
        try:
            await self._turns.take()
        except BackgroundBusy:
            return Result.BUSY
        plan = wanted.plan
        if not wanted.is_wanted() or self._fetcher.flights.find(plan) is not None:
            self._turns.give_back()
            return Result.SPARED
        if not self.budget.take(self._clock.monotonic(), wanted.tokens):
            self._turns.give_back()
            return Result.OVER_BUDGET
        request = wanted.request
        exchange = Exchange(
            self._clock.monotonic(),
            request.method,
            request.path,
            operation=plan.operation.name,
            model=plan.model,
            trace=offshoot(wanted.cause, wanted.kind),
        )
        newer_than = wanted.newer_than
        is_stored = await self._fetcher.fetch_unread(request, plan, exchange, newer_than)
        if is_stored is None:
            return Result.SPARED
        return Result.STORED if is_stored else Result.FAILED

    def _settle(self, wanted: Wanted) -> int:
        """What the answer took, which the budget is told."""
        stored = self._store.peek(wanted.plan.key.exact)
        tokens = stored.prompt_tokens + stored.completion_tokens if stored is not None else 0
        # An upstream that tells no usage is taken at what was expected.
        self.budget.correct(self._clock.monotonic(), tokens - wanted.tokens if tokens else 0)
        return tokens
