"""Scope: how much is meant (all, only, the first), and what restricts one question alone."""

from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import content, difference, surface
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.phrases import surface as written
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, units

NAME = "scope"

_LONGEST = 5
_COPULAS = frozenset({"is", "are", "was", "were"})
_LEAST_SHARE = 0.5
"""Texts that have less in common do not hang on one word."""
_MARKERS = frozenset({"in", "under", "without", "during", "within", "at", "on", "before", "after"})
_MARKERS |= {"在", "用", "给", "从", "对", "按", "除了", "通过"}
"""Small words that begin a phrase which restricts."""


def compare(pair: Pair) -> Objection | None:
    """Object where a scope word or a restricting phrase is in one text only."""
    return _words_apart(pair) or _restricted(pair)


def _words_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if stored.keys() == asked.keys() or difference(pair).share < _LEAST_SHARE:
        return None
    ours = [stored[name] for name in stored if name not in asked]
    theirs = [asked[name] for name in asked if name not in stored]
    return Objection(NAME, ours[0] if ours else "", theirs[0] if theirs else "")


def _restricted(pair: Pair) -> Objection | None:
    """A restricting phrase that one text has on top of all that the other says."""
    found = added(pair)
    if found is None:
        return None
    text, those, is_stored = found
    if not _restricts(those, pair):
        return None
    shown = surface(text, those)
    return Objection(NAME, shown, "") if is_stored else Objection(NAME, "", shown)


def _restricts(those: tuple[Unit, ...], pair: Pair) -> bool:
    if any(unit.key in _restricting() for unit in those):
        return True
    if all(unit.key in _empty() for unit in those):
        return False
    markers = those[0].markers
    return markers[-1] in _MARKERS if markers else _states(pair)


def _states(pair: Pair) -> bool:
    """Whether both ask if a thing is so: then whatever is added says more of it."""
    return all(text.norms[:1] and text.norms[0] in _COPULAS for text in (pair.stored, pair.asked))


class Added(NamedTuple):
    """Content that one text has on top of all that the other says, in one place."""

    text: Text
    units: tuple[Unit, ...]
    is_stored: bool


def added(pair: Pair) -> Added | None:
    """What one text says on top of the other, None where they differ otherwise."""
    return pair.fact(_added)


def _added(pair: Pair) -> Added | None:
    apart = difference(pair)
    if bool(apart.stored_only) is bool(apart.asked_only):
        return None
    if any(unit.role is Role.CONTENT for unit, _ in (*apart.moved, *apart.kept)) is False:
        return None
    places = [
        those for edit in apart.edits if (those := content(edit.stored) or content(edit.asked))
    ]
    if len(places) != 1 or len(places[0]) > _LONGEST:
        return None
    is_stored = bool(apart.stored_only)
    return Added(pair.stored if is_stored else pair.asked, places[0], is_stored)


@cache
def _empty() -> frozenset[str]:
    """Words that restrict nothing: what is asked about has them anyway."""
    return _keys("empty")


@cache
def _restricting() -> frozenset[str]:
    return _keys("restricting")


def _keys(name: str) -> frozenset[str]:
    english = words(__package__, f"{name}_en.txt")
    keys = (unit.key for word in english for unit in units(Text(word)).units)
    return words(__package__, f"{name}_zh.txt").union(keys)


@cache
def _scopes() -> Phrases:
    return Phrases(groups(__package__, "scope_en.txt") + groups(__package__, "scope_zh.txt"))


def _read(text: Text) -> dict[str, str]:
    """The scopes that a text names, with the words that name them."""
    found: dict[str, str] = {}
    for hit in _scopes().find(text.tokens):
        found.setdefault(hit.key, written(text, hit))
    return found
