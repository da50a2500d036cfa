"""Opposites: one question has a word where the other has what excludes it (buy, sell; 上, 下)."""

from proxy.core.meaning.polarity import opposites, uneven
from proxy.core.meaning.text import Objection, Pair

NAME = "antonyms"


def compare(pair: Pair) -> Objection | None:
    """Object to opposites, unless a negation or a second pair of opposites makes up for them."""
    found = opposites(pair)
    if not found or uneven(pair):
        return None
    degrees = sum(opposite.degree for opposite in found)
    if degrees == 1 and len(found) > 1:
        return None
    first = found[0]
    return Objection(NAME, first.stored, first.asked)
