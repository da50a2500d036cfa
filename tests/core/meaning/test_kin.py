import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.kin import kin
from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.stem import stem

WORDS = st.text("abcdeilmnst", max_size=10)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("baggage", "bagage"),
        ("recieve", "receive"),
        ("allowance", "allowence"),
        ("independent", "independant"),
        ("judgment", "judgement"),
        ("calendar", "calender"),
        ("european", "eurpoean"),
        ("withdrawal", "withdraw"),
        ("refund", "refundable"),
        ("motivate", "motivation"),
        ("measure", "measurement"),
        ("perform", "performance"),
        ("remote", "remotely"),
    ],
)
def test_a_word_spelt_or_ended_otherwise_is_kin(one: str, other: str) -> None:
    assert kin(stem(one), stem(other)) or stem(one) == stem(other)
    assert kin(stem(other), stem(one)) or stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("methanol", "ethanol"),
        ("sulfate", "sulfite"),
        ("desert", "dessert"),
        ("diner", "dinner"),
        ("martial", "marital"),
        ("nation", "national"),
        ("person", "personal"),
        ("state", "statement"),
        ("employer", "employee"),
        ("organ", "organization"),
        ("hard", "hardly"),
        ("adoption", "adaption"),
        ("cat", "cats2"),
        ("茶茶茶茶", "茶茶茶茶茶"),
        ("", ""),
    ],
)
def test_another_word_is_none(one: str, other: str) -> None:
    assert not kin(stem(one), stem(other))
    assert not kin(stem(other), stem(one))


@given(WORDS, WORDS)
def test_it_does_not_matter_which_comes_first(one: str, other: str) -> None:
    assert kin(one, other) == kin(other, one)


def test_words_that_look_like_kin_are_told_apart_by_a_list() -> None:
    for group in groups("proxy.core.meaning", "kin_apart_en.txt"):
        assert not kin(stem(group[0]), stem(group[1]))
