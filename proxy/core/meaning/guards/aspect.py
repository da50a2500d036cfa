"""Aspect: the same question of another time, degree or amount: is and was, safe and safest, all.

Tense tells only where nothing else says when: neither a date nor a thing that is over for good, as
who wrote a book is. Of two amounts both have to be named.
"""

import re
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.guards.beside import LEAST_IN_COMMON, Said, said, share_beside
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Objection, Pair, Text
from proxy.core.meaning.units import Unit

NAME = "aspect"

_LEAST_SHARE = 0.9
_LEAST_SHARE_OF_AMOUNTS = 0.75
"""Texts that have less in common do not hang on one word."""
_TIMES_APART = frozenset(
    {
        frozenset({"past", "present"}),
        frozenset({"past", "future"}),
        frozenset({"perfect", "future"}),
    }
)
_SAID_LATE = frozenset({"future", "perfect"})
"""Tenses that a later word than the first verb tells."""
_COPULAS = frozenset({"is", "are", "was", "were"})
_SMALL = frozenset({"the", "a", "an", "my", "your", "his", "her", "our", "their"})
_SMALL |= {"to", "of", "in", "at", "on", "with", "by", "for", "from"}
"""Words that say more of somebody than a name does."""
_PART = frozenset({"some", "any", "few", "one"})
"""Amounts that are taken for each other."""
_FEW_APART = 2
"""Content units that each text may have alone where a degree is to tell them apart."""


class _Degree(NamedTuple):
    """A form of an adjective."""

    plain: str
    step: int
    """0 for the plain form, 1 for more of it, 2 for most."""


def compare(pair: Pair) -> Objection | None:
    """Object where the same is asked of another time, degree or amount."""
    found = None
    if difference(pair).share >= LEAST_IN_COMMON:
        found = _times_apart(pair) or _amounts_apart(pair)
    return found or _degrees_apart(pair)


def _times_apart(pair: Pair) -> Objection | None:
    return _tenses_apart(pair) or _phases_apart(pair)


def _tenses_apart(pair: Pair) -> Objection | None:
    here, there = pair.stored.fact(_times_in), pair.asked.fact(_times_in)
    if here == there:
        return None
    stored, asked = pair.stored.fact(_tenses), pair.asked.fact(_tenses)
    if not stored or not asked:
        return None
    ours, theirs = _leading(stored), _leading(asked)
    if frozenset((ours.key, theirs.key)) not in _TIMES_APART:
        return None
    if any(said.key == theirs.key for said in stored) or any(
        said.key == ours.key for said in asked
    ):
        # Why was, or is, he famous?
        return None
    if any(_says_when(text) or _is_of_a_name(text) for text in (pair.stored, pair.asked)):
        return None
    if difference(pair).share < _LEAST_SHARE:
        return None
    return Objection(NAME, ours.shown, theirs.shown)


def _leading(tenses: tuple[Said, ...]) -> Said:
    """The tense of a text: `is he going to` is future, and `has he been` perfect."""
    return next((said for said in tenses if said.key in _SAID_LATE), tenses[0])


def _tenses(text: Text) -> tuple[Said, ...]:
    """The tenses of a text in order, with the verbs that carry them."""
    return tuple(
        said(text, hit) for hit in _known_tenses().find(text.tokens) if hit.key != "kind:none"
    )


def _times_in(text: Text) -> frozenset[str]:
    """The words of a text that may tell of another time than the present."""
    return _times().intersection(text.norms)


@cache
def _times() -> frozenset[str]:
    return frozenset(
        Text(phrase).norms[0]
        for kind, *those in groups(__package__, "tenses_en.txt")
        for phrase in those
        if kind not in ("kind:none", "kind:present")
    )


@cache
def _known_tenses() -> Phrases:
    return Phrases(groups(__package__, "tenses_en.txt"))


def _says_when(text: Text) -> bool:
    """Whether the text has a date, or speaks of what is over for good."""
    return text.fact(_reads_when)


def _reads_when(text: Text) -> bool:
    if any(token.kind is Kind.NUMBER for token in text.tokens):
        return True
    return not _timeless().isdisjoint(text.norms)


def _is_of_a_name(text: Text) -> bool:
    """Whether the text only asks who or what a name is: who is, or was, Amundsen."""
    asks, verb, *rest = text.norms if len(text.norms) > 2 else ("", "", "")
    if verb not in _COPULAS:
        return False
    if asks == "who":
        return _SMALL.isdisjoint(rest)
    written = (text.plain[token.start] for token in text.tokens[2:] if token.kind is Kind.WORD)
    return asks == "what" and all(
        first.isupper() or norm == "the" for first, norm in zip(written, rest, strict=False)
    )


