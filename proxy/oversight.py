"""What the operator may see and do: the parts of an application behind the admin listener."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proxy import __version__
from proxy.admin.invalidation import Invalidation
from proxy.admin.questions import Questions
from proxy.admin.routes import Controls
from proxy.admin.sets import Sets
from proxy.condition import Condition
from proxy.core.cache.change import Change, Learnt, Put, Renewed
from proxy.core.meaning.negatives import Negatives
from proxy.core.wire.operation import Operation
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.chain import Chain
from proxy.pipeline.explain import Explainer
from proxy.pipeline.feedback import Feedback, Opinion
from proxy.pipeline.invalidator import Invalidator
from proxy.pipeline.ledger import Ledger
from proxy.ports import Clock, Store
from proxy.reload import Reloader
from proxy.semantic_loader import SemanticLoader
from proxy.server.handler import Handler
from proxy.store.memory import MemoryStore
from proxy.telemetry.audit import Audit
from proxy.telemetry.exposition import Exposition
from proxy.telemetry.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """Where the operator's questions and orders come in.

    What may become another while the application runs is asked for each time.
    """

    condition: Condition
    exposed: Callable[[str], Exposition]
    """All metrics, in a format that an Accept field names."""
    settle: Callable[[], None]
    """Lets what has happened be stored and counted."""
    reloader: Reloader
    secret: Callable[[], bytes]
    """The key of the digests of credentials; replicas may agree on another."""
    hop: str
    operations: Sequence[Operation]
    handler: Handler
    store: Store
    memory: MemoryStore
    """What is below `store`: what is put there is told to nobody."""
    aliases: Aliases
    negatives: Negatives
    acceptance: Acceptance
    semantic: SemanticLoader
    ledger: Ledger
    invalidator: Invalidator
    feedback: Feedback
    chain: Chain
    tally: Tally
    audit: Audit
    clock: Clock

    def controls(self) -> Controls:
        """What the admin listener is given."""

        async def reload() -> dict[str, Any]:
            return (await self.reloader.reload("admin")).told()

        return Controls(
            version={"version": __version__, "python": platform.python_version()},
            token=self.reloader.current.static.admin_token,
            state=self.condition.state,
            detail=self.condition.detail,
            metrics=self.exposed,
            config=lambda: self.reloader.current.redacted(),
            reload=reload,
            invalidation=self._invalidation(),
            sets=self._sets(),
            questions=self._questions(),
            feedback=self._hear,
        )

    def _invalidation(self) -> Invalidation:
        invalidator = self.invalidator
        return Invalidation(
            purge=invalidator.purge,
            survey=invalidator.survey,
            renew=invalidator.renew,
            epochs=lambda: invalidator.epochs,
            audit=self.audit,
            chain=self.chain,
            hop=self.hop,
        )

    def _sets(self) -> Sets:
        return Sets(
            store=self.store,
            tally=self.tally,
            companions=self._companions,
            beginning=lambda: self.invalidator.epochs,
            take=self._take_set,
            settle=self.settle,
            upstreams=lambda: [pool.name for pool in self.handler.pipeline.rules.pools],
            secret=self.secret,
            audit=self.audit,
            clock=self.clock,
        )

    def _questions(self) -> Questions:
        explainer = Explainer(
            operations=self.operations,
            secret=self.secret,
            store=self.store,
            aliases=self.aliases,
            negatives=self.negatives,
            acceptance=self.acceptance,
            clock=self.clock,
            meaning=lambda: self.semantic.meaning,
        )
        return Questions(
            tally=self.tally,
            store=self.store,
            explainer=explainer,
            clock=self.clock,
            rules=lambda: self.handler.pipeline.rules,
            meaning=lambda: self.semantic.meaning,
            settle=self.settle,
        )

    async def _companions(self, keys: Sequence[bytes]) -> Sequence[Change]:
        meaning = self.semantic.meaning
        return await meaning.learnt(keys) if meaning is not None else ()

    async def _take_set(self, changes: Sequence[Change]) -> int:
        """Take over what another proxy has exported; how many entries are stored."""
        now = self.clock.now()
        chosen = [change for change in changes if self._is_wanted(change, now)]
        await self.ledger.take_over(chosen)
        return sum(
            self.memory.peek(change.stored.key) is change.stored
            for change in chosen
            if isinstance(change, Put)
        )

    def _is_wanted(self, change: Change, now: float) -> bool:
        if not isinstance(change, Put):
            return isinstance(change, Learnt | Renewed)
        stored = change.stored
        there = self.memory.peek(stored.key)
        return stored.created + stored.ttl > now and (
            there is None or there.created < stored.created
        )

    async def _hear(self, opinion: Opinion, by: str) -> bool:
        is_taken = await self.feedback.take(opinion, lambda stored: True)
        if is_taken:
            told = {"entry": opinion.entry, "verdict": opinion.verdict}
            self.audit.note("feedback", by, told)
        return is_taken
