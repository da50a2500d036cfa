"""Brings the semantic level into a running application, and says by what it judges.

It is imported only where it is wanted, in a thread: it brings numpy and ONNX Runtime, and answers
that are found by their key are served meanwhile.
"""

import asyncio
import hashlib
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from proxy.config import Config
from proxy.core.cache.change import Change
from proxy.core.meaning.negatives import Negatives
from proxy.core.policy import SemanticRules
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.feedback import Feedback
from proxy.pipeline.ledger import Ledger
from proxy.ports import Clock, Store
from proxy.redis_link.link import RedisLink
from proxy.store.recall import Recall
from proxy.tasks import Tasks
from proxy.telemetry.log import Log

if TYPE_CHECKING:  # what it brings is loaded where it is needed
    from proxy.pipeline.meaning import Meaning
    from proxy.semantic_level import SemanticLevel


class SemanticLoader:
    """Holds the semantic level, once it is wanted."""

    def __init__(
        self,
        *,
        current: Callable[[], Config],
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        ledger: Ledger,
        feedback: Feedback,
        vectors: Callable[[], tuple[RedisLink, Recall] | None],
        note: Callable[[Change], None],
        on_made: Callable[[], None],
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        """`current` is the configuration in force. `note` is told what is learnt, and `on_made`
        that `meaning` is there. `vectors` gives Redis for an index that is shared.
        """
        self.meaning: Meaning | None = None
        """What finds by meaning; None while nothing does."""
        self.is_loading = False
        self._has_loaded = False
        """Whether what is to be loaded at the start is there, or known to be missing."""
        self._level: SemanticLevel | None = None
        self._gate_digest = b""
        self._stop: Callable[[], object] | None = None
        self._current = current
        self._store = store
        self._aliases = aliases
        self._negatives = negatives
        self._ledger = ledger
        self._feedback = feedback
        self._vectors = vectors
        self._note = note
        self._on_made = on_made
        self._clock = clock
        self._tasks = tasks
        self._log = log

    @property
    def is_starting(self) -> bool:
        """Whether it loads for the first time."""
        return self.is_loading and not self._has_loaded

    def load(self, config: Config) -> None:
        """Load the level in the background, where some route wants it and it is not there."""
        rules = semantic_rules(config)
        is_wanted = any(one.enabled for one in rules) and config.static.encoders
        if is_wanted and self._level is None and not self.is_loading:
            self.is_loading = True
            self._stop = self._tasks.spawn(self._bring(), "load-semantic")
        elif not is_wanted and self._level is None:
            self._ledger.learn_nothing()

    def stop(self) -> None:
        """Load no further: who stops does not wait for it."""
        if self._stop is not None:
            self._stop()

    async def close(self) -> None:
        """End what the level runs, and write what waits."""
        if self._level is not None:
            await self._level.close()

    def judge_by(self, config: Config) -> None:
        """Say what decides by meaning from now on."""
        if self.meaning is not None:
            rules = [one.fingerprint for one in semantic_rules(config)]
            digest = hashlib.sha256(self._gate_digest + "\n".join(rules).encode())
            self._ledger.judge = self.meaning.judge = digest.digest()

    def state(self) -> str:
        """ "ok", "off", or what is wrong, for /readyz."""
        if self.is_loading:
            return "loading"
        if self._level is not None:
            return "ok" if self._level.figures()["encoders_ready"] else "no encoder"
        return "missing" if self._has_loaded else "off"

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return self._level.figures() if self._level is not None else {}

    async def _bring(self) -> None:
        try:
            # A thread, for the libraries take their time and exact answers are served meanwhile.
            module = await asyncio.to_thread(importlib.import_module, "proxy.semantic_level")
            try:
                await self._make(module)
            except (OSError, module.VerifierError) as error:
                remedy = "exact answers are served; mend it and restart"
                told = {"why": str(error), "remedy": remedy}
                self._log.emit("error", "nothing is compared by meaning", told)
        finally:
            if self._level is None:
                self._ledger.learn_nothing()
            self.is_loading = False
            self._has_loaded = True

    async def _make(self, module: ModuleType) -> None:
        static = self._current().static
        gate = await asyncio.to_thread(module.make_gate, static.verifier)
        self._gate_digest = await asyncio.to_thread(module.gate_digest, static.verifier)
        identities = await asyncio.to_thread(module.identities_of, static.encoders)
        shared = self._vectors() if static.index == "redis" else None
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
            log=self._log,
            note=self._note,
            recall=recall,
            link=link,
            prefix=static.redis_prefix,
        )
        self._level = level
        self.meaning = level.meaning
        self.judge_by(self._current())
        self._feedback.questions = level.meaning
        self._on_made()
        await self._ledger.learn_by(level.meaning)
        await level.loaded()


def semantic_rules(config: Config) -> tuple[SemanticRules, ...]:
    """The rules of the default policy and of every route."""
    dynamic = config.dynamic
    return tuple(
        policy.semantic for policy in (dynamic.policy, *(r.policy for r in dynamic.routes))
    )
