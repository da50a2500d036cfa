import numpy as np
import pytest

from proxy.core.meaning.fit import (
    FOLDS,
    Sample,
    Served,
    Vector,
    error_rate,
    fit,
    folds,
    held_out,
    served,
    set_weights,
    thresholds,
)

TRUE = np.array([1.5, -2.0, 0.0])


def sample(rows: int = 4000) -> Sample:
    chance = np.random.default_rng(7)
    x = chance.normal(size=(rows, 3)) * [1.0, 3.0, 0.1] + [0.0, 5.0, 1.0]
    p = 1 / (1 + np.exp(-(x @ TRUE + 9.0)))
    y = (chance.random(rows) < p).astype(np.float64)
    return Sample(x, y, np.ones(rows), np.arange(rows) % FOLDS)


def each(penalty: float, count: int = 3) -> Vector:
    return np.full(count, penalty)


def test_fit_recovers_the_weights_that_made_the_labels() -> None:
    x, y, weight, _ = sample()
    found = fit(x, y, weight, each(1e-3))
    assert found.weights[:2] == pytest.approx(TRUE[:2], rel=0.15)
    assert found.bias == pytest.approx(9.0, abs=1.0)


def test_fit_counts_a_pair_of_double_weight_twice() -> None:
    x, y, weight, _ = sample(200)
    doubled = weight.copy()
    doubled[:50] = 2.0
    twice = np.concatenate([np.arange(200), np.arange(50)])
    by_weight = fit(x, y, doubled, each(0.0))
    by_row = fit(x[twice], y[twice], np.ones(250), each(0.0))
    assert by_weight.weights == pytest.approx(by_row.weights, rel=1e-4)


def test_fit_of_separable_pairs_stays_finite() -> None:
    x = np.linspace(-1, 1, 40)[:, None]
    found = fit(x, (x[:, 0] > 0).astype(np.float64), np.ones(40), each(0.1, 1))
    assert np.isfinite(found.weights).all()
    assert found.weights[0] > 1


def test_fit_gives_a_constant_feature_no_weight() -> None:
    x, y, weight, _ = sample(300)
    found = fit(np.hstack([x, np.full((300, 1), 4.0)]), y, weight, each(1.0, 4))
    assert found.weights[-1] == pytest.approx(0.0, abs=1e-9)


def test_fit_holds_a_feature_with_a_heavy_penalty_small() -> None:
    x, y, weight, _ = sample(1000)
    found = fit(x, y, weight, np.array([1e6, 1.0, 1.0]))
    assert abs(found.weights[0]) < 0.01 < abs(found.weights[1])


def test_fit_is_deterministic() -> None:
    x, y, weight, _ = sample(500)
    first, second = (fit(x, y, weight, each(1.0)) for _ in range(2))
    assert first.weights.tolist() == second.weights.tolist()


def test_held_out_probability_comes_from_weights_that_did_not_see_the_pair() -> None:
    chance = np.random.default_rng(3)
    # Noise: who has seen a label can tell it, who has not cannot.
    x, y = chance.normal(size=(60, 40)), (chance.random(60) < 0.5).astype(np.float64)
    data = Sample(x, y, np.ones(60), np.arange(60) % FOLDS)
    seen = fit(x, y, data.weight, each(0.01, 40)).probabilities(x)
    unseen = held_out(data, each(0.01, 40))
    assert ((seen > 0.5) == (y > 0.5)).mean() > 0.95
    assert ((unseen > 0.5) == (y > 0.5)).mean() < 0.75


def test_pairs_joined_by_a_question_share_a_fold() -> None:
    found = folds([("a", "b"), ("c", "d"), ("b", "c"), *((f"{n}", f"x{n}") for n in range(50))])
    assert len(set(found[:3].tolist())) == 1
    assert set(found.tolist()) == set(range(FOLDS))


def test_folds_do_not_depend_on_the_order_of_the_pairs() -> None:
    pairs = [("a", "b"), ("c", "d"), ("b", "c"), ("e", "f")]
    assert folds(pairs).tolist() == folds(pairs[::-1])[::-1].tolist()


def test_folds_take_any_text() -> None:
    assert len(folds([("\ud800", ""), ("", "b")])) == 2


def test_a_set_counts_by_the_root_of_its_size_times_its_factor() -> None:
    sets = ["small"] * 4 + ["large"] * 400
    weight = set_weights(sets, np.ones(404, dtype=np.bool_), {"small": 3.0})
    assert weight.mean() == pytest.approx(1.0)
    assert weight[4:].sum() == pytest.approx(weight[:4].sum() * 10 / 3)


def test_a_pair_that_is_not_learned_from_weighs_nothing() -> None:
    weight = set_weights(["a"] * 3 + ["b"], np.array([True, False, True, True]), {})
    assert weight[1] == 0
    assert weight[weight > 0].mean() == pytest.approx(1.0)


def test_served_shares_count_by_weight() -> None:
    p, y = np.array([0.9, 0.2, 0.8, -1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    assert served(p, y, np.array([3.0, 1.0, 1.0, 1.0]), 0.5) == Served(0.75, 0.5)


def test_error_rate_is_the_share_of_wrong_answers_at_the_mix() -> None:
    assert error_rate(Served(wanted=0.4, traps=0.1), 0.5) == pytest.approx(0.05 / 0.45)
    assert error_rate(Served(wanted=0.0, traps=0.0), 0.5) == 0.0


def test_threshold_is_the_least_probability_that_keeps_the_rate() -> None:
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.5, -1.0])
    y = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    found = dict(thresholds(p, y, np.ones(6), (0.01, 0.25, 0.9), traps_per_wanted=1.0))
    # From 0.6 up all wanted and a third of the traps are served: a quarter of the served is wrong.
    assert found == {0.25: 0.6, 0.9: 0.5}


def test_tied_probabilities_are_served_together() -> None:
    p, y = np.array([0.9, 0.8, 0.8, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])
    found = dict(thresholds(p, y, np.ones(4), (0.1, 0.4), traps_per_wanted=1.0))
    assert found == {0.4: 0.8}


def test_thresholds_fall_as_the_rate_grows() -> None:
    chance = np.random.default_rng(5)
    p = chance.random(500)
    y = (chance.random(500) < p).astype(np.float64)
    found = thresholds(p, y, np.ones(500), (0.01, 0.05, 0.1, 0.2, 0.5), traps_per_wanted=1.0)
    least = [value for _, value in found]
    assert least == sorted(least, reverse=True)
