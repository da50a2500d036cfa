"""Aspect: the same question of another time, degree or amount: is and was, safe and safest, all.

Tense tells only where nothing else says when: neither a date nor a thing that is over for good, as
who wrote a book is. Of two amounts both have to be named.
"""

import re
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Objection, Pair, Text
from proxy.core.meaning.units import Unit

NAME = "aspect"

_LEAST_SHARE = 0.9
_LEAST_SHARE_OF_AMOUNTS = 0.75
"""Texts that have less in common do not hang on one word."""
_PART = frozenset({"some", "any", "few", "one"})
"""Amounts that are taken for each other."""
_FEW_APART = 2
"""Content units that each text may have alone where a degree is to tell them apart."""


class _Place(NamedTuple):
    """What a word says, and how it stands in the text."""

    key: str
    shown: str


def compare(pair: Pair) -> Objection | None:
    """Object where the same is asked of another time, degree or amount."""
    return (
        _tenses_apart(pair) or _amounts_apart(pair) or _degrees_apart(pair) or _done_or_to_come(pair)
    )


def _tenses_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_tense), pair.asked.fact(_tense)
    if stored is None or asked is None or stored.key == asked.key:
        return None
    if "past" not in (stored.key, asked.key):
        return None
    if _says_when(pair.stored) or _says_when(pair.asked):
        return None
    if difference(pair).share < _LEAST_SHARE:
        return None
    return Objection(NAME, stored.shown, asked.shown)


def _tense(text: Text) -> _Place | None:
    """The tense of a text's first verb that carries one."""
    if _tense_signs().isdisjoint(text.norms):
        return None
    for hit in _tenses().find(text.tokens):
        if hit.key != "kind:none":
            return _Place(hit.key.removeprefix("kind:"), surface(text, hit))
    return None


@cache
def _tenses() -> Phrases:
    return Phrases(groups(__package__, "tenses_en.txt"))


@cache
def _tense_signs() -> frozenset[str]:
    return frozenset(Text(word).norms[0] for word in words(__package__, "tenses_en.txt"))


def _says_when(text: Text) -> bool:
    """Whether the text has a date, or speaks of what is over for good."""
    return text.fact(_reads_when)


def _reads_when(text: Text) -> bool:
    if any(token.kind is Kind.NUMBER for token in text.tokens):
        return True
    return not _timeless().isdisjoint(text.norms)


@cache
def _timeless() -> frozenset[str]:
    return words(__package__, "lasting_en.txt") | words(__package__, "dated_en.txt")


def _amounts_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_amounts), pair.asked.fact(_amounts)
    if not stored or not asked or not stored.keys().isdisjoint(asked):
        return None
    if _PART.issuperset((*stored, *asked)):
        return None
    if difference(pair).share < _LEAST_SHARE_OF_AMOUNTS:
        return None
    return Objection(NAME, next(iter(stored.values())), next(iter(asked.values())))


def _amounts(text: Text) -> dict[str, str]:
    """The amounts that a text names, with the words that name them."""
    if _amount_signs().isdisjoint(text.norms):
        return {}
    found: dict[str, str] = {}
    for hit in _known_amounts().find(text.tokens):
        if hit.key != "kind:none":
            found.setdefault(hit.key.removeprefix("kind:"), surface(text, hit))
    return found


@cache
def _known_amounts() -> Phrases:
    return Phrases(groups(__package__, "amounts.txt"))


@cache
def _amount_signs() -> frozenset[str]:
    return frozenset(Text(word).norms[0] for word in words(__package__, "amounts.txt"))


def _degrees_apart(pair: Pair) -> Objection | None:
    apart = difference(pair)
    ours, theirs = apart.stored_only, apart.asked_only
    if not ours or not theirs or max(len(ours), len(theirs)) > _FEW_APART:
        return None
    for one in ours:
        here = _degree(_word(pair.stored, one))
        for other in theirs if here else ():
            there = _degree(_word(pair.asked, other))
            if there and here and here[0] == there[0] and here[1] != there[1]:
                return Objection(NAME, _word(pair.stored, one), _word(pair.asked, other))
    return None


def _word(text: Text, unit: Unit) -> str:
    return text.folded[unit.start : unit.end]


@cache
def _irregular() -> dict[str, tuple[str, int]]:
    return {
        word: (plain, degree)
        for plain, *more in groups(__package__, "degrees_en.txt")
        for degree, word in enumerate((plain, *more))
    }


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(stem(word) for word in words(__package__, "adjectives_en.txt"))


def _degree(word: str) -> tuple[str, int] | None:
    """The plain form of an adjective, and whether it is as such, more of it (1) or most (2)."""
    known = _irregular().get(word)
    if known is not None:
        return known
    for ending, degree in (("er", 1), ("est", 2), ("", 0)):
        plain = stem(word.removesuffix(ending))
        if word.endswith(ending) and plain in _adjectives():
            return plain, degree
    return None


def _done_or_to_come(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_phase), pair.asked.fact(_phase)
    if stored is None or asked is None or stored.key == asked.key:
        return None
    if difference(pair).share < _LEAST_SHARE:
        return None
    return Objection(NAME, stored.shown, asked.shown)


_TO_COME = re.compile(
    r"(?<![需重主必想不只首次还])"
    r"(快要|就要|将要|即将|马上要|要)(?![求是不点么多怎几什素紧])[^,.?!;\u3002\u3001]{1,8}?了(?![解不])"
)
"""What is about to be: 要下雨了."""
_DONE = re.compile(r"已经|了(?![解不])")


def _phase(text: Text) -> _Place | None:
    """Whether a Chinese text says that something is done (了) or about to be (要...了)."""
    if _PHASE_SIGNS.isdisjoint(text.norms):
        return None
    to_come = _TO_COME.search(text.plain)
    if to_come:
        return _Place("to come", to_come[1])
    done = _DONE.search(text.plain)
    return _Place("done", done[0]) if done else None


_PHASE_SIGNS = frozenset({"了", "已"})