@cache
def _timeless() -> frozenset[str]:
    return words(__package__, "lasting_en.txt") | words(__package__, "dated_en.txt")


def _amounts_apart(pair: Pair) -> Objection | None:
    here, there = pair.stored.fact(_amounts_in), pair.asked.fact(_amounts_in)
    if not here or not there or here == there:
        return None
    stored, asked = pair.stored.fact(_amounts), pair.asked.fact(_amounts)
    if not stored or not asked:
        return None
    ours, theirs = {one.key for one in stored}, {one.key for one in asked}
    if not ours.isdisjoint(theirs) or ours | theirs <= _PART:
        return None
    if share_beside(pair, stored, asked) < _LEAST_SHARE_OF_AMOUNTS:
        return None
    return Objection(NAME, stored[0].shown, asked[0].shown)


def _amounts(text: Text) -> tuple[Said, ...]:
    """The amounts that a text names, in order."""
    return tuple(
        said(text, hit) for hit in _known_amounts().find(text.tokens) if hit.key != "kind:none"
    )


def _amounts_in(text: Text) -> frozenset[str]:
    """The words of a text that an amount may begin with."""
    return _amount_signs().intersection(text.norms)


@cache
def _amount_signs() -> frozenset[str]:
    return frozenset(
        Text(phrase).norms[0]
        for kind, *those in groups(__package__, "amounts.txt")
        for phrase in those
        if kind != "kind:none"
    )


@cache
def _known_amounts() -> Phrases:
    return Phrases(groups(__package__, "amounts.txt"))


def _degrees_apart(pair: Pair) -> Objection | None:
    apart = difference(pair)
    ours, theirs = apart.stored_only, apart.asked_only
    if not ours or not theirs or max(len(ours), len(theirs)) > _FEW_APART:
        return None
    for one in ours:
        here = _degree(pair.stored, one)
        for other in theirs if here else ():
            there = _degree(pair.asked, other)
            if here and there and _are_apart(here, there):
                return Objection(NAME, _word(pair.stored, one), _word(pair.asked, other))
    return None


def _are_apart(here: _Degree, there: _Degree) -> bool:
    """Whether they are two degrees of one adjective; to become good is to become better."""
    if here.plain != there.plain or here.step == there.step:
        return False
    return here.plain != "good" or {here.step, there.step} == {0, 2}


def _word(text: Text, unit: Unit) -> str:
    return text.folded[unit.start : unit.end]


@cache
def _irregular() -> dict[str, _Degree]:
    return {
        word: _Degree(plain, degree)
        for plain, *more in groups(__package__, "degrees_en.txt")
        for degree, word in enumerate((plain, *more))
    }


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(stem(word) for word in words(__package__, "adjectives_en.txt"))


def _degree(text: Text, unit: Unit) -> _Degree | None:
    """The degree of an adjective; `good` only where there is one: one asks for good ones anyhow."""
    word = _word(text, unit)
    if text.folded.startswith(" way", unit.end):
        # The fastest way to do it is how it is done fast.
        return None
    known = _irregular().get(word)
    if known is not None:
        return known if word != "good" or text.folded.endswith(" a ", 0, unit.start) else None
    for ending, step in (("er", 1), ("est", 2), ("", 0)):
        plain = stem(word.removesuffix(ending))
        if word.endswith(ending) and plain in _adjectives():
            return _Degree(plain, step)
    return None


def _phases_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_phase), pair.asked.fact(_phase)
    if stored is None or asked is None or stored.key == asked.key:
        return None
    if share_beside(pair, (stored,), (asked,)) < _LEAST_SHARE:
        return None
    return Objection(NAME, stored.shown, asked.shown)


_TO_COME = re.compile(
    r"(?<![需重主必想不只首次还])"
    r"(快要|就要|将要|即将|马上要|要)(?![求是不点么多怎几什素紧])[^,.?!;\u3002\u3001]{1,8}?了(?![解不])"
)
"""What is about to be: 要下雨了."""
_DONE = re.compile(r"(已经|了(?![解不]))")


def _phase(text: Text) -> Said | None:
    """Whether a Chinese text says that something is done (了) or about to be (要...了)."""
    if _PHASE_SIGNS.isdisjoint(text.norms):
        return None
    key, found = "to come", _TO_COME.search(text.plain)
    if found is None:
        key, found = "done", _DONE.search(text.plain)
    return Said(key, found[1], *found.span(1)) if found else None


_PHASE_SIGNS = frozenset({"了", "已"})
