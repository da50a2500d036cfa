import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.features import FEATURES, features, language_of
from proxy.core.meaning.text import Pair, Text


def of(stored: str, asked: str, similarity: float = 0.9) -> dict[str, float]:
    found = features(Pair(Text(stored), Text(asked)), similarity)
    return dict(zip(FEATURES, found.tolist(), strict=True))


def test_every_feature_has_a_name_of_its_own() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == len(of("a", "b"))


def test_equal_texts_differ_in_nothing() -> None:
    found = of("Where is the nearest pharmacy?", "Where is the nearest pharmacy?", 1.0)
    assert found.pop("similarity") == found.pop("share") == found.pop("word containment") == 1
    assert found.pop("kin of the replaced") == 1
    assert found.pop("nearness") == pytest.approx(-math.log(0.002))
    assert set(found.values()) == {0}


def test_a_replaced_word_is_one_content_unit() -> None:
    found = of("How do I clean a wool carpet?", "How do I clean a wool jacket?")
    assert found["one content unit replaced"] == 1
    assert found["content only added"] == found["added at the end"] == 0
    assert found["share"] == pytest.approx(2 / 3)


def test_added_words_are_no_replacement() -> None:
    found = of("How do I clean a carpet?", "How do I clean a carpet with vinegar?")
    assert found["content only added"] == found["added at the end"] == 1
    assert found["one content unit replaced"] == 0
    assert of("Clean a carpet", "Clean a wool carpet")["added at the end"] == 0


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("pharmcy", 1),
        ("fermacy", 0),
        ("phramacy", 1),
        ("pharmecy", 1),
        ("stadium", 0),
        ("pharmac1", 0),
    ],
)
def test_a_slip_of_the_pen_is_told_from_another_word(written: str, expected: int) -> None:
    found = of("Where is the pharmacy of the village?", f"Where is the {written} of the village?")
    assert found["only slips"] == expected


def test_short_words_are_other_words_and_no_slips() -> None:
    assert of("Where is the cat of the house?", "Where is the car of the house?")["only slips"] == 0


def test_what_stands_for_each_other_is_kin_by_its_letters() -> None:
    slip = of("Where is the pharmacy?", "Where is the pharmcy?")
    other = of("Where is the pharmacy?", "Where is the stadium?")
    assert slip["kin of the replaced"] > 0.4 > other["kin of the replaced"]
    assert of("我要买苹果汁", "我要买苹果酱")["kin of the replaced"] == 0


def test_digits_and_names_in_what_differs_are_told() -> None:
    assert of("Recipe for model K9", "Recipe for model sauce")["name or number differs"] == 1
    assert of("red carpet cleaner", "red curtain cleaner")["name or number differs"] == 0


@pytest.mark.parametrize(
    ("stored", "asked", "expected"),
    [
        ("How does a kite fly?", "Why does a kite fly?", 1),
        ("Did the kite fly?", "When did the kite fly?", 1),
        ("How does a kite fly?", "What makes a kite fly?", 0),
        ("How can I fly a kite?", "Can I fly a kite?", 0),
        ("Fly a kite", "Why does a kite fly?", 0),
        ("Has the kite flown?", "Did the kite fly?", 0),
    ],
)
def test_asking_otherwise_is_told(stored: str, asked: str, expected: int) -> None:
    assert of(stored, asked)["asks otherwise"] == expected


def test_what_moves_in_a_long_text_is_told_apart() -> None:
    short = of("red lamp and blue door", "blue door and red lamp")
    long = of(
        "The red lamp in the hall was sold to Ann and the blue desk in the loft was lent to Bert.",
        "The blue desk in the hall was sold to Ann and the red lamp in the loft was lent to Bert.",
    )
    assert short["moved"] > 0
    assert long["moved"] > 0
    assert short["moved in a long text"] == 0
    assert long["moved in a long text"] == 1


@pytest.mark.parametrize("similarity", [math.nan, math.inf, -math.inf, 1.0000001, -1.0, 2.0])
def test_a_similarity_out_of_range_stays_finite(similarity: float) -> None:
    assert np.isfinite(list(of("a b", "a c", similarity).values())).all()


def test_a_similarity_that_is_not_a_number_is_as_far_as_can_be() -> None:
    assert of("a", "a", math.nan)["similarity"] == -1


HOSTILE = [
    "",
    " \n",
    "?!",
    "\ud800x",
    "🙂🙂",
    "a" * 10_000,
    "不" * 10_000,
    "x y " * 3_000,
    "İI\x00",
]


@pytest.mark.parametrize("stored", HOSTILE)
@pytest.mark.parametrize("asked", HOSTILE)
def test_features_of_any_texts_are_finite_and_bounded(stored: str, asked: str) -> None:
    values = np.array(list(of(stored, asked).values()))
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 20


@given(st.text(max_size=60), st.text(max_size=60))
def test_features_do_not_depend_on_which_was_stored(stored: str, asked: str) -> None:
    there, back = of(stored, asked), of(asked, stored)
    for name in ("word containment", "asks otherwise", "kinds of question only in one"):
        assert there[name] == pytest.approx(back[name])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How far is the moon?", "en"),
        ("月亮有多远", "zh"),
        ("用 Python 写一个函数", "zh"),
        ("月はどのくらい遠いですか", ""),
        ("Как далеко луна?", ""),
        ("12 + 30 = ?", ""),
        ("", ""),
    ],
)
def test_language_is_told_by_the_script(text: str, expected: str) -> None:
    assert language_of(Text(text)) == expected
