"""Modality: one question asks whether something can be done, the other whether it should or must.

A word may have several meanings: `can I` asks whether it is possible, or allowed. Two texts that
have none in common ask for different things. `How can I` and `could you tell me` ask for neither.
"""

from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.guards.beside import LEAST_IN_COMMON, Said, said, share_beside
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import pieces

NAME = "modality"

_LEAST_SHARE = 0.75
"""Texts that have less in common do not hang on one word."""
_NONE: frozenset[str] = frozenset()
_EITHER = frozenset({"possible", "allowed", "expected"})
"""What `could you` and `would you` may mean: a request, or what people do."""
_OPEN_EN = frozenset({"what", "which", "where", "how", "when", "whats"})
_NEAR = (frozenset({"advised", "obliged"}), frozenset({"possible", "expected"}))
"""Meanings that are one where it is asked what, not whether: what one should read, or must."""
_OPEN_ZH = frozenset("什啥哪怎何咋几")
"""Characters of Chinese texts that ask what or how: there 能 and 该 say the same."""


class _Modals(NamedTuple):
    """The modal words of a text."""

    meanings: frozenset[str]
    """possible, allowed, advised, obliged, expected: what any of them may mean."""
    those: tuple[Said, ...]


def compare(pair: Pair) -> Objection | None:
    """Object where both texts have modal words, and these have no meaning in common."""
    here, there = pair.stored.fact(_signs_in), pair.asked.fact(_signs_in)
    if not here or not there or here == there:
        return None
    if difference(pair).share < LEAST_IN_COMMON:
        return None
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if not stored.meanings or not asked.meanings:
        return None
    if not stored.meanings.isdisjoint(asked.meanings):
        return None
    if share_beside(pair, stored.those, asked.those) < _LEAST_SHARE:
        return None
    return Objection(NAME, stored.those[0].shown, asked.those[0].shown)


def _signs_in(text: Text) -> frozenset[str]:
    """The words and characters of a text that may be modal: most texts have none."""
    return _signs().intersection(text.norms)


def _read(text: Text) -> _Modals:
    if any(sign.isascii() for sign in text.fact(_signs_in)):
        return _read_english(text)
    return _read_chinese(text)


def _read_english(text: Text) -> _Modals:
    those = tuple(
        said(text, hit)
        for hit in _english().find(text.tokens)
        if hit.key != "kind:none" and not _is_read_over(text, hit.first)
    )
    meanings = _NONE.union(*(_meanings(one.key) for one in those))
    if _OPEN_EN.isdisjoint(text.norms[:2]):
        return _Modals(meanings, those)
    return _Modals(meanings.union(*(near for near in _NEAR if near & meanings)), those)


def _is_read_over(text: Text, place: int) -> bool:
    """Whether the word before makes a noun of it, or asks how it is done."""
    return place > 0 and text.tokens[place - 1].norm in words(__package__, "modality_nouns_en.txt")


def _read_chinese(text: Text) -> _Modals:
    if not _OPEN_ZH.isdisjoint(text.norms):
        return _Modals(_NONE, ())
    cut = pieces(text)
    starts, ends = {piece.start for piece in cut}, {piece.end for piece in cut}
    # Within a longer word, as 能 in 功能, it is none.
    those = tuple(
        one
        for one in (said(text, hit) for hit in _chinese().find(text.tokens))
        if one.start in starts and one.end in ends
    )
    return _Modals(_NONE.union(*(_meanings(one.key) for one in those)), those)


@cache
def _meanings(key: str) -> frozenset[str]:
    return _EITHER if key == "either" else frozenset(key.split("+"))


@cache
def _english() -> Phrases:
    return Phrases(groups(__package__, "modality_en.txt"))


@cache
def _signs() -> frozenset[str]:
    """The longest word of each phrase: no text has the phrase without it."""
    lists = groups(__package__, "modality_en.txt") + groups(__package__, "modality_zh.txt")
    return frozenset(
        max(Text(phrase).norms, key=len)
        for kind, *those in lists
        for phrase in those
        if kind != "kind:none"
    )


@cache
def _chinese() -> Phrases:
    return Phrases(groups(__package__, "modality_zh.txt"))
