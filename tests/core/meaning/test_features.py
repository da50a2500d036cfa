import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.features import FEATURES, features, language_of, nothing_differs
from proxy.core.meaning.text import Pair, Text


def of(stored: str, asked: str, similarity: float = 0.9) -> dict[str, float]:
    found = features(Pair(Text(stored), Text(asked)), similarity)
    return dict(zip(FEATURES, found.tolist(), strict=True))


def test_every_feature_has_a_name_of_its_own() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == len(of("a", "b"))


def test_equal_texts_differ_in_nothing() -> None:
    found = of("Where is the nearest pharmacy?", "Where is the nearest pharmacy?", 1.0)
    assert found.pop("similarity") == found.pop("word containment") == 1
    assert found.pop("begins alike") == found.pop("kin of the replaced") == 1
    assert found.pop("nearness") == pytest.approx(-math.log(0.002))
    assert set(found.values()) == {0}


def test_the_first_thing_replaced_is_told_from_a_later_one() -> None:
    first = of("How do I wash a wool carpet?", "How do I paint a wool carpet?")
    later = of("How do I wash a wool carpet?", "How do I wash a wool jacket?")
    assert (first["first thing replaced"], later["first thing replaced"]) == (1, 0)
    assert first["edits"] == later["edits"] == pytest.approx(math.log(2))


def test_one_thing_replaced_by_two_and_several_replaced_are_told() -> None:
    two = of("Where do I paint a carpet?", "Where do I paint a garden fence?")
    several = of("Paint a wooden carpet", "Paint a metal fence")
    assert (two["one thing replaced by two"], two["several things replaced"]) == (1, 0)
    assert (several["one thing replaced by two"], several["several things replaced"]) == (0, 1)


def test_one_thing_added_counts_by_similarity() -> None:
    added = ("How do I clean a carpet?", "How do I clean a carpet with vinegar?")
    near, far = of(*added, 0.98), of(*added, 0.82)
    assert near["one thing added, though near"] == pytest.approx(1)
    assert far["one thing added, though near"] == pytest.approx(-1)
    replaced = of("How do I clean a carpet?", "How do I clean a jacket?", 0.98)
    assert replaced["one thing added, though near"] == 0


def test_synonyms_and_inflected_words_are_reworded() -> None:
    assert of("buy two lamps", "purchase two lamps")["reworded"] == pytest.approx(math.log(2))
    assert of("buy a lamp", "buy lamps")["reworded"] == pytest.approx(math.log(2))
    assert of("Buy a lamp", "buy the lamp")["reworded"] == 0


def test_what_is_reworded_beside_a_replacement_is_told() -> None:
    found = of("buy two lamps", "purchase two kites")
    assert found["one thing replaced, others reworded"] == found["reworded"] > 0
    assert of("buy two lamps", "purchase two lamps")["one thing replaced, others reworded"] == 0


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("pharmcy", True),
        ("pharmmacy", True),
        ("fermacy", False),
        ("phramacy", True),
        ("pharmecy", True),
        ("stadium", False),
        ("pharmac1", False),
    ],
)
def test_a_slip_of_the_pen_is_told_from_another_word(written: str, expected: bool) -> None:
    found = of("Where is the pharmacy of the village?", f"Where is the {written} of the village?")
    assert (found["only spelt otherwise"] > 0) == expected


def test_a_slip_beside_another_difference_is_not_all() -> None:
    found = of("Paint the pharmacy of the village", "Paint the pharmcy of the stadium")
    assert found["slips"] > 0
    assert found["only spelt otherwise"] == 0


def test_short_words_are_other_words_and_no_slips() -> None:
    found = of("Where is the cat of the house?", "Where is the car of the house?")
    assert found["slips"] == found["only spelt otherwise"] == 0


def test_what_stands_for_each_other_is_kin_by_its_letters() -> None:
    near = of("Where is the pharmacy?", "Where is the pharmacist?")
    other = of("Where is the pharmacy?", "Where is the stadium?")
    assert near["kin of the replaced"] > 0.4 > other["kin of the replaced"]
    assert of("我要买苹果汁", "我要买苹果酱")["kin of the replaced"] == 0


def test_words_that_share_their_beginning_or_half_their_characters_are_kin() -> None:
    assert of("the pharmacy", "the pharmacist")["replaced by kin"] == pytest.approx(math.log(2))
    assert of("the pharmacy", "the stadium")["replaced by kin"] == 0
    assert of("cat food", "car food")["replaced by kin"] == 0


def test_other_persons_are_told() -> None:
    assert of("Does he like kites?", "Does she like kites?")["other persons"] == 1
    assert of("Do I like kites?", "Do I like lamps?")["other persons"] == 0


def test_how_a_text_begins_is_compared() -> None:
    assert of("How far is the sea?", "How deep is the sea?")["begins alike"] == 1
    assert of("How far is the sea?", "Is the sea far?")["begins alike"] == 0


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
    found = of(stored, asked, 0.98)
    assert found["asks otherwise"] == expected
    assert found["asks otherwise, though near"] == pytest.approx(expected)


def test_what_moves_in_a_long_text_is_told_apart() -> None:
    short = of("red lamp and blue door", "blue door and red lamp")
    long = of(
        "The red lamp in the hall was sold to Ann and the blue desk in the loft was lent to Bert.",
        "The blue desk in the hall was sold to Ann and the red lamp in the loft was lent to Bert.",
    )
    assert short["moved in a long text"] == 0
    assert long["moved in a long text"] == 1


@pytest.mark.parametrize(
    ("stored", "asked", "expected"),
    [
        ("How do I dry a carpet?", "please how can I dry the carpet", True),
        ("How do I dry a carpet?", "How do I dry a jacket?", False),
        ("Dry a carpet", "Dry a red carpet", False),
        ("red lamp and blue door", "blue door and red lamp", False),
        ("帮我写一份辞职信", "写一封辞职信", True),
    ],
)
def test_nothing_differs_where_only_wording_does(stored: str, asked: str, expected: bool) -> None:
    assert nothing_differs(Pair(Text(stored), Text(asked))) == expected


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
    for name in ("word containment", "asks otherwise", "begins alike"):
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
