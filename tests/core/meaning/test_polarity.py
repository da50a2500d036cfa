import pytest

from proxy.core.meaning.polarity import Opposite, negations, opposites, turned, uneven
from proxy.core.meaning.text import Pair, Text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I can't and won't", ["can't", "won't"]),
        ("Why not stay?", []),
        ("Isn't it late?", []),
        ("Isn't Oslo north?", ["Isn't"]),
        ("It is late, isn't it?", []),
        ("neither salt nor oil", ["neither", "nor"]),
        ("It is not impossible", []),
        ("不能不去", []),
        ("能不能去", []),
        ("去不去", []),
        ("你去不？", []),
        ("还没去过", ["没"]),
        ("无线网", []),
        ("並非如此嗎", ["並非"]),
    ],
)
def test_negations_are_found_as_they_stand(text: str, shown: list[str]) -> None:
    assert [negation.shown for negation in negations(Text(text)).sure] == shown


def test_words_that_may_deny_are_told_apart() -> None:
    assert negations(Text("How do I avoid rust?")).perhaps == {"avoid"}


def test_one_negation_more_is_uneven_and_two_are_not() -> None:
    assert uneven(Pair(Text("I sleep"), Text("I don't sleep")))
    assert not uneven(Pair(Text("I sleep"), Text("I don't never sleep")))


def test_a_word_that_may_deny_makes_up_for_a_negation() -> None:
    assert not turned(Pair(Text("avoid rust"), Text("not get rust")))
    assert turned(Pair(Text("get rust"), Text("not get rust")))


@pytest.mark.parametrize(
    ("stored", "asked", "found"),
    [
        ("open a jar", "close a jar", ("open", "close")),
        ("a stable bridge", "an unstable bridge", ("stable", "unstable")),
        ("turn the fan on", "turn the fan off", ("on", "off")),
        ("上涨的原因", "下跌的原因", ("上涨", "下跌")),
    ],
)
def test_opposites_are_found_as_they_stand(stored: str, asked: str, found: tuple[str, str]) -> None:
    assert opposites(Pair(Text(stored), Text(asked)))[0][:2] == found
    assert opposites(Pair(Text(asked), Text(stored)))[0][:2] == found[::-1]


def test_degrees_are_told() -> None:
    found = opposites(Pair(Text("more rain"), Text("less rain")))
    assert found == (Opposite("more", "less", degree=True),)


def test_what_both_texts_have_is_no_opposite() -> None:
    assert opposites(Pair(Text("open and close a jar"), Text("close a jar"))) == ()
