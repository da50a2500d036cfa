"""The verifier: the probability that a stored answer serves the question that is asked.

A logistic regression over the features of the pair (`features.py`), one set of weights for each
encoder and language. It lives in a small file of JSON, which also carries how sure it has to be
for a given error rate, and a card that says what it was made from.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from proxy.core.meaning.features import FEATURES, features, nothing_differs
from proxy.core.meaning.text import Pair

FORMAT = "reprise-verifier"
VERSION = 1
SHIPPED = "verifier.json"
_NEVER = 1.0
"""A threshold that no probability reaches."""
_RETRAIN = "make it again with `reprise train`, or leave `semantic.verifier` out to use the shipped"


class VerifierError(Exception):
    """A verifier file that cannot be used; the message names it and says what to do."""


class Group(NamedTuple):
    """Texts that are judged by one set of weights."""

    encoder: str
    language: str


class Alike(NamedTuple):
    """What is known of pairs in which nothing differs when wording is set aside."""

    similarity: float
    """From here on."""
    probability: float
    """The share of them that fits: what each of them has at the least."""


_NOT_KNOWN = Alike(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Weights:
    """What has been learned for one group."""

    bias: float
    weights: NDArray[np.float64]
    """One for each feature, in the order of `FEATURES`; features come in as they are."""
    floor: float
    """The similarity below which nothing is served."""
    thresholds: tuple[tuple[float, float], ...]
    """Pairs of error rate and probability to reach; rates rise, probabilities do not."""
    alike: Alike = _NOT_KNOWN

    def judge(self, pair: Pair, similarity: float) -> float:
        """The probability that the stored answer serves, between 0 and 1."""
        probability = self.probability(features(pair, similarity))
        if similarity >= self.alike.similarity and nothing_differs(pair):
            return max(probability, self.alike.probability)
        return probability

    def probability(self, values: NDArray[np.float64]) -> float:
        """What the values of `FEATURES` alone say, between 0 and 1."""
        score = float(self.weights @ values) + self.bias
        # A lone exp of a large number overflows; the two halves are the same function.
        if score >= 0:
            return 1.0 / (1.0 + math.exp(-score))
        return math.exp(score) / (1.0 + math.exp(score))

    def threshold(self, max_error_rate: float) -> float:
        """The probability to reach; 1.0, which none does, for a rate below what was measured."""
        within = [least for rate, least in self.thresholds if rate <= max_error_rate]
        return within[-1] if within else _NEVER


@dataclass(frozen=True, slots=True)
class Verifier:
    """The groups that were trained, and the card."""

    groups: Mapping[Group, Weights]
    card: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """The file's content; the same for the same verifier."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "card": dict(self.card),
            "features": list(FEATURES),
            "groups": [
                {
                    **group._asdict(),
                    "floor": weights.floor,
                    "thresholds": [list(pair) for pair in weights.thresholds],
                    "alike": weights.alike._asdict(),
                    "bias": weights.bias,
                    "weights": weights.weights.tolist(),
                }
                for group, weights in sorted(self.groups.items())
            ],
        }
        return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def shipped() -> Verifier:
    """The verifier that comes with the proxy."""
    file = resources.files(__package__).joinpath(SHIPPED)
    return read(file.read_bytes(), name=f"the shipped {SHIPPED}")


def read(content: bytes, name: str) -> Verifier:
    """Read a verifier file; raises VerifierError, whose message begins with `name`."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise VerifierError(f"{name} is not JSON: {error}; {_RETRAIN}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise VerifierError(f"{name} is not a verifier file; {_RETRAIN}")
    if document.get("version") != VERSION:
        found = document.get("version")
        raise VerifierError(f"{name} has version {found!r}, this proxy reads {VERSION}; {_RETRAIN}")
    if document.get("features") != list(FEATURES):
        raise VerifierError(f"{name} was trained on other features than these; {_RETRAIN}")
    try:
        groups = dict(_group(entry) for entry in document["groups"])
        card = dict(document["card"])
    except (KeyError, TypeError, ValueError) as error:
        raise VerifierError(f"{name} is damaged: {error}; {_RETRAIN}") from error
    return Verifier(groups, card)


def _group(entry: Mapping[str, Any]) -> tuple[Group, Weights]:
    weights = np.array(entry["weights"], dtype=np.float64)
    thresholds = tuple((float(rate), float(least)) for rate, least in entry["thresholds"])
    bias, floor = float(entry["bias"]), float(entry["floor"])
    alike = Alike(float(entry["alike"]["similarity"]), float(entry["alike"]["probability"]))
    if weights.shape != (len(FEATURES),):
        raise ValueError(f"{len(weights)} weights for {len(FEATURES)} features")
    if not np.isfinite([*weights, bias, floor, *alike]).all():
        raise ValueError("a number in it is not finite")
    if not _is_monotone(thresholds):
        raise ValueError("a larger error rate asks for a larger probability")
    group = Group(str(entry["encoder"]), str(entry["language"]))
    return group, Weights(bias, weights, floor, thresholds, alike)


def _is_monotone(thresholds: Sequence[tuple[float, float]]) -> bool:
    rates = [rate for rate, _ in thresholds]
    least = [value for _, value in thresholds]
    return (
        all(0.0 <= value <= 1.0 for value in (*rates, *least))
        and rates == sorted(set(rates))
        and least == sorted(least, reverse=True)
    )
