import pytest

from proxy.core.meaning.frames import WH
from proxy.core.meaning.frames_zh import gift, is_chinese, read_chinese
from proxy.core.meaning.text import Text


def test_any_chinese_character_makes_a_text_chinese() -> None:
    assert is_chinese(Text("Python 怎么学"))
    assert not is_chinese(Text("How do I learn Python"))


@pytest.mark.parametrize(
    ("text", "keys", "is_clause"),
    [
        ("我骗他", ["我", "骗", "他"], False),
        ("我被他骗了", ["他", "骗", "我"], True),
        ("我被人骗了", ["骗", "我"], True),
        ("谁骗他", [WH, "骗", "他"], False),
        ("他把我骗了", ["他", "骗", "我"], True),
    ],
)
def test_terms_are_in_the_order_subject_verb_object(
    text: str, keys: list[str], is_clause: bool
) -> None:
    frame = read_chinese(Text(text))
    assert [term.key for term in frame.terms] == keys
    assert frame.is_clause is is_clause


def test_persons_act_but_not_where_they_suffer() -> None:
    assert [term.acts for term in read_chinese(Text("我骗他")).terms] == [True, False, True]
    assert [term.acts for term in read_chinese(Text("我被他骗了")).terms] == [True, False, False]


def test_two_characters_that_are_no_known_word_stay_together() -> None:
    frame = read_chinese(Text("我被张三骗了"))
    assert [term.key for term in frame.terms] == ["张", "三", "骗", "我"]


def test_who_is_given_something_is_told_from_whom_it_is_got() -> None:
    given, got = gift(Text("我借钱给同事")), gift(Text("我向同事借钱"))
    assert given is not None
    assert (given[0], given["to"], given["of"]) == ("借钱给同事", "同事", None)
    assert got is not None
    assert (got[0], got["to"], got["of"]) == ("向同事借", None, "同事")


@pytest.mark.parametrize("text", ["同事有钱", "lend it to him", ""])
def test_texts_without_a_gift_have_none(text: str) -> None:
    assert gift(Text(text)) is None
