import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.stem import stem


@pytest.mark.parametrize(
    "forms",
    [
        ("buy", "buys", "buying", "bought"),
        ("study", "studies", "studied", "studying"),
        ("run", "runs", "running", "ran"),
        ("make", "makes", "making", "made"),
        ("hope", "hopes", "hoped", "hoping"),
        ("box", "boxes", "boxed"),
        ("dish", "dishes"),
        ("colour", "color", "colours"),
        ("organise", "organize", "organised", "organizing"),
        ("analyse", "analyze"),
        ("travelling", "traveling", "travel"),
        ("child", "children", "kid"),
        ("mouse", "mice"),
        ("class", "classes"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("bus", "but"), ("this", "thin"), ("string", "sting"), ("red", "ring"), ("new", "news"),
     ("sing", "sin")],
)  # fmt: skip
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@given(st.text(max_size=40))
def test_any_word_has_a_stem(word: str) -> None:
    assert bool(stem(word)) is bool(word)
