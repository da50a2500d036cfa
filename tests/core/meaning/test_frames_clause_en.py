import pytest

from proxy.core.meaning.frames import WH, WH_IS
from proxy.core.meaning.frames_clause_en import Clause
from proxy.core.meaning.frames_words_en import Word
from proxy.core.meaning.text import Text


def clause(text: str, place: int = 0) -> Clause:
    return Clause([Word(token.norm, token) for token in Text(text).tokens], place)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Is the fox caught by the wolf", ["wolf", "catch", "fox"]),
        ("Who was the fox caught by", [WH, "catch", "fox"]),
        ("When was the fox caught", ["catch", "fox"]),
        ("What does the wolf catch in winter", ["wolf", "catch", WH, "winter"]),
        ("Which fox can the wolf catch", ["wolf", "catch", WH, "fox"]),
        ("What can catch wolves", [WH, "catch", "wolf"]),
        ("Did the fox get caught by the wolf", ["wolf", "catch", "fox"]),
        ("What is the wolf", [WH_IS, "wolf"]),
        ("What is the wolf afraid of", ["wolf", "afraid", WH_IS]),
        ("by", []),
    ],
)
def test_terms_are_in_the_order_subject_verb_object(text: str, keys: list[str]) -> None:
    assert [term.key for term in clause(text).ordered()] == keys


def test_who_is_allowed_to_act_suffers_nothing() -> None:
    found = clause("Is the wolf allowed to walk").ordered()
    assert found[0].key == "wolf"
    assert found[0].acts


def test_a_term_has_the_small_word_before_it() -> None:
    found = clause("wolves walk from forests to fields").ordered()
    assert [term.marker for term in found] == ["", "", "from", "to"]


def test_somebody_else_acts_after_a_verb_that_leads() -> None:
    found = clause("How do I make him walk").ordered()
    assert [(term.key, term.acts) for term in found if term.acts] == [("i", True), ("he", True)]


def test_a_verb_in_front_shows_who_acts() -> None:
    assert clause("Can wolves walk").shows_who_acts
    assert not clause("Is there a wolf").shows_who_acts
    assert not clause("wolves walk").shows_who_acts


def test_terms_know_their_clause() -> None:
    assert {term.clause for term in clause("who caught the wolf", 2).ordered()} == {2}
