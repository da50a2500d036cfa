"""The gate: whether the answer of a near question may be served for the one that is asked.

In this order, the first that says no decides:

    similarity    below the floor of the encoder, or below what configuration or client ask for
    guards        what differs between the questions changes the answer (`guards/`)
    verifier      the probability that the answer serves is below the calibrated threshold

An encoder that the verifier was not trained for has no thresholds to go by. There a candidate
serves only if nobody objects and it either says the same but for case and closing signs or is as
near as a configured similarity asks for.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from proxy.core.meaning import guards
from proxy.core.meaning.features import features, language_of
from proxy.core.meaning.lexicon import read_all
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.verifier import Group, Verifier, Weights

_CLOSING = frozenset(".?!;,~\u3002\u2026")
"""Signs at the end that say nothing, as NFKC leaves them."""
_SAMPLES = (
    ("How do I boil 2 eggs in `pot` by 8 am?", "How can I not cook 3 eggs in 'pan' v1.2 today?"),
    ("怎么煮 2 个鸡蛋", "今天为什么不煮三个鸡蛋"),
)
"""Pairs that differ in much, in each language that the guards know."""


_LATE = frozenset(
    {"antonyms", "aspect", "direction", "markers", "modality", "roles", "scope", "substitution"}
)
"""Guards that need the two questions aligned, which costs more than all others together."""


class Guard(Protocol):
    """A module in `guards/`: one way in which questions that look alike differ."""

    @property
    def NAME(self) -> str:  # noqa: N802 -- a constant of the module
        """How explanations and metrics call it."""

    def compare(self, pair: Pair) -> Objection | None:
        """Say what differs so that the stored answer does not serve; None where nothing does."""


class Candidate(NamedTuple):
    """A stored answer whose question is near."""

    key: bytes
    """The exact key of the stored answer."""
    similarity: float
    """The cosine under the encoder that serves this text; larger is nearer."""
    text: Text
    """Its question."""


class Reason(StrEnum):
    """What kept a candidate from being served."""

    NONE = ""
    """Nothing did: it may be served."""
    SIMILARITY = "similarity"
    GUARD = "guard"
    VERIFIER = "verifier"


class Finding(NamedTuple):
    """What the gate says of one candidate."""

    candidate: Candidate
    objections: tuple[Objection, ...]
    """The first only when serving; all of them when explaining."""
    probability: float | None
    """The verifier's; None where it was not asked or does not know the encoder."""
    threshold: float
    """What the probability has to reach; for an encoder unknown to the verifier, the similarity."""
    reason: Reason

    @property
    def may_serve(self) -> bool:
        """Whether the stored answer serves."""
        return self.reason is Reason.NONE


class Gate:
    """Judges candidates. Holds nothing that changes; may be used from many threads."""

    def __init__(self, verifier: Verifier) -> None:
        """Imports the guards, reads all word lists and judges once, so it blocks.

        Whoever judges afterwards waits for no file.
        """
        self._verifier = verifier
        self._guards = discover()
        for package in (__package__, guards.__name__):
            read_all(package)
        for stored, asked in _SAMPLES:
            pair = Pair(Text(stored), Text(asked))
            features(pair, 1.0)
            tuple(self._objections(pair))

    def judge(
        self,
        asked: Text,
        candidates: Sequence[Candidate],
        *,
        encoder: str,
        min_similarity: float,
        max_error_rate: float,
    ) -> tuple[Finding, ...]:
        """Judge candidates in their order, nearest first, up to the first that may serve.

        `encoder` is the model's name. `min_similarity` only tightens; 0 asks for nothing more.
        `max_error_rate` chooses the threshold (docs/quality.md says what the rate means).
        """
        bar = self._bar(asked, encoder, min_similarity, max_error_rate)
        found = []
        for candidate in candidates:
            finding = self._finding(asked, candidate, bar)
            found.append(finding)
            if finding.may_serve:
                break
        return tuple(found)

    def explain(
        self,
        asked: Text,
        candidates: Sequence[Candidate],
        *,
        encoder: str,
        min_similarity: float,
        max_error_rate: float,
    ) -> tuple[Finding, ...]:
        """Judge all candidates, with every objection and the probability of each."""
        bar = self._bar(asked, encoder, min_similarity, max_error_rate)
        return tuple(self._explanation(asked, candidate, bar) for candidate in candidates)

    def floor(self, encoder: str, language: str) -> float:
        """The similarity below which nothing can serve; 0 for an encoder nobody trained for."""
        weights = self._verifier.groups.get(Group(encoder, language))
        return weights.floor if weights else 0.0

    def _bar(
        self, asked: Text, encoder: str, min_similarity: float, max_error_rate: float
    ) -> "_Bar":
        weights = self._verifier.groups.get(Group(encoder, language_of(asked)))
        if weights is None:
            return _Bar(None, min_similarity, min_similarity if min_similarity > 0 else 1.0)
        least = max(weights.floor, min_similarity)
        return _Bar(weights, least, weights.threshold(max_error_rate))

    def _finding(self, asked: Text, candidate: Candidate, bar: "_Bar") -> Finding:
        # Not `<`: a similarity that is not a number reaches nothing.
        if not candidate.similarity >= bar.similarity:
            return Finding(candidate, (), None, bar.threshold, Reason.SIMILARITY)
        pair = Pair(candidate.text, asked)
        objection = next(self._objections(pair), None)
        if objection is not None:
            return Finding(candidate, (objection,), None, bar.threshold, Reason.GUARD)
        probability, convinces = _verify(pair, candidate.similarity, bar)
        reason = Reason.NONE if convinces else Reason.VERIFIER
        return Finding(candidate, (), probability, bar.threshold, reason)

    def _explanation(self, asked: Text, candidate: Candidate, bar: "_Bar") -> Finding:
        pair = Pair(candidate.text, asked)
        objections = tuple(self._objections(pair))
        probability, _ = _verify(pair, candidate.similarity, bar)
        reason = self._finding(asked, candidate, bar).reason
        return Finding(candidate, objections, probability, bar.threshold, reason)

    def _objections(self, pair: Pair) -> Iterator[Objection]:
        for guard in self._guards:
            objection = guard.compare(pair)
            if objection is not None:
                yield objection


class _Bar(NamedTuple):
    """What a candidate has to reach for the question at hand."""

    weights: Weights | None
    similarity: float
    threshold: float


def _verify(pair: Pair, similarity: float, bar: _Bar) -> tuple[float | None, bool]:
    if bar.weights is None:
        return None, similarity >= bar.threshold or says_the_same(pair)
    probability = bar.weights.judge(pair, similarity)
    return probability, probability >= bar.threshold or says_the_same(pair)


def says_the_same(pair: Pair) -> bool:
    """Whether the texts are equal but for case, blanks and signs at the end."""
    return pair.stored.fact(_bare) == pair.asked.fact(_bare)


def _bare(text: Text) -> tuple[str, ...]:
    norms = [token.norm for token in text.tokens]
    while norms and norms[-1] in _CLOSING:
        norms.pop()
    return tuple(norms)


def discover() -> tuple[Guard, ...]:
    """Every guard, the cheap ones first: each module in `guards/` that has a NAME."""
    modules = (
        importlib.import_module(f"{guards.__name__}.{module.name}")
        for module in pkgutil.iter_modules(guards.__path__)
    )
    found: list[Guard] = [module for module in modules if hasattr(module, "NAME")]
    return tuple(sorted(found, key=lambda guard: (guard.NAME in _LATE, guard.NAME)))
