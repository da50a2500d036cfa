"""Which answers are given most, and which questions are missed most (mission F3).

Bounded: when there are MAX_KEYS of a kind, the lesser half goes, so that there is always room for
what is new. What was not heard of lately counts half with each time that this happens.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from proxy.core.exchange import Exchange, Level

MAX_KEYS = 4096
"""Questions of either kind that are counted at once."""
MAX_CHARACTERS = 1024
"""Longer questions are counted without their text."""
_MODEL_CHARACTERS = 128


class By(StrEnum):
    """What is most: a member of Given."""

    HITS = "hits"
    SECONDS = "seconds"
    TOKENS = "tokens"


@dataclass(slots=True, eq=False)
class Given:
    """An answer that was given from the cache, since it is counted."""

    key: bytes
    """The exact key under which it is stored."""
    model: str
    tenant: str
    """The tenant's public name."""
    hits: int = 0
    seconds: float = 0.0
    """What the upstream would have taken for them."""
    tokens: int = 0
    """Completion tokens that the upstream did not have to make."""
    last: float = 0.0
    """Wall time in seconds."""
    levels: dict[Level, int] = field(default_factory=dict)
    """How many of the hits were of which kind."""
    idle: int = 0
    """How often others were thrown out since."""

    def amount(self, by: By) -> float:
        """How much it is by one measure."""
        amount: float = getattr(self, by)
        return amount


@dataclass(slots=True, eq=False)
class Missed:
    """A question for which nothing stored was served. All but the count is of the last time."""

    key: bytes
    """Its exact key."""
    model: str
    tenant: str
    count: int = 0
    last: float = 0.0
    """Wall time in seconds."""
    nearest: float | None = None
    """The similarity of the nearest entry that was looked at."""
    reason: str = ""
    """A MissReason; what was said where it was looked up by meaning; else "absent"."""
    guard: str = ""
    question: str = ""
    """Empty unless prompts are kept."""
    idle: int = 0


_C = TypeVar("_C", Given, Missed)


class Tally:
    """Counts finished exchanges."""

    def __init__(self, *, keep_prompts: bool) -> None:
        """`keep_prompts`: whether the text of questions that were missed may be kept."""
        self._keeps_prompts = keep_prompts
        self._given: _Bounded[Given] = _Bounded(_shares)
        self._missed: _Bounded[Missed] = _Bounded(_frequencies)

    @property
    def keeps_prompts(self) -> bool:
        """Whether the text of questions is kept. Once it is not, what was kept is gone."""
        return self._keeps_prompts

    @keeps_prompts.setter
    def keeps_prompts(self, wanted: bool) -> None:
        self._keeps_prompts = wanted
        if not wanted:
            for missed in self._missed.counts.values():
                missed.question = ""

    def note(self, exchange: Exchange) -> None:
        """Count an exchange that has ended."""
        if exchange.level is not None:
            if exchange.entry:
                self._note_hit(exchange, exchange.level)
        elif exchange.missed:
            self._note_miss(exchange)

    def top(self, by: By, limit: int) -> list[Given]:
        """The answers that are most by a measure."""
        counts = sorted(self._given.counts.values(), key=lambda given: -given.amount(by))
        return counts[:limit]

    def misses(self, limit: int) -> list[Missed]:
        """The questions that were missed most often; of equal ones the latest first."""
        counts = sorted(
            self._missed.counts.values(), key=lambda missed: (-missed.count, -missed.last)
        )
        return counts[:limit]

    def _note_hit(self, exchange: Exchange, level: Level) -> None:
        given = self._given.find(exchange.entry)
        if given is None:
            given = Given(exchange.entry, exchange.model[:_MODEL_CHARACTERS], exchange.tenant)
            self._given.add(given)
        given.hits += 1
        given.seconds += exchange.saved_seconds
        given.tokens += exchange.saved_tokens
        given.last = exchange.ended_at
        given.levels[level] = given.levels.get(level, 0) + 1

    def _note_miss(self, exchange: Exchange) -> None:
        missed = self._missed.find(exchange.missed)
        if missed is None:
            missed = Missed(exchange.missed, exchange.model[:_MODEL_CHARACTERS], exchange.tenant)
            self._missed.add(missed)
        missed.count += 1
        missed.last = exchange.ended_at
        missed.nearest = exchange.similarity
        missed.reason = exchange.detail or exchange.meaning or "absent"
        missed.guard = exchange.guard
        if self._keeps_prompts and len(exchange.question) <= MAX_CHARACTERS:
            missed.question = exchange.question


class _Bounded(Generic[_C]):
    """Counts by key, at most MAX_KEYS."""

    def __init__(self, weigh: Callable[[list[_C]], list[float]]) -> None:
        """`weigh` says what each of all counts weighs."""
        self.counts: dict[bytes, _C] = {}
        self._weigh: Callable[[list[_C]], list[float]] = weigh

    def find(self, key: bytes) -> _C | None:
        """The count of a key, which is heard of now."""
        count = self.counts.get(key)
        if count is not None:
            count.idle = 0
        return count

    def add(self, count: _C) -> None:
        """Begin to count."""
        if len(self.counts) >= MAX_KEYS:
            self._throw_out()
        self.counts[count.key] = count

    def _throw_out(self) -> None:
        counts = list(self.counts.values())
        weights = self._weigh(counts)
        # Of equal ones the latest stay.
        order = sorted(
            (-weight * 0.5**count.idle, -count.last, number)
            for number, (weight, count) in enumerate(zip(weights, counts, strict=True))
        )
        kept = [counts[number] for _, _, number in order[: MAX_KEYS // 2]]
        for count in kept:
            count.idle += 1
        self.counts = {count.key: count for count in kept}


def _shares(counts: list[Given]) -> list[float]:
    """Shares of all hits, seconds and tokens: who has much of one is worth a place."""
    hits = sum(given.hits for given in counts) or 1
    seconds = sum(given.seconds for given in counts) or 1.0
    tokens = sum(given.tokens for given in counts) or 1
    return [given.hits / hits + given.seconds / seconds + given.tokens / tokens for given in counts]


def _frequencies(counts: list[Missed]) -> list[float]:
    return [missed.count for missed in counts]
