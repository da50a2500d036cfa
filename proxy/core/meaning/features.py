"""What the verifier looks at: numbers that say how two questions differ.

They are counted on the units that are left when wording is set aside (`difference.py`): whether
nothing, one thing or more differs, whether something was added or stands for something else, and
how it is written. Where much was reworded a low similarity says less; where nothing was, more. All
numbers are finite and bounded, whatever the texts are. Each earned its place on held-out pairs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxy.core.meaning.difference import Difference, Edit, content, difference
from proxy.core.meaning.script import Script, script_of
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.units import Role, Unit, units

FEATURES = (
    "similarity",
    "nearness",
    "word containment",
    "begins alike",
    "asks otherwise",
    "asks otherwise, though near",
    "other persons",
    "reworded",
    "slips",
    "only spelt otherwise",
    "edits",
    "one thing added, though near",
    "first thing replaced",
    "one thing replaced, others reworded",
    "one thing replaced by two",
    "several things replaced",
    "replaced by kin",
    "kin of the replaced",
    "moved in a long text",
)

_MOST_LETTERS = 1000
"""What lies behind is not looked at: texts that are compared by meaning are shorter."""
_MOST_UNITS = 8
"""Where more units differ, nobody asks which of them are spelt alike."""
_LONG = 10
"""Units of a text that tells more than one thing; what moves in it changes its part."""
_SHORTEST_SLIP = 5
"""Letters of a word in which another letter is a slip and not another word."""
_SHORTEST_KIN = 4
_SHARED_START = 0.65
"""So much of the shorter word, at its beginning, shows one stem."""
_USUAL, _SPREAD = 0.9, 0.08
"""Where the similarities lie among which there is a choice."""
_MOST_BELOW = 3.0
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
    above = max(-_MOST_BELOW, (near - _USUAL) / _SPREAD)
    few, many = sorted((len(found.stored_only), len(found.asked_only)))
    is_replaced = few == 1 == many
    respelt = _respelt(pair, found)
    slips, apart = _matched(pair, found, _differ_by_a_letter)
    reworded = math.log1p(max(0, _reworded(pair, found) - respelt))
    asks_otherwise = a.asks != b.asks and _VAGUE.isdisjoint((a.asks, b.asks))
    return np.array(
        (
            near,
            -math.log(1.002 - near),
            _contained(a.words, b.words),
            pair.stored.norms[:1] == pair.asked.norms[:1],
            asks_otherwise,
            asks_otherwise * above,
            _persons(found, stored=True) != _persons(found, stored=False),
            reworded,
            math.log1p(slips),
            math.log1p(slips + respelt) if apart == 0 else 0.0,
            math.log1p(len(found.edits)),
            (few == 0 and many == 1) * above,
            is_replaced and _heads_differ(found),
            is_replaced * reworded,
            few == 1 and many == 2,
            few > 0 and few + many == 4,
            math.log1p(_kin(pair, found)),
            _kinship(found),
            bool(found.moved) and max(len(found.stored), len(found.asked)) >= _LONG,
        ),
        dtype=np.float64,
    )


def nothing_differs(pair: Pair) -> bool:
    """Whether nothing is left of both texts when equal units in equal order are taken off."""
    found = difference(pair)
    return not found.edits and not found.moved


def _contained(a: frozenset[str], b: frozenset[str]) -> float:
    fewer = min(len(a), len(b))
    return len(a & b) / fewer if fewer else float(a == b)


def _persons(found: Difference, *, stored: bool) -> frozenset[str]:
    sides = (edit.stored if stored else edit.asked for edit in found.edits)
    return frozenset(unit.key for side in sides for unit in side if unit.role is Role.PERSON)


def _reworded(pair: Pair, found: Difference) -> int:
    """How many things both texts speak of in different words or forms."""
    stored, asked = pair.stored.plain, pair.asked.plain
    return sum(
        stored[one.start : one.end].lower() != asked[other.start : other.end].lower()
        for one, other in (*found.kept, *found.moved)
        if one.role is Role.CONTENT
    )


def _respelt(pair: Pair, found: Difference) -> int:
    """How many words `difference` takes for one though they are spelt or inflected otherwise."""
    # It gives them the stored key.
    both = zip(units(pair.asked).units, found.asked, strict=True)
    return sum(unit.key != now.key for unit, now in both)


def _matched(pair: Pair, found: Difference, alike: Callable[[str, str], bool]) -> tuple[int, int]:
    """How many words of one text have one that is alike in the other, and how many have none."""
    total = len(found.stored_only) + len(found.asked_only)
    if total > _MOST_UNITS:
        return 0, total
    rest = _written(pair.asked, found.asked_only)
    matched = 0
    for word in _written(pair.stored, found.stored_only):
        other = next((one for one in rest if alike(word, one)), None)
        if other is not None:
            rest.remove(other)
            matched += 1
    return matched, total - 2 * matched


def _written(text: Text, those: tuple[Unit, ...]) -> list[str]:
    """The stems of the words as they stand: keys would be those of their synonyms."""
    return [stem(text.plain[unit.start : unit.end].lower()) for unit in those]


def _kin(pair: Pair, found: Difference) -> int:
    """How many words that one text alone has look like one of the other: paying, payment."""
    return _matched(pair, found, _are_kin)[0]


def _are_kin(one: str, other: str) -> bool:
    if _differ_by_a_letter(one, other):
        return False
    short, long = sorted((one, other), key=len)
    if not one.isascii():
        shared = len({*one} & {*other})
        return len(long) > 1 and shared > 0 and 2 * shared >= min(len({*one}), len({*other}))
    if len(short) < _SHORTEST_KIN:
        return False
    return short in long or short[: _start(short)] == long[: _start(short)]


def _start(word: str) -> int:
    return max(_SHORTEST_KIN, math.ceil(_SHARED_START * len(word)))


def _heads_differ(found: Difference) -> bool:
    """Whether the first things that the texts speak of, often what is to be done, are others."""
    stored, asked = content(found.stored), content(found.asked)
    return stored[0].key != asked[0].key


def _kinship(found: Difference) -> float:
    """How alike in letters what stands for each other is, at the least: a slip of the pen."""
    return min(map(_alike, found.edits), default=1.0)


def _alike(edit: Edit) -> float:
    if not edit.stored or not edit.asked:
        return 1.0
    stored, asked = _letters(edit.stored), _letters(edit.asked)
    return len(stored & asked) / max(1, len(stored | asked))


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
    return _Reading(frozenset(text.norms), _asks(text))


def _asks(text: Text) -> str:
    for place, norm in enumerate(text.norms):
        if norm in _ANYWHERE or (place == 0 and norm in _ASKS):
            return _ASKS[norm] or norm
    return ""


def _language(text: Text) -> str:
    return _LANGUAGES.get(script_of(text.original), "")
