"""Pairs that were told to be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning import negatives
from proxy.core.meaning.negatives import Negatives, text_digest

ANN, BOB = b"a" * 32, b"b" * 32


def pair(number: int) -> tuple[bytes, bytes]:
    return text_digest(ANN, f"one {number}"), text_digest(ANN, f"other {number}")


def test_a_pair_counts_in_both_directions() -> None:
    told = Negatives()
    one, other = pair(1)
    told.add(one, other)
    assert told.has(one, other)
    assert told.has(other, one)
    told.add(other, one)
    assert len(told) == 1


def test_no_other_pair_is_told_of() -> None:
    told = Negatives()
    (one, other), (third, fourth) = pair(1), pair(2)
    told.add(one, other)
    told.add(third, fourth)
    assert not told.has(one, third)
    assert not told.has(other, fourth)
    assert not told.has(one, one)


def test_the_oldest_goes_first_and_telling_again_makes_it_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(negatives, "MAX_PAIRS", 3)
    told = Negatives()
    for number in (0, 1, 2, 0, 3):
        told.add(*pair(number))
    assert len(told) == 3
    assert [told.has(*pair(number)) for number in range(4)] == [True, False, True, True]


def test_questions_are_told_apart_by_whose_they_are() -> None:
    assert text_digest(ANN, "Why?") != text_digest(BOB, "Why?")
    assert text_digest(ANN, "Why?") == text_digest(ANN, "Why?")


texts = st.text("abé茶\ud800", max_size=3)


@pytest.mark.parametrize(
    "text", ["say it", "Say it?", " say  it ", "SAY IT!!", "say it...", "say it\u3002", "say\nit ;"]
)
def test_case_blanks_and_closing_signs_are_no_way_round(text: str) -> None:
    assert text_digest(ANN, text) == text_digest(ANN, "Say it.")


@given(texts, texts)
def test_a_text_is_known_by_its_letters(one: str, other: str) -> None:
    assert (text_digest(ANN, one) == text_digest(ANN, other)) == (one == other)


def test_a_text_is_known_in_every_spelling_that_nfc_makes_equal() -> None:
    assert text_digest(ANN, "Café") == text_digest(ANN, "Cafe\u0301")
