"""Scope: how much is meant (all, only, the first), and what restricts one question alone."""

import re
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import content, difference, surface
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Hit, Phrases
from proxy.core.meaning.phrases import surface as written
from proxy.core.meaning.text import Kind, Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, units

NAME = "scope"

_LONGEST = 5
_SHORT = 4
"""Content units of a plain statement: there every word more counts."""
_COPULAS = frozenset({"is", "are", "was", "were", "did"})
_AUXILIARIES = _COPULAS | {"do", "does", "can", "will", "must", "should", "have", "has"}
_EXPLETIVES = frozenset({"there", "it", "this", "these", "those", "that"})
_LEAST_SHARE = 0.75
"""Texts that have less in common do not hang on one word."""
_MOST_SHARE = 0.8
"""What a weak word needs."""
_WEAK = frozenset({"only", "both", "alone", "half", "partial", "either", "部分"})
"""Words that are as often put in for emphasis."""
_AGAINST = frozenset({"最后", "all", "some"})
"""Words that tell only against another one: what is asked for ends anyway."""
_ONLY_IF = frozenset("要是")
_LISTED = re.compile("哪些|求|有什么|有啥|都有|名单")
"""What asks for a list asks for all of it anyway."""
_COUNTED = frozenset("一二两三四五六七八九十几这那哪每多半单")
"""Before 只: a count, and 只 is how animals are counted."""
_OF_STATEMENTS = frozenset({"used to", "becoming", "simultaneously", "all", "some"})
"""Words that tell in `is she becoming a judge` and say little in most other questions."""
_MARKERS = frozenset({"in", "without", "during", "before", "after", "on"})
_MARKERS |= {"在", "给", "从", "除了"}
"""Small words that begin a phrase which restricts."""


def compare(pair: Pair) -> Objection | None:
    """Object where a scope word or a restricting phrase is in one text only."""
    return _words_apart(pair) or _restricted(pair)


def _words_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if stored.keys() == asked.keys():
        return None
    share = difference(pair).share
    if share < _LEAST_SHARE:
        return None
    ours, theirs = _telling(stored, asked, pair, share), _telling(asked, stored, pair, share)
    if _AGAINST.issuperset((*ours, *theirs)) and not (ours and theirs):
        return None
    return Objection(NAME, next(iter(ours.values()), ""), next(iter(theirs.values()), ""))


def _telling(
    these: dict[str, str], those: dict[str, str], pair: Pair, share: float
) -> dict[str, str]:
    """The scopes of one text that the other has not in any way, and that change the answer."""
    return {
        name: shown
        for name, shown in these.items()
        if name not in those
        and (name not in _WEAK or share >= _MOST_SHARE)
        and (name not in _OF_STATEMENTS or _states(pair, _AUXILIARIES))
        and not _has_both(shown, pair)
        and not (name == "全部" and _LISTED.search(pair.stored.plain + pair.asked.plain))
    }


def _has_both(shown: str, pair: Pair) -> bool:
    """Whether both texts have the last word: `the first thing I do`, `what I do first`."""
    last = shown.lower().rpartition(" ")[2]
    return last.isascii() and last in pair.stored.norms and last in pair.asked.norms


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
    if len(those) == 1 and those[0].key in _restricting():
        return True
    if all(unit.key in _empty() or unit.key.isdigit() for unit in those):
        return False
    markers = those[0].markers
    if markers:
        return markers[-1] in _MARKERS
    return len(those) == 1 and _states(pair, _COPULAS) and _is_short(pair)


def _states(pair: Pair, verbs: frozenset[str]) -> bool:
    """Whether both ask if someone or something is so: whatever is added says more of it."""
    return all(
        text.norms[0] in verbs and text.norms[1] not in _EXPLETIVES
        for text in (pair.stored, pair.asked)
        if len(text.norms) > 1
    )


def _is_short(pair: Pair) -> bool:
    apart = difference(pair)
    return max(len(content(apart.stored)), len(content(apart.asked))) <= _SHORT


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
    """Words that make another thing of what they are added to."""
    return _keys("restricting")


def _keys(name: str) -> frozenset[str]:
    """The keys of the listed words that are one unit."""
    listed = words(__package__, f"{name}_en.txt") | words(__package__, f"{name}_zh.txt")
    found = (units(Text(word)).units for word in listed)
    return listed.union(those[0].key for those in found if len(those) == 1)


@cache
def _scopes() -> Phrases:
    return Phrases(groups(__package__, "scope_en.txt") + groups(__package__, "scope_zh.txt"))


def _read(text: Text) -> dict[str, str]:
    """The scopes that a text names, with the words that name them."""
    found: dict[str, str] = {}
    for hit in _scopes().find(text.tokens):
        if text.tokens[hit.first].norm == "只" and _is_counted(text, hit):
            continue
        found.setdefault(hit.key, written(text, hit))
    return found


def _is_counted(text: Text, hit: Hit) -> bool:
    """Whether 只 is how something is counted, or part of 只要: 三只猫."""
    if hit.end < len(text.tokens) and text.tokens[hit.end].norm in _ONLY_IF:
        return True
    before = text.tokens[hit.first - 1] if hit.first else None
    return before is not None and (before.norm in _COUNTED or before.kind is Kind.NUMBER)
