from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.difference import common, difference, surface
from proxy.core.meaning.text import Pair, Text

WORDS = st.lists(st.sampled_from("abcde"), max_size=12)


def test_two_wordings_have_no_difference() -> None:
    pair = Pair(Text("How do I buy a big kayak?"), Text("what's the best way to purchase kayaks"))
    found = difference(pair)
    assert [unit.key for unit in found.stored_only] == ["big"]
    assert found.asked_only == ()
    assert 0.7 < found.share < 1


def test_a_replaced_word_is_one_edit() -> None:
    pair = Pair(Text("Can hens eat raw rice?"), Text("Can hens eat raw oats?"))
    found = difference(pair)
    assert len(found.edits) == 1
    assert surface(pair.stored, found.edits[0].stored) == "rice"
    assert surface(pair.asked, found.edits[0].asked) == "oats"
    assert found.moved == ()
    assert [one.key for one, _ in found.kept[-1:]] == ["raw"]


def test_words_that_are_but_spelt_or_ended_otherwise_are_equal() -> None:
    pair = Pair(Text("Why was my bagage withdrawal late?"), Text("baggage withdrawing late, why"))
    assert difference(pair).share == 1
    assert difference(Pair(pair.asked, pair.stored)).share == 1


def test_few_words_apart_are_a_small_difference() -> None:
    assert difference(Pair(Text("red kite"), Text("blue kite"))).is_small
    assert not difference(Pair(Text("red kite"), Text("blue box kite"))).is_small


def test_what_stands_elsewhere_has_moved() -> None:
    found = difference(Pair(Text("怎么清洗空调"), Text("空调怎么清洗")))
    assert found.edits == ()
    assert found.moved
    assert found.share == 1


def test_a_difference_is_computed_once() -> None:
    pair = Pair(Text("red kite"), Text("blue kite"))
    assert difference(pair) is difference(pair)


def test_texts_without_content_share_all_they_have() -> None:
    assert difference(Pair(Text("?"), Text("!"))).share == 1
    assert surface(Text("?"), ()) == ""


def test_a_word_that_is_repeated_costs_little() -> None:
    found = common(["a"] * 2000 + ["b"], ["c", *["a"] * 2000])
    assert len(found) >= 8


def _longest(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for left in one:
        last = row
        row = [0]
        for place, right in enumerate(other):
            row.append(last[place] + 1 if left == right else max(last[place + 1], row[place]))
    return row[-1]


@given(WORDS, WORDS)
def test_the_common_subsequence_is_in_both_and_in_order(one: list[str], other: list[str]) -> None:
    found = common(one, other)
    assert all(one[left] == other[right] for left, right in found)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))
    assert len(found) == _longest(one, other)


@given(st.text(max_size=60))
def test_a_text_does_not_differ_from_itself(written: str) -> None:
    found = difference(Pair(Text(written), Text(written)))
    assert found.edits == ()
    assert found.moved == ()
    assert found.share == 1
