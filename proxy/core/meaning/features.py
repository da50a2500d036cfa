"""What the verifier looks at: numbers that say how two questions differ.

They are counted on the units that are left when wording is set aside (`difference.py`). All are
finite and bounded, whatever the texts are. Each earned its place on held-out pairs; many others
(overlap of letters, lengths, shares) were tried and made the decisions worse.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxy.core.meaning.difference import Difference, Edit, difference
from proxy.core.meaning.guards.question import kinds
from proxy.core.meaning.script import Script, script_of
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.units import Unit

FEATURES = (
    "similarity",
    "nearness",
    "word containment",
    "asks otherwise",
    "kinds of question only in one",
    "share",
    "content only added",
    "one content unit replaced",
    "name or number differs",
    "edits",
    "added at the end",
    "moved",
    "moved in a long text",
    "kin of the replaced",
    "only slips",
)

_MOST_LETTERS = 1000
"""What lies behind is not looked at: texts that are compared by meaning are shorter."""
_LONG = 10
"""Units of a text that tells more than one thing; what moves in it changes its part."""
_SHORTEST_SLIP = 4
"""Letters of a word in which another letter is a slip and not another word."""
_LANGUAGES = {Script.LATIN: "en", Script.HAN: "zh"}
_ASKS = {
    **dict.fromkeys(("how", "why", "when", "where", "should", "what", "which"), ""),
    **dict.fromkeys(("who", "whom", "whose"), "who"),
    **dict.fromkeys(("did", "has", "have", "had"), "did"),
    **dict.fromkeys(("will", "would"), "will"),
    **dict.fromkeys(("can", "could"), "can"),
    **dict.fromkeys(("is", "are", "was", "were", "am", "do", "does"), "whether"),
}
"""What the first word that asks asks for; itself where empty."""
_ANYWHERE = frozenset(("how", "why", "when", "where", "what", "which", "who", "whom", "whose"))
"""The others ask only where they begin the text."""
_VAGUE = frozenset(("", "what", "which", "can"))
"""May stand for any other."""


class _Reading(NamedTuple):
    """A text as the features need it."""

    words: frozenset[str]
    kinds: frozenset[str]
    asks: str
    """What the first word that asks asks for; empty where none does."""


def language_of(text: Text) -> str:
    """The language whose weights judge a text: "zh", "en", or "" for neither.

    By script: Chinese characters say Chinese, Latin letters English.
    """
    return text.fact(_language)


def features(pair: Pair, similarity: float) -> NDArray[np.float64]:
    """The features of a pair, in the order of `FEATURES`; all finite."""
    a, b = pair.stored.fact(_read), pair.asked.fact(_read)
    found = difference(pair)
    # One that is not a number is as far as can be.
    near = min(1.0, max(-1.0, similarity)) if math.isfinite(similarity) else -1.0
    few, many = sorted((len(found.stored_only), len(found.asked_only)))
    return np.array(
        (
            near,
            -math.log(1.002 - near),
            _contained(a.words, b.words),
            a.asks != b.asks and _VAGUE.isdisjoint((a.asks, b.asks)),
            math.log1p(len(a.kinds ^ b.kinds)),
            found.share,
            few == 0 and many > 0,
            few == 1 and many == 1,
            _has_name(pair, found),
            math.log1p(len(found.edits)),
            _is_added_at_the_end(found),
            math.log1p(len(found.moved)),
            bool(found.moved) and max(len(found.stored), len(found.asked)) >= _LONG,
            _kinship(found),
            bool(found.edits) and not found.moved and all(map(_is_slip, found.edits)),
        ),
        dtype=np.float64,
    )


def _contained(a: frozenset[str], b: frozenset[str]) -> float:
    fewer = min(len(a), len(b))
    return len(a & b) / fewer if fewer else float(a == b)


def _has_name(pair: Pair, found: Difference) -> bool:
    shown = (
        *(pair.stored.plain[unit.start : unit.end] for unit in found.stored_only),
        *(pair.asked.plain[unit.start : unit.end] for unit in found.asked_only),
    )
    return any(piece[:1].isupper() or not piece.isalpha() for piece in shown)


def _is_added_at_the_end(found: Difference) -> bool:
    if not found.edits:
        return False
    last = found.edits[-1]
    if last.stored and last.asked:
        return False
    return found.stored[-1:] == last.stored[-1:] or found.asked[-1:] == last.asked[-1:]


def _kinship(found: Difference) -> float:
    """How alike in letters what stands for each other is, at the least: a slip of the pen."""
    return min(map(_alike, found.edits), default=1.0)


def _alike(edit: Edit) -> float:
    if not edit.stored or not edit.asked:
        return 1.0
    stored, asked = _letters(edit.stored), _letters(edit.asked)
    return len(stored & asked) / max(1, len(stored | asked))


def _is_slip(edit: Edit) -> bool:
    """Whether the words differ by one letter each: left out, doubled, changed or exchanged."""
    return len(edit.stored) == len(edit.asked) and all(
        _differ_by_a_letter(one.key, other.key)
        for one, other in zip(edit.stored, edit.asked, strict=True)
    )


def _differ_by_a_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST_SLIP or not (one.isalpha() and other.isalpha()):
        return False
    head = 0
    while head < len(short) and short[head] == long[head]:
        head += 1
    tail = 0
    while tail < len(short) - head and short[-1 - tail] == long[-1 - tail]:
        tail += 1
    rest = short[head : len(short) - tail], long[head : len(long) - tail]
    return len(rest[1]) <= 1 or (len(rest[0]) == 2 and rest[0] == rest[1][::-1])


def _letters(those: tuple[Unit, ...]) -> frozenset[str]:
    joined = "".join(unit.key for unit in those)[:_MOST_LETTERS]
    # Single Chinese characters mean something, single letters do not.
    if not joined.isascii():
        return frozenset(joined)
    return frozenset(joined[place : place + 2] for place in range(len(joined) - 1))


def _read(text: Text) -> _Reading:
    return _Reading(frozenset(text.norms), frozenset(text.fact(kinds)), _asks(text))


def _asks(text: Text) -> str:
    for place, norm in enumerate(text.norms):
        if norm in _ANYWHERE or (place == 0 and norm in _ASKS):
            return _ASKS[norm] or norm
    return ""


def _language(text: Text) -> str:
    return _LANGUAGES.get(script_of(text.original), "")
