"""What operators are told of questions: which answers are given most, which are missed, and why.

The text of questions is told only while `privacy.keep_prompts` is on.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from proxy.admin.account import account
from proxy.core.cache.freshness import age
from proxy.core.model import Request
from proxy.core.policy import Rules
from proxy.pipeline.explain import Explainer
from proxy.pipeline.purge import AT_ONCE
from proxy.ports import Clock, Store
from proxy.telemetry.tally import By, Given, Missed, Tally

if TYPE_CHECKING:  # it brings numpy, which a proxy that does not compare does without
    from proxy.pipeline.meaning import Meaning

Json: TypeAlias = dict[str, Any]

MAX_GROUPED = 200
"""Misses that are compared with each other: each costs a forward pass of its encoder."""
_SHOWN_BYTES = 10
"""Of each key; as many as x-cache-entry tells."""


class Questions:
    """Answers the operator's questions about questions."""

    def __init__(
        self,
        *,
        tally: Tally,
        store: Store,
        explainer: Explainer,
        clock: Clock,
        rules: Callable[[], Rules],
        meaning: "Callable[[], Meaning | None]",
        settle: Callable[[], None],
    ) -> None:
        """`rules` are those in force; `settle` lets what has happened be stored and counted."""
        self._tally = tally
        self._store = store
        self._explainer = explainer
        self._clock = clock
        self._rules = rules
        self._meaning = meaning
        self._settle = settle

    def top(self, by: By, limit: int) -> Json:
        """The answers that are given most."""
        self._settle()
        return {"by": by, "entries": [self._given(one) for one in self._tally.top(by, limit)]}

    async def misses(self, limit: int) -> Json:
        """The questions that are missed most, and those of them that mean the same."""
        self._settle()
        misses = [self._missed(one) for one in self._tally.misses(limit)]
        kept = self._tally.keeps_prompts
        return {"keep_prompts": kept, "misses": misses, "groups": await self._groups()}

    async def models(self) -> Json:
        """The models whose answers are stored, those with the most first."""
        self._settle()
        counts: Counter[str] = Counter()
        for number, stored in enumerate(self._store.scan()):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            counts[stored.model] += 1
        return {"models": [{"model": model, "entries": n} for model, n in counts.most_common()]}

    async def explain(self, request: Request) -> Json:
        """What would happen to a client's request, and why."""
        self._settle()
        explained = await self._explainer.explain(request, self._rules())
        return account(
            explained,
            self._clock.now(),
            questions=self._question,
            tells_content=self._tally.keeps_prompts,
        )

    def _given(self, given: Given) -> Json:
        told: Json = {
            "entry": None,
            "key": given.key[:_SHOWN_BYTES].hex(),
            "model": given.model,
            "tenant": given.tenant,
            "hits": given.hits,
            "levels": {level.value: count for level, count in given.levels.items()},
            "saved_seconds": round(given.seconds, 3),
            "saved_tokens": given.tokens,
            "last": given.last,
            "age": None,
            "ttl": None,
        }
        stored = self._store.peek(given.key)
        if stored is not None:
            passed = age(stored, self._clock.now())
            told |= {"entry": stored.id, "age": int(passed), "ttl": int(stored.ttl - passed)}
        question = self._question(given.key)
        return told if question is None else {**told, "question": question}

    def _missed(self, missed: Missed) -> Json:
        told: Json = {
            "key": missed.key[:_SHOWN_BYTES].hex(),
            "model": missed.model,
            "tenant": missed.tenant,
            "count": missed.count,
            "last": missed.last,
            "nearest": None if missed.nearest is None else round(missed.nearest, 4),
            "reason": missed.reason,
            "guard": missed.guard,
        }
        return {**told, "question": missed.question} if missed.question else told

    async def _groups(self) -> list[Json]:
        meaning = self._meaning()
        misses = [one for one in self._tally.misses(MAX_GROUPED) if one.question]
        if meaning is None or not misses:
            return []
        texts = [missed.question for missed in misses]
        found = await meaning.same(texts, self._rules().default.semantic)
        if not self._tally.keeps_prompts:  # a reload has taken the texts back meanwhile
            return []
        groups = [
            {
                "count": sum(misses[position].count for position in positions),
                "tenants": len({misses[position].tenant for position in positions}),
                "questions": [texts[position] for position in positions],
            }
            for positions in found
        ]
        return sorted(groups, key=lambda group: -group["count"])

    def _question(self, key: bytes) -> str | None:
        meaning = self._meaning()
        return meaning.question(key) if meaning and self._tally.keeps_prompts else None
