"""Negation: one question denies what the other asks. Double negation is none."""

from collections import Counter

from proxy.core.meaning.difference import difference
from proxy.core.meaning.polarity import Negation, negations, opposites, turned
from proxy.core.meaning.text import Objection, Pair

NAME = "negation"

_LEAST_SHARE = 0.4
"""Texts that have less in common deny different things."""


def compare(pair: Pair) -> Objection | None:
    """Object where one text has a negation more and no opposite makes up for it."""
    if not turned(pair) or opposites(pair) or difference(pair).share < _LEAST_SHARE:
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
