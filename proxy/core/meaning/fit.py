"""Fits the verifier: regularised logistic regression, and the thresholds that keep an error rate.

Everything is deterministic. What is measured is measured on questions that the weights did not
see: pairs that share a question, directly or through others, stay in one fold.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

FOLDS = 5
_STEPS = 50
_CLOSE_ENOUGH = 1e-9
_MAX_SCORE = 30.0


class Fitted(NamedTuple):
    """A logistic function of the features as they come."""

    bias: float
    weights: Vector

    def probabilities(self, x: Vector) -> Vector:
        """One for each row of `x`."""
        return _sigmoid(x @ self.weights + self.bias)


class Sample(NamedTuple):
    """Pairs to learn from, one for each row."""

    x: Vector
    """Features; rows are pairs."""
    y: Vector
    """1 where one answer serves both questions, else 0."""
    weight: Vector
    """How much each pair counts; 0 for one that is judged but not learned from."""
    fold: NDArray[np.int64]
    """Which fold it is held out in."""


def fit(x: Vector, y: Vector, weight: Vector, penalty: Vector) -> Fitted:
    """Minimise the weighted log loss plus half of `penalty` times the squares of the weights.

    Newton's method on standardised features; the bias is free. `weight` counts pairs, `penalty`
    has one value for each feature.
    """
    mean = np.average(x, axis=0, weights=weight)
    scale = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    scale[scale < _CLOSE_ENOUGH] = 1.0  # a feature that never changes
    design = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    penalty = np.append(penalty, _CLOSE_ENOUGH)
    found = np.zeros(design.shape[1])
    moved, left = np.inf, _STEPS
    while moved > _CLOSE_ENOUGH and left:
        p = _sigmoid(design @ found)
        gradient = design.T @ (weight * (p - y)) + penalty * found
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        moved = np.abs(step).max()
        # Newton may leap where the classes are nearly apart.
        found = found - step * min(1.0, 5.0 / (moved + _CLOSE_ENOUGH))
        left -= 1
    weights = found[:-1] / scale
    return Fitted(float(found[-1] - weights @ mean), weights)


def held_out(sample: Sample, penalty: Vector) -> Vector:
    """The probability of each pair under weights that have not seen its fold."""
    probabilities = np.zeros(len(sample.y))
    for fold in np.unique(sample.fold):
        out = sample.fold == fold
        seen = ~out
        fitted = fit(sample.x[seen], sample.y[seen], sample.weight[seen], penalty)
        probabilities[out] = fitted.probabilities(sample.x[out])
    return probabilities


def folds(pairs: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
    """A fold for each pair of questions; pairs that are joined by shared questions get the same."""
    parent: dict[str, str] = {}

    def root(question: str) -> str:
        while (above := parent.setdefault(question, question)) != question:
            parent[question] = question = parent[above]
        return question

    for first, second in pairs:
        parent[root(first)] = root(second)
    smallest: dict[str, str] = {}
    for question in parent:
        top = root(question)
        smallest[top] = min(smallest.get(top, question), question)
    return np.array([_fold(smallest[root(first)]) for first, _ in pairs], dtype=np.int64)


def set_weights(
    sets: Sequence[str], learned: NDArray[np.bool_], factors: Mapping[str, float]
) -> Vector:
    """The weight of each pair: a set counts by the root of its size times its factor.

    Large sets of everyday questions would else drown the small ones that are made to deceive.
    Pairs that are not `learned` weigh nothing; the mean of the others is 1.
    """
    sizes = Counter(name for name, used in zip(sets, learned, strict=True) if used)
    raw = np.array([factors.get(name, 1.0) / max(1, sizes[name]) ** 0.5 for name in sets]) * learned
    weight: Vector = raw / raw[learned].mean()
    return weight


class Served(NamedTuple):
    """What a threshold lets through, as shares from 0 to 1."""

    wanted: float
    traps: float


def served(probabilities: Vector, y: Vector, weight: Vector, least: float) -> Served:
    """The shares of wanted pairs and of traps whose probability reaches `least`."""
    through = weight * (probabilities >= least)
    return Served(
        float((through * y).sum() / (weight * y).sum()),
        float((through * (1 - y)).sum() / (weight * (1 - y)).sum()),
    )


def error_rate(found: Served, traps_per_wanted: float) -> float:
    """The share of wrong answers among the served at a mix of near candidates."""
    wrong = found.traps * traps_per_wanted
    return wrong / (wrong + found.wanted) if wrong else 0.0


def thresholds(
    probabilities: Vector,
    y: Vector,
    weight: Vector,
    rates: Sequence[float],
    *,
    traps_per_wanted: float,
) -> tuple[tuple[float, float], ...]:
    """The least probability that keeps each error rate, from pairs that were held out.

    `probabilities` of pairs that were refused before the verifier are negative. A rate so small
    that no trap is served at it cannot be told from none and is left out.
    """
    measured = []
    for least in np.unique(probabilities[probabilities >= 0]).tolist():
        through = served(probabilities, y, weight, least)
        measured.append((least, error_rate(through, traps_per_wanted), through.traps))
    found: list[tuple[float, float]] = []
    for allowed in rates:
        within = [(least, traps) for least, rate, traps in measured if rate <= allowed]
        if within and within[0][1] > 0:
            found.append((allowed, within[0][0]))
    return tuple(found)


def _fold(question: str) -> int:
    digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()
    return digest[0] % FOLDS


def _sigmoid(score: Vector) -> Vector:
    result: Vector = 1.0 / (1.0 + np.exp(-np.clip(score, -_MAX_SCORE, _MAX_SCORE)))
    return result
