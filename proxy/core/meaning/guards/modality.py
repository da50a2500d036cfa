"""Modality: one question asks whether something can be done, the other whether it should or must.

A word may have several meanings: `can I` asks whether it is possible, or allowed. Two texts that
have none in common ask for different things. `How can I` and `could you tell me` ask for neither.
"""

from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.text import Kind, Objection, Pair, Text
from proxy.core.meaning.units import pieces

NAME = "modality"

_LEAST_SHARE = 0.75
"""Texts that have less in common do not hang on one word."""
_NONE: frozenset[str] = frozenset()
_EITHER = frozenset({"possible", "allowed", "expected"})
"""What `could you` and `would you` may mean: a request, or what people do."""
_OPEN_EN = frozenset({"what", "which", "where", "how", "whats"})
_OPEN_ZH = frozenset("什啥哪怎何咋几")
_NEAR = (frozenset({"advised", "obliged"}), frozenset({"possible", "expected"}))
_NEAR_ZH = (frozenset({"advised", "obliged", "expected"}),)
"""Meanings that are one where it is asked what, not whether: what one should read, or must."""


class _Modals(NamedTuple):
    """The modal words of a text."""

    meanings: frozenset[str]
    """possible, allowed, advised, obliged, expected: what any of them may mean."""
    shown: str
    """The first of them as it stands."""


def compare(pair: Pair) -> Objection | None:
    """Object where both texts have modal words, and these have no meaning in common."""
    stored = pair.stored.fact(_read)
    if not stored.meanings:
        return None
    asked = pair.asked.fact(_read)
    if not asked.meanings or not stored.meanings.isdisjoint(asked.meanings):
        return None
    if difference(pair).share < _LEAST_SHARE:
        return None
    return Objection(NAME, stored.shown, asked.shown)


def _read(text: Text) -> _Modals:
    norms = text.norms
    if not _beginnings().isdisjoint(norms):
        return _read_english(text)
    if not _characters().isdisjoint(norms):
        return _read_chinese(text)
    return _Modals(_NONE, "")


def _read_english(text: Text) -> _Modals:
    meanings, shown = _NONE, ""
    for hit in _english().find(text.tokens):
        found = _meanings(hit.key)
        if not found or _is_read_over(text, hit.first):
            continue
        meanings |= found
        shown = shown or surface(text, hit)
    if _OPEN_EN.isdisjoint(text.norms[:2]):
        return _Modals(meanings, shown)
    return _Modals(_with_near(meanings, _NEAR), shown)


def _with_near(
    meanings: frozenset[str], near: tuple[frozenset[str], ...]
) -> frozenset[str]:
    return meanings.union(*(those for those in near if not those.isdisjoint(meanings)))


def _is_read_over(text: Text, place: int) -> bool:
    """Whether the word before makes a noun of it, or asks how it is done."""
    return place > 0 and text.tokens[place - 1].norm in words(__package__, "modality_nouns_en.txt")


def _read_chinese(text: Text) -> _Modals:
    meanings, shown = _NONE, ""
    those = pieces(text)
    starts, ends = {piece.start for piece in those}, {piece.end for piece in those}
    for hit in _chinese().find(text.tokens):
        # Within a longer word, as 能 in 功能, it is none.
        whole = text.tokens[hit.first].start in starts and text.tokens[hit.end - 1].end in ends
        if whole:
            meanings |= _meanings(hit.key)
            shown = shown or surface(text, hit)
    if _OPEN_ZH.isdisjoint(text.norms):
        return _Modals(meanings, shown)
    return _Modals(_with_near(meanings, _NEAR_ZH), shown)


@cache
def _meanings(key: str) -> frozenset[str]:
    name = key.removeprefix("kind:")
    if name == "either":
        return _EITHER
    return frozenset(name.split("+")) - {"none"}


@cache
def _english() -> Phrases:
    return Phrases(groups(__package__, "modality_en.txt"))


@cache
def _beginnings() -> frozenset[str]:
    """The words that a modal phrase begins with: most texts have none, and are done with."""
    return frozenset(
        token.norm
        for word in words(__package__, "modality_en.txt")
        for token in Text(word).tokens[:1]
        if token.kind is Kind.WORD
    )


@cache
def _chinese() -> Phrases:
    return Phrases(groups(__package__, "modality_zh.txt"))


@cache
def _characters() -> frozenset[str]:
    return frozenset(
        token.norm
        for word in words(__package__, "modality_zh.txt")
        for token in Text(word).tokens[:1]
        if token.kind is Kind.HAN
    )
