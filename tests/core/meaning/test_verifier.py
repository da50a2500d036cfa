import math
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pytest

from proxy.core.meaning.features import FEATURES
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.verifier import (
    Alike,
    Group,
    Verifier,
    VerifierError,
    Weights,
    read,
    shipped,
)

THRESHOLDS = ((0.005, 0.95), (0.01, 0.9), (0.05, 0.7))


def weights(bias: float = 0.0, **of: float) -> Weights:
    values = [of.get(name, 0.0) for name in FEATURES]
    return Weights(bias, np.array(values), floor=0.8, thresholds=THRESHOLDS)


def verifier() -> Verifier:
    group = Group("all-minilm-l6-v2", "en")
    return Verifier({group: weights(bias=-1.0, similarity=2.0)}, {"made": "2026-01-01"})


def test_probability_is_the_logistic_of_the_weighted_features() -> None:
    x = np.zeros(len(FEATURES))
    x[FEATURES.index("similarity")] = 0.9
    assert weights(bias=-1.0, similarity=2.0).probability(x) == pytest.approx(
        1 / (1 + math.exp(-0.8))
    )


@pytest.mark.parametrize(
    ("asked", "similarity", "expected"),
    [
        ("How can I dry a carpet?", 0.9, 0.8),
        ("How can I dry a carpet?", 0.89, 0.5),
        ("How can I dry a jacket?", 0.9, 0.5),
    ],
)
def test_a_pair_in_which_nothing_differs_has_at_least_the_share_of_such_pairs(
    asked: str, similarity: float, expected: float
) -> None:
    alike = Weights(0.0, np.zeros(len(FEATURES)), 0.8, THRESHOLDS, Alike(0.9, 0.8))
    found = alike.judge(Pair(Text("How do I dry a carpet?"), Text(asked)), similarity)
    assert found == pytest.approx(expected)


def test_nothing_is_taken_off_where_the_features_say_more() -> None:
    alike = Weights(3.0, np.zeros(len(FEATURES)), 0.8, THRESHOLDS, Alike(0.9, 0.8))
    found = alike.judge(Pair(Text("dry a carpet"), Text("dry the carpet")), 0.95)
    assert found == pytest.approx(1 / (1 + math.exp(-3)))


@pytest.mark.parametrize(("bias", "expected"), [(-1e6, 0.0), (1e6, 1.0)])
def test_probability_of_extreme_scores_does_not_overflow(bias: float, expected: float) -> None:
    assert weights(bias=bias).probability(np.zeros(len(FEATURES))) == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.0, 1.0), (0.0049, 1.0), (0.005, 0.95), (0.01, 0.9), (0.049, 0.9), (0.05, 0.7), (1.0, 0.7)],
)
def test_threshold_is_that_of_the_next_smaller_rate(rate: float, expected: float) -> None:
    assert weights().threshold(rate) == expected


def test_threshold_never_rises_with_the_rate() -> None:
    found = [weights().threshold(rate) for rate in np.linspace(0, 0.2, 50)]
    assert found == sorted(found, reverse=True)


def test_file_reads_back_as_it_was_written() -> None:
    written = verifier().to_bytes()
    again = read(written, name="v.json")
    assert again.to_bytes() == written
    assert again.card == {"made": "2026-01-01"}
    assert list(again.groups) == [Group("all-minilm-l6-v2", "en")]


def _without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[int(step)] if step.isdecimal() else place[step]
        del place[path[-1]]

    return change


def _with(value: object, *path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[int(step)] if step.isdecimal() else place[step]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_with("other", "format"), "not a verifier file"),
        (_with(2, "version"), "has version 2, this proxy reads 1"),
        (_with(["similarity"], "features"), "other features"),
        (_without("groups"), "damaged: 'groups'"),
        (_without("card"), "damaged: 'card'"),
        (_without("groups", "0", "bias"), "damaged: 'bias'"),
        (_with([1.0], "groups", "0", "weights"), "damaged: 1 weights"),
        (_without("groups", "0", "alike"), "damaged: 'alike'"),
        (_with("nan", "groups", "0", "alike", "probability"), "damaged: a number"),
        (_with("much", "groups", "0", "bias"), "damaged: could not convert"),
        (_with("nan", "groups", "0", "bias"), "damaged: a number in it is not finite"),
        (_with(None, "groups", "0", "floor"), "damaged"),
        (_with([[0.01, 0.8], [0.02, 0.9]], "groups", "0", "thresholds"), "larger error rate"),
        (_with([[0.02, 0.8], [0.01, 0.7]], "groups", "0", "thresholds"), "larger error rate"),
        (_with([[0.02, 1.8]], "groups", "0", "thresholds"), "larger error rate"),
        (_with([[0.02]], "groups", "0", "thresholds"), "damaged"),
    ],
)
def test_unusable_file_is_refused_with_name_and_remedy(
    change: Callable[[dict[str, Any]], None], says: str
) -> None:
    document = orjson.loads(verifier().to_bytes())
    change(document)
    with pytest.raises(VerifierError, match=r"^v\.json .*reprise train") as raised:
        read(orjson.dumps(document), name="v.json")
    assert says in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null"])
def test_what_is_no_document_is_refused(content: bytes) -> None:
    with pytest.raises(VerifierError, match=r"^v\.json .*reprise train"):
        read(content, name="v.json")


def test_infinite_numbers_are_refused() -> None:
    content = verifier().to_bytes().replace(b'"bias": -1.0', b'"bias": 1e999')
    with pytest.raises(VerifierError):
        read(content, name="v.json")


def test_shipped_file_knows_both_encoders_and_says_what_it_was_made_from() -> None:
    found = shipped()
    assert {Group("all-minilm-l6-v2", "en"), Group("multilingual-e5-small", "zh")} <= set(
        found.groups
    )
    assert found.card["files"]
    assert all(weights.threshold(0.01) < 1.0 for weights in found.groups.values())
