"""Makes a verifier from labelled pairs: what is learned for one group, and how well it does.

The gate's own order is kept: a pair that a guard refuses, or that is not near, never reaches the
verifier, so nothing is learned from it; but it counts where the outcome is measured.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxy.core.meaning.features import FEATURES, features, nothing_differs
from proxy.core.meaning.fit import (
    Sample,
    Vector,
    fit,
    folds,
    held_out,
    set_weights,
    thresholds,
)
from proxy.core.meaning.gate import Guard, says_the_same
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.verifier import Alike, Group, Weights

RATES = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.05, 0.1)
"""The error rates for which a threshold is kept."""
TRAPS_PER_WANTED = 1 / 7
"""The mix that an error rate speaks of: one near miss for seven questions that fit."""
FLOORS = {"all-minilm-l6-v2": 0.7, "multilingual-e5-small": 0.9}
"""The similarity below which an encoder's nearness says nothing."""
_OTHER_FLOOR = 0.8
ALIKE_FROM = {"all-minilm-l6-v2": 0.85, "multilingual-e5-small": 0.98}
"""The similarity from which on it counts that nothing differs but the wording."""
_OTHER_ALIKE_FROM = 0.9
_LIGHT = 5.0
_PENALTY = 10.0
"""On all features but similarity."""
_NEVER = 1e9
_FREE = frozenset({"similarity", "nearness"})
_LEFT_OUT = {
    "en": frozenset(
        {
            "word containment",
            "other persons",
            "edits",
            "several things replaced",
            "replaced by kin",
            "kin of the replaced",
        }
    ),
    "zh": frozenset(
        {
            "begins alike",
            "asks otherwise",
            "asks otherwise, though near",
            "slips",
            "only spelt otherwise",
            "one thing added, though near",
            "first thing replaced",
            "one thing replaced, others reworded",
            "one thing replaced by two",
            "moved in a long text",
        }
    ),
}
"""Features that held-out pairs of a language were judged no better with."""
_FEWEST = 20
"""Pairs of each label that a group needs."""


class Example(NamedTuple):
    """A labelled pair: does the answer to `stored` serve `asked`?"""

    set: str
    """The name of the set that it comes from."""
    stored: str
    asked: str
    fits: bool
    similarity: float


class Outcome(NamedTuple):
    """How a set fares at the default error rate; held out."""

    wanted: int
    wanted_served: float
    traps: int
    traps_served: float


class Trained(NamedTuple):
    """What was learned for a group."""

    weights: Weights
    outcomes: Mapping[str, Outcome]


class TooFewError(Exception):
    """There are not enough pairs that reach the verifier."""


def learned(
    examples: Sequence[Example],
    group: Group,
    *,
    guards: Sequence[Guard],
    factors: Mapping[str, float],
    max_error_rate: float,
) -> Trained:
    """Learn the weights and thresholds of one group. Deterministic; raises TooFewError.

    `factors` say how much more than others a set counts.
    """
    floor = FLOORS.get(group.encoder, _OTHER_FLOOR)
    pairs = [Pair(Text(example.stored), Text(example.asked)) for example in examples]
    x = np.array(
        [features(pair, one.similarity) for pair, one in zip(pairs, examples, strict=True)]
    )
    y = np.array([float(example.fits) for example in examples])
    reached = np.array(
        [
            one.similarity >= floor and all(guard.compare(pair) is None for guard in guards)
            for pair, one in zip(pairs, examples, strict=True)
        ]
    )
    if min((reached & (y == label)).sum() for label in (0.0, 1.0)) < _FEWEST:
        raise TooFewError(f"fewer than {_FEWEST} pairs of either label pass similarity and guards")
    sets = [example.set for example in examples]
    sample = Sample(
        x,
        y,
        set_weights(sets, reached, factors),
        folds([(example.stored, example.asked) for example in examples]),
    )
    # What counts more where it is learned does not count more where it is measured.
    at_most = {name: min(1.0, factor) for name, factor in factors.items()}
    measured_by = set_weights(sets, np.ones(len(y), dtype=np.bool_), at_most)
    penalties = _penalties(group.language)
    probabilities = np.where(reached, held_out(sample, penalties), -1.0)
    similarity = np.array([one.similarity for one in examples])
    from_here = ALIKE_FROM.get(group.encoder, _OTHER_ALIKE_FROM)
    alike = reached & (similarity >= from_here) & [nothing_differs(pair) for pair in pairs]
    share = _share(alike, y, measured_by)
    probabilities[alike] = np.maximum(probabilities[alike], share)
    # The gate serves these whatever the verifier says.
    probabilities[reached & [says_the_same(pair) for pair in pairs]] = 1.0
    fitted = fit(x[reached], y[reached], sample.weight[reached], penalties)
    table = thresholds(probabilities, y, measured_by, RATES, traps_per_wanted=TRAPS_PER_WANTED)
    weights = Weights(fitted.bias, fitted.weights, floor, table, Alike(from_here, share))
    least = weights.threshold(max_error_rate)
    return Trained(weights, _outcomes(sets, probabilities, y, least))


def _share(those: NDArray[np.bool_], y: Vector, weight: Vector) -> float:
    """The share of those pairs that fits; 0 where there are too few to tell."""
    if those.sum() < _FEWEST:
        return 0.0
    return float(np.average(y[those], weights=weight[those]))


def _penalties(language: str) -> Vector:
    out = _LEFT_OUT.get(language, frozenset())
    return np.array(
        [_LIGHT if name in _FREE else _NEVER if name in out else _PENALTY for name in FEATURES]
    )


def _outcomes(
    sets: Sequence[str], probabilities: Vector, y: Vector, least: float
) -> dict[str, Outcome]:
    found = {}
    names = np.array(sets)
    for name in sorted(set(sets)):
        inside = names == name
        through = probabilities[inside] >= least
        fits = y[inside] > 0
        found[name] = Outcome(
            int(fits.sum()),
            float(through[fits].mean()) if fits.any() else 0.0,
            int((~fits).sum()),
            float(through[~fits].mean()) if not fits.all() else 0.0,
        )
    return found
