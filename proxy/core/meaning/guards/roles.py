"""Roles: who does it to whom, where small words do not tell but the order of the clause does.

A text is read as its terms in the order subject, verb, object: `who did Apple sue` is apple, sue,
who; `is the cat chased by the dog` is dog, chase, cat; 我被他打了 is 他, 打, 我. Terms that have
exchanged their places have exchanged their roles, unless the two hold both ways (`marry`, `A and B`)
or only a phrase with its own small word has moved.
"""

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token
from proxy.core.meaning.units import (
    Piece,
    Role,
    phrases,
    pieces,
    simplified,
    spelled_out,
    stemmed,
)

NAME = "roles"

_MOST = 24
"""Longer texts are not simple clauses."""
_SHARE = 0.7
"""So much of the longer text must be in the other for its order to tell anything."""
_NEAR = 4
"""Words within which what belongs to a verb stands before or after it."""

_ASKED = frozenset({"who", "whom", "what", "which"})
_HOW = frozenset({"how", "why", "when", "where", "whose"})
_DO = frozenset({"do", "does", "did"})
_BE = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
_HAVE = frozenset({"has", "have", "had"})
_MODAL = frozenset({"can", "could", "should", "would", "will", "may", "might", "must", "shall"})
_FRONTED = _DO | _BE | _HAVE | _MODAL
_DETERMINERS = frozenset({"a", "an", "the", "this", "that", "these", "those", "any", "every"})
_OWNERS = frozenset({"my", "your", "his", "our", "their", "its"})
_BOTH = frozenset({"and", "or", "versus", "vs", "nor", "between", ",", "&"})
_CLAUSES = frozenset({"if", "when", "while", "because", "before", "after", "unless", "until"})
_CLAUSES |= {"once", "since", "although", "whether", "that"}
_OTHER_MARKERS = frozenset({"of", "in", "on", "at", "to", "from", "into", "onto", "by", "with"})
_OTHER_MARKERS |= {"for", "about", "than", "as", "per", "via", "through", "over", "under", "against"}
_OTHER_MARKERS |= {"across", "during", "without", "within", "off", "then", "towards", "toward"}
_MARKERS = _BOTH | _CLAUSES | _OTHER_MARKERS


class Term(NamedTuple):
    """Somebody or something, or what is done."""

    key: str
    start: int
    end: int
    """Its place in `Text.plain`."""
    marker: str = ""
    """The small word before it."""
    acts: bool = False
    """Whether it stands where the one who acts stands."""
    owns: bool = False
    """Whether something of its own follows: `doctor's`."""
    is_name: bool = False
    """Whether it is in capitals within a sentence."""


def compare(pair: Pair) -> Objection | None:
    """Object where the same words are said of each other the other way round."""
    return None
