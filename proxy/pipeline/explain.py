"""What would happen to a request, and why (design 11). Nothing is changed by asking."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from proxy.core.cache.freshness import remaining
from proxy.core.cache.outcome import Hit, Miss, MissReason, Outcome
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Bypass, Lookup, classify
from proxy.core.exchange import Level
from proxy.core.meaning.negatives import Negatives, text_digest
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.model import Request
from proxy.core.policy import Rules
from proxy.core.wire.operation import Operation
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.lookup import lookup
from proxy.pipeline.replay import THREAD_ABOVE_BYTES, replay
from proxy.ports import Clock, Store

if TYPE_CHECKING:  # they bring numpy, which a proxy that does not compare does without
    from proxy.core.meaning.gate import Finding
    from proxy.pipeline.meaning import Meaning


class Near(NamedTuple):
    """What is said of a stored answer whose question is near."""

    stored: StoredResponse
    finding: "Finding"
    is_negative: bool
    """Somebody said that its answer does not serve this question."""
    left: float
    """Seconds for which it may be found by meaning; not positive if it may not."""

    @property
    def may_serve(self) -> bool:
        """Whether it would be served, if it were the nearest that may."""
        return self.finding.may_serve and not self.is_negative and self.left > 0


class Elsewhere(NamedTuple):
    """A stored answer whose question is near, but which belongs to other requests."""

    stored: StoredResponse
    similarity: float
    differs: str
    """The first part of the key that differs: scope, settings or history."""


@dataclass(frozen=True, slots=True)
class Account:
    """What would happen to a request that is looked up."""

    plan: Lookup
    outcome: Outcome
    stored: StoredResponse | None
    """What is stored under the exact key, fresh or not."""
    left: float
    """Seconds for which that is fresh, negative if it is stale; 0 for nothing."""
    encoder: str
    """The model by which its text was compared; empty where it was not."""
    refusal: str
    """Why it was not: an Uncompared."""
    nearest: tuple[Near, ...]
    elsewhere: tuple[Elsewhere, ...]

    @property
    def serving(self) -> Near | None:
        """The near answer that would be served, if nothing was found by key."""
        return next((near for near in self.nearest if near.may_serve), None)

    @property
    def objection(self) -> str:
        """Why nothing is served by meaning, as log and metrics say it; empty where something is."""
        if self.refusal or self.serving is not None:
            return self.refusal
        alive = [near for near in self.nearest if near.left > 0]
        allowed = [near.finding.reason for near in alive if not near.is_negative]
        return allowed[0] if allowed else "feedback" if alive else "absent"


Explained: TypeAlias = Bypass | Account


class Explainer:
    """Goes the way of a request as pipeline/pipeline.py does, and leaves no trace."""

    def __init__(
        self,
        *,
        operations: Sequence[Operation],
        secret: Callable[[], bytes],
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        acceptance: Acceptance,
        clock: Clock,
        meaning: "Callable[[], Meaning | None]",
    ) -> None:
        """`secret` keys the digests of credentials now; replicas may agree on another one.

        `meaning` is the semantic level, where there is one by now.
        """
        self._operations = operations
        self._secret = secret
        self._store = _Glance(store)
        self._aliases = aliases
        self._negatives = negatives
        self._acceptance = acceptance
        self._clock = clock
        self._meaning = meaning

    async def explain(self, request: Request, rules: Rules) -> Explained:
        """What would happen to a request now, whose body is whole."""
        parts = (request, rules, self._operations, self._secret(), self._aliases)
        if isinstance(request.body, bytes) and len(request.body) > THREAD_ABOVE_BYTES:
            plan = await asyncio.to_thread(classify, *parts)
        else:
            plan = classify(*parts)
        if isinstance(plan, Bypass):
            return plan
        meaning, now = self._meaning(), self._clock.now()
        outcome = lookup(plan, self._store, self._acceptance, self._aliases, meaning, now)
        stored = self._store.peek(plan.key.exact)
        account = Account(
            plan=plan,
            outcome=outcome,
            stored=stored,
            left=remaining(stored, plan.policy, now) if stored is not None else 0.0,
            encoder="",
            refusal=plan.uncompared or Uncompared.OFF,
            nearest=(),
            elsewhere=(),
        )
        if meaning is not None:
            account = await self._compare(account, meaning)
        if not isinstance(account.outcome, Miss):
            # A copy, for what is derived from an entry is kept with it.
            copy = replace(account.outcome.stored)
            if await replay(copy, plan, self._store) is None:
                return replace(account, outcome=Miss(MissReason.SHAPE))
        return account

    async def _compare(self, account: Account, meaning: "Meaning") -> Account:
        plan, outcome = account.plan, account.outcome
        found = await meaning.explain(plan)
        digest, now = text_digest(plan.key.scope, plan.text), self._clock.now()
        nearest = []
        for finding in found.findings:
            stored = self._store.peek(finding.candidate.key)
            if stored is not None:
                other = text_digest(plan.key.scope, finding.candidate.text.original)
                left = meaning.remaining(stored.key, plan, now)
                nearest.append(Near(stored, finding, self._negatives.has(digest, other), left))
        elsewhere = [
            Elsewhere(stored, similarity, differs)
            for key, similarity, differs in found.elsewhere
            if (stored := self._store.peek(key)) is not None
        ]
        account = replace(
            account,
            encoder=found.encoder,
            refusal=found.refusal,
            nearest=tuple(nearest),
            elsewhere=tuple(elsewhere),
        )
        near = account.serving
        if near is None or not _may_look(outcome):
            return account
        similarity = near.finding.candidate.similarity
        return replace(account, outcome=Hit(near.stored, Level.SEMANTIC, similarity, near.left))


def _may_look(outcome: Outcome) -> bool:
    # As the pipeline has it: only where nothing was found, or nothing fresh.
    return isinstance(outcome, Miss) and outcome.reason in (MissReason.ABSENT, MissReason.STALE)


class _Glance:
    """A store that is looked at: nothing counts as a use, and nothing is changed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: bytes) -> StoredResponse | None:
        return self._store.peek(key)

    def peek(self, key: bytes) -> StoredResponse | None:
        return self._store.peek(key)

    def put(self, stored: StoredResponse) -> bool:
        return False

    def recount(self, stored: StoredResponse) -> None:
        return

    def delete(self, key: bytes) -> bool:
        return False

    def scan(self) -> Iterable[StoredResponse]:
        return self._store.scan()
