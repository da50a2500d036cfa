import pytest

from proxy.core.meaning.frames_words_en import (
    Word,
    following,
    is_owner,
    is_participle,
    is_silent,
    key_of,
    leading,
    persons,
    silent,
)
from proxy.core.meaning.text import Text


def written(text: str, *, is_name: bool = False) -> list[Word]:
    return [Word(token.norm, token, is_name=is_name) for token in Text(text).tokens]


@pytest.mark.parametrize(
    "forms", [("sue", "sued", "suing"), ("bite", "bites"), ("i", "me", "my"), ("catch", "caught")]
)
def test_forms_of_a_word_have_one_key(forms: tuple[str, ...]) -> None:
    assert len({key_of(form) for form in forms}) == 1


def test_different_words_have_different_keys() -> None:
    assert len({key_of(word) for word in ("she", "they", "feed", "sue", "bite")}) == 5


def test_forms_of_a_person_are_led_to_one() -> None:
    assert persons()["him"] == persons()["his"] == key_of("him")


def test_participles_end_in_ed_or_are_listed() -> None:
    assert all(map(is_participle, ("painted", "caught", "eaten")))
    assert not any(map(is_participle, ("need", "red", "eats", "")))


def test_articles_and_adverbs_are_silent_but_not_names() -> None:
    assert all(map(is_silent, written("a the quickly")))
    assert not any(map(is_silent, written("a quickly", is_name=True)))
    assert not any(map(is_silent, written("wolf fly")))
    assert {"the", "please"} <= silent()


def test_her_owns_only_what_follows() -> None:
    assert is_owner(written("her boss"), 0)
    assert is_owner(written("my"), 0)
    assert not is_owner(written("her"), 0)
    assert not is_owner(written("her in town"), 0)
    assert not is_owner(written("boss"), 0)


def test_what_follows_is_the_next_word_that_says_something() -> None:
    assert following(written("see the wolf"), 0) == "wolf"
    assert following(written("allowed to walk"), 0) == "to"
    assert following(written("see the"), 0) == ""


def test_verbs_that_lead_are_known_by_their_keys() -> None:
    assert {key_of("made"), key_of("lets")} <= leading()
