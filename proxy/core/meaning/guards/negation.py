"""Negation: one question denies what the other asks. Double negation is none."""

from collections import Counter
from functools import cache

from proxy.core.meaning.difference import difference
from proxy.core.meaning.language import Language, are_both
from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.polarity import Negation, negations, opposites, turned
from proxy.core.meaning.text import Objection, Pair, Text

NAME = "negation"

_LEAST_SHARE = 0.4
_LEAST_SHARE_EN = 0.6
"""Texts that have less in common deny different things; English ones say more beside."""


def compare(pair: Pair) -> Objection | None:
    """Object where one text has a negation more, or where one cannot and the other will not."""
    return _turned(pair) or _refused(pair)


def _refused(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_refusals), pair.asked.fact(_refusals)
    if not stored or not asked or not stored.keys().isdisjoint(asked):
        return None
    return Objection(NAME, *(next(iter(found.values())) for found in (stored, asked)))


@cache
def _known() -> Phrases:
    return Phrases(groups(__package__, "refusals.txt"))


def _refusals(text: Text) -> dict[str, str]:
    """Whether someone cannot or will not, with the words that say so."""
    return {hit.key: surface(text, hit) for hit in _known().find(text.tokens)}


def _turned(pair: Pair) -> Objection | None:
    """One text denies what the other asks, and no opposite makes up for it."""
    if not turned(pair) or opposites(pair):
        return None
    least = _LEAST_SHARE_EN if are_both(pair, Language.EN) else _LEAST_SHARE
    if difference(pair).share < least:
        return None
    stored, asked = negations(pair.stored).sure, negations(pair.asked).sure
    return Objection(NAME, _only(stored, asked), _only(asked, stored))


def _only(these: tuple[Negation, ...], those: tuple[Negation, ...]) -> str:
    """What the first text denies with and the second does not, as it stands."""
    spare = Counter(negation.key for negation in those)
    shown = []
    for negation in these:
        if spare[negation.key] > 0:
            spare[negation.key] -= 1
        else:
            shown.append(negation.shown)
    return " ".join(shown)
