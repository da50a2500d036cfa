"""Quoted strings and titles: a text that lacks the words that the other one quotes says another."""

import re

from proxy.core.meaning.pieces import Piece, object_to, spaced
from proxy.core.meaning.text import Kind, Objection, Pair, Text

NAME = "quoted"


def compare(pair: Pair) -> Objection | None:
    """Object if one text quotes what does not stand in the other, quoted or not."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if not stored and not asked:
        return None
    return object_to(NAME, _absent(stored, pair.asked), _absent(asked, pair.stored))


def _absent(pieces: tuple[Piece, ...], other: Text) -> list[Piece]:
    return [piece for piece in pieces if f" {piece.key} " not in other.fact(spaced)]


_MARKS = frozenset("\"'\u201c\u2018\u300c\u300e\u300a\u3008\u00ab")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,400})\""
    r"|(?<![\w'`])'(?![\s'])([^'\n]{1,400})(?<!\s)'(?![\w'])"
    r"|\u201c([^\u201c\u201d\n]{1,400})\u201d"
    r"|(?<!\w)\u2018([^\u2018\u2019\n]{1,400})\u2019(?!\w)"
    r"|\u300c([^\u300c\u300d]{1,400})\u300d"
    r"|\u300e([^\u300e\u300f]{1,400})\u300f"
    r"|\u300a([^\u300a\u300b]{1,400})\u300b"
    r"|\u3008([^\u3008\u3009]{1,400})\u3009"
    r"|\u00ab([^\u00ab\u00bb]{1,400})\u00bb"
)
"""Bounded between the marks, so that a row of opening marks takes linear time."""


def _read(text: Text) -> tuple[Piece, ...]:
    if _MARKS.isdisjoint(text.plain):
        return ()
    found = []
    for match in _QUOTED.finditer(text.plain):
        content = match[match.lastindex or 0]
        words = (token.norm for token in Text(content).tokens if token.kind is not Kind.SIGN)
        key = " ".join(words)
        if key:
            found.append(Piece(key, content))
    return tuple(found)
