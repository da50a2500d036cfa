"""A question as the guards read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.meaning.text import Kind, Pair, Text

W, H, N, S = Kind.WORD, Kind.HAN, Kind.NUMBER, Kind.SIGN


def tokens(text: str) -> list[tuple[str, Kind]]:
    return [(token.norm, token.kind) for token in Text(text).tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n", []),
        ("Why, Ann?", [("why", W), (",", S), ("ann", W), ("?", S)]),
        ("don't", [("don't", W)]),
        ("Ann\u2019s", [("ann's", W)]),
        ("'tis'", [("'", S), ("tis", W), ("'", S)]),
        ("snake_case", [("snake", W), ("_", S), ("case", W)]),
        ("5km 1,000.5 3.11.", [("5", N), ("km", W), ("1,000.5", N), ("3.11", N), (".", S)]),
        ("１２ ＡＢ", [("12", N), ("ab", W)]),
        ("秘鲁首都", [("秘", H), ("鲁", H), ("首", H), ("都", H)]),
        ("用Python写", [("用", H), ("python", W), ("写", H)]),
        ("第5章", [("第", H), ("5", N), ("章", H)]),
        ("\U00020000〇々", [("\U00020000", H), ("〇", H), ("々", H)]),
        ("Größe ÇA", [("größe", W), ("ça", W)]),
        ("что?", [("что", W), ("?", S)]),
        ("👩‍👧", [("👩", S), ("\u200d", S), ("👧", S)]),
        ("ﬁn", [("fin", W)]),
    ],
)
def test_a_text_falls_into_tokens(text: str, expected: list[tuple[str, Kind]]) -> None:
    assert tokens(text) == expected


@given(st.text("aB1.,'\u2019秘 ？é\u0301１ﬁ\ud800👩", max_size=12))
def test_tokens_are_in_their_places_and_cover_all_but_blanks(text: str) -> None:
    read = Text(text)
    end, rest = 0, []
    for token in read.tokens:
        assert end <= token.start < token.end
        rest.append(read.plain[end : token.start])
        assert read.plain[token.start : token.end].lower().replace("\u2019", "'") == token.norm
        end = token.end
    assert not "".join([*rest, read.plain[end:]]).strip()


def test_what_is_compared_are_the_words_without_signs() -> None:
    assert Text("Why, ANN (5)?").norms == ("why", "ann", "5")
    assert Text("?!").norms == ()


def test_the_text_itself_is_kept() -> None:
    read = Text("Ｗhy　Ann")
    assert (read.original, read.plain, read.folded) == ("Ｗhy　Ann", "Why Ann", "why ann")


def test_what_is_found_in_a_text_or_a_pair_is_looked_for_once() -> None:
    asked: list[object] = []

    def length(text: Text) -> int:
        asked.append(text)
        return len(text.plain)

    def both(pair: Pair) -> int | None:
        asked.append(pair)
        return None

    one, other = Text("one"), Text("other")
    pair = Pair(one, other)
    assert [one.fact(length), one.fact(length), other.fact(length)] == [3, 3, 5]
    assert [pair.fact(both), pair.fact(both)] == [None, None]
    assert asked == [one, other, pair]
