import pytest

from proxy.core.meaning.frames import WH
from proxy.core.meaning.frames_en import read_english
from proxy.core.meaning.text import Text


def keys(text: str) -> list[str]:
    return [term.key for term in read_english(Text(text)).terms]


def test_a_question_is_in_the_order_of_who_acts() -> None:
    assert keys("Who sued the mayor?") == [WH, "su", "mayor"]
    assert keys("Who did the mayor sue?") == ["mayor", "su", WH]


def test_sentences_and_questions_within_them_are_clauses_of_their_own() -> None:
    terms = read_english(Text("Tell me who sued Ana. We wait")).terms
    assert [term.clause for term in terms] == [0, 0, 1, 1, 1, 2, 2]


def test_a_term_knows_its_place_in_the_text() -> None:
    text = Text("Does Mia's dog bark?")
    first, *_ = read_english(text).terms
    assert text.plain[first.start : first.end] == "Mia's"
    assert first.owns
    assert first.is_name


def test_an_s_is_short_for_is_after_a_question_word_and_else_an_owner() -> None:
    assert keys("who's calling") == keys("who is calling")
    assert [term.owns for term in read_english(Text("the mayor's car")).terms] == [True, False]


def test_the_person_who_acts_and_the_owners_are_told() -> None:
    frame = read_english(Text("Can she read our mail?"))
    assert frame.actor == "she"
    assert frame.owners == {"i"}
    assert frame.is_clause


def test_a_statement_does_not_show_who_acts() -> None:
    assert not read_english(Text("Mia likes Leo")).is_clause


@pytest.mark.parametrize(
    ("text", "only", "shown"),
    [
        ("Only pilots walk", "pilot", "Only pilots"),
        ("pilots only walk", "walk", "only walk"),
        ("can only my pilots walk", "pilot", "only my pilots"),
        ("not only pilots walk", "", ""),
        ("pilots walk only", "", ""),
        ("only of pilots", "", ""),
        ("only pilots only walk", "", ""),
    ],
)
def test_what_only_belongs_to_is_told(text: str, only: str, shown: str) -> None:
    frame = read_english(Text(text))
    assert (frame.only, frame.shown) == (only, shown)


def test_nothing_has_no_terms() -> None:
    assert read_english(Text("?")).terms == ()
