import numpy as np
import pytest

from proxy.core.meaning.features import FEATURES, features
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.training import (
    ALIKE_FROM,
    RATES,
    Example,
    TooFewError,
    Trained,
    learned,
)
from proxy.core.meaning.verifier import Group

GROUP = Group("all-minilm-l6-v2", "en")


class NoYellow:
    """A guard that objects to a colour."""

    NAME = "yellow"

    def compare(self, pair: Pair) -> Objection | None:
        found = "yellow" in pair.asked.folded
        return Objection(self.NAME, "", "yellow") if found else None


def example(number: int, similarity: float, *, fits: bool, asked: str = "") -> Example:
    return Example(
        set="made",
        stored=f"How do I repair lamp number {number}?",
        asked=asked or f"How can I repair lamp number {number}?",
        fits=fits,
        similarity=similarity,
    )


def examples() -> list[Example]:
    """The nearer, the likelier it fits."""
    chance = np.random.default_rng(11)
    found = []
    for number in range(400):
        similarity = float(chance.uniform(0.8, 1.0))
        fits = bool(chance.random() < (similarity - 0.8) * 5)
        found.append(example(number, similarity, fits=fits))
    return found


def made(those: list[Example]) -> Trained:
    return learned(those, GROUP, guards=[NoYellow()], factors={}, max_error_rate=0.05)


def probability(trained: Trained, similarity: float) -> float:
    pair = Pair(Text("How do I repair lamp number 1?"), Text("How can I repair lamp number 1?"))
    return trained.weights.probability(features(pair, similarity))


def test_what_fits_more_often_when_nearer_is_learned() -> None:
    trained = made(examples())
    found = [probability(trained, similarity) for similarity in (0.82, 0.9, 0.98)]
    assert found == sorted(found)
    assert found[0] < 0.3 < 0.7 < found[2]


def test_pairs_in_which_nothing_differs_have_the_share_of_them_that_fits() -> None:
    those = examples()
    near = [one.fits for one in those if one.similarity >= ALIKE_FROM[GROUP.encoder]]
    assert made(those).weights.alike.probability == pytest.approx(sum(near) / len(near))
    apart = [
        one._replace(asked=f"How do I paint door {number}?") for number, one in enumerate(those)
    ]
    assert made(apart).weights.alike.probability == 0


def test_what_is_equal_is_served_held_out_too() -> None:
    equal = [
        example(500 + n, 1.0, fits=True, asked=f"how do I repair lamp number {500 + n}")._replace(
            set="equal"
        )
        for n in range(20)
    ]
    assert made([*examples(), *equal]).outcomes["equal"].wanted_served == 1


def test_thresholds_are_of_the_told_rates_and_monotone() -> None:
    table = made(examples()).weights.thresholds
    assert {rate for rate, _ in table} <= set(RATES)
    least = [value for _, value in table]
    assert least == sorted(least, reverse=True)


def test_what_the_guards_or_the_floor_stop_is_not_learned_from() -> None:
    plain = made(examples())
    stopped = [
        *(example(500 + n, 0.99, fits=False, asked=f"yellow {n}") for n in range(300)),
        *(example(900 + n, 0.5, fits=True) for n in range(300)),
    ]
    with_stopped = made([*examples(), *stopped])
    assert with_stopped.weights.weights == pytest.approx(plain.weights.weights)
    assert with_stopped.weights.bias == pytest.approx(plain.weights.bias)


def test_outcomes_count_what_the_guards_stop_as_not_served() -> None:
    stopped = [example(500 + n, 0.99, fits=False, asked=f"yellow {n}") for n in range(300)]
    few, many = made(examples()), made([*examples(), *stopped])
    assert many.outcomes["made"].traps == few.outcomes["made"].traps + 300
    assert many.outcomes["made"].traps_served * many.outcomes["made"].traps < 250
    assert 0 < few.outcomes["made"].wanted_served < 1


def test_a_set_of_one_label_has_an_outcome() -> None:
    more = [example(500 + n, 0.9, fits=False)._replace(set="traps only") for n in range(5)]
    outcome = made([*examples(), *more]).outcomes["traps only"]
    assert (outcome.wanted, outcome.wanted_served, outcome.traps) == (0, 0.0, 5)
    more = [example(500 + n, 0.9, fits=True)._replace(set="wanted only") for n in range(5)]
    outcome = made([*examples(), *more]).outcomes["wanted only"]
    assert (outcome.traps, outcome.traps_served, outcome.wanted) == (0, 0.0, 5)


def test_training_is_deterministic() -> None:
    first, second = made(examples()), made(examples())
    assert first.weights.weights.tolist() == second.weights.weights.tolist()
    assert first.weights.thresholds == second.weights.thresholds


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(TooFewError, match="fewer than 20 pairs"):
        made([example(n, 0.9, fits=True) for n in range(100)])


def test_an_encoder_and_language_that_nobody_tuned_can_be_trained() -> None:
    trained = learned(
        examples(), Group("own", "xx"), guards=[], factors={"made": 2.0}, max_error_rate=0.05
    )
    assert len(trained.weights.weights) == len(FEATURES)
