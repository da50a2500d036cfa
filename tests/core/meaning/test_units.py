import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.text import Text
from proxy.core.meaning.units import Role, pieces, stems_of, units


def keys(text: str) -> list[str]:
    return [unit.key for unit in units(Text(text)).units]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I buy a kayak?", "Hi, can you tell me how to purchase kayaks please"),
        ("What is the best way to mend a chair?", "how can I repair chairs"),
        ("why don't owls blink", "Why do owls not blink?"),
        ("Can I pay online?", "Is it possible to pay over the internet?"),
        ("我想知道怎么购买吉他", "请问如何买吉他呢？"),
        ("手機怎麼充電", "手机怎么充电"),
        ("什么是ＧＰＳ", "gps是什么"),
        ("20% off", "twenty percent off"),
        ("我国的河", "中国的河"),
    ],
)
def test_two_wordings_have_the_same_units(one: str, other: str) -> None:
    assert sorted(keys(one)) == sorted(keys(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("buy a kayak", "buy a canoe"),
        ("How do I knit?", "Why do I knit?"),
        ("买吉他", "买提琴"),
        ("上班时间", "下班时间"),
    ],
)
def test_two_questions_have_other_units(one: str, other: str) -> None:
    assert keys(one) != keys(other)


def test_small_words_mark_the_unit_after_them() -> None:
    found = units(Text("the train from Oslo to Kiel"))
    assert [(unit.key, unit.markers) for unit in found.units] == [
        ("train", ()),
        ("oslo", ("from",)),
        ("kiel", ("to",)),
    ]
    assert units(Text("what is it for")).tail == ("for",)


def test_units_know_their_part_and_place() -> None:
    text = Text("How do I lend him a saw?")
    found = units(text).units
    assert [unit.role for unit in found] == [
        Role.OPENER,
        Role.CONTENT,
        Role.PERSON,
        Role.CONTENT,
    ]
    assert [text.plain[unit.start : unit.end] for unit in found] == [
        "How do I",
        "lend",
        "him",
        "saw",
    ]
    assert units(text).content == 2


def test_a_letter_among_chinese_is_a_name() -> None:
    assert keys("A组赢了B组")[0] == "a"


def test_contractions_are_written_out() -> None:
    assert stems_of(Text("Don't worry, we'll see"))[0][:2] == ("do", "not")


@given(st.text(alphabet="how do i 怎么買手机的了,.'ab1 ", max_size=60) | st.text(max_size=60))
def test_pieces_lie_in_order_within_the_text(written: str) -> None:
    text = Text(written)
    last = 0
    for piece in pieces(text):
        assert last <= piece.start <= piece.end <= len(text.plain)
        last = piece.start
