"""English words as a clause is read by: small words, and the keys of those that say something."""

import re
from functools import cache, lru_cache
from typing import NamedTuple

from proxy.core.meaning.frames import BOTH, CLAUSES
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Token
from proxy.core.meaning.units import Role, phrases

ASKED = frozenset({"who", "whom", "what", "which"})
HOW = frozenset({"how", "why", "when", "where", "whose"})
DO = frozenset({"do", "does", "did"})
BE = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
HAVE = frozenset({"has", "have", "had"})
_MODAL = frozenset({"can", "could", "should", "would", "will", "may", "might", "must", "shall"})
FRONTED = DO | BE | HAVE | _MODAL
DETERMINERS = frozenset({"a", "an", "the", "this", "that", "these", "those", "any", "every"})
OWNERS = frozenset({"my", "your", "his", "her", "our", "their", "its"})
PREPOSITIONS = frozenset({"of", "in", "on", "at", "to", "from", "into", "onto", "by", "with"})
PREPOSITIONS |= {"for", "about", "than", "as", "per", "via", "through", "over", "under", "against"}
PREPOSITIONS |= {"across", "during", "without", "within", "off", "towards", "toward", "out", "up"}
MARKERS = BOTH | CLAUSES | PREPOSITIONS
_SHORT_VERB = re.compile(r"(?<=^[a-z]{2})ed?$")
_SHORT = 4
"""A word in -ly with no more letters is no adverb: `only`, `fly`."""


class Word(NamedTuple):
    """A word of a clause."""

    raw: str
    """As it is spelled out: `do` of `don't`."""
    token: Token
    """What is written."""
    owns: bool = False
    """Whether it is written as an owner: `doctor's`."""
    is_name: bool = False
    """Whether it is written with a capital."""


@cache
def persons() -> dict[str, str]:
    """The words for persons, each with the key that all its forms have: `me` and `my` are one."""
    lists = groups(__package__, "persons_en.txt")
    return {word: group[0] for group in lists for word in group}


@cache
def silent() -> frozenset[str]:
    """Words that play no part in who does what to whom."""
    return words(__package__, "frames_silent_en.txt")


@cache
def leading() -> frozenset[str]:
    """The keys of verbs after which somebody else acts: `make him pay`."""
    return frozenset(map(key_of, words(__package__, "frames_leading_en.txt")))


@lru_cache(maxsize=16384)
def key_of(raw: str) -> str:
    """What a word is compared by: equal for its forms and synonyms."""
    person = persons().get(raw)
    if person is not None:
        return person
    found = raw if raw.endswith("eed") else stem(raw)
    found = _keys().get(found, found)
    # `sue`, `sued` and `suing`, which are too short for the stemmer.
    return _SHORT_VERB.sub("", found)


@cache
def _keys() -> dict[str, str]:
    """The synonyms of a single stem."""
    found: dict[str, str] = {}
    for first, those in phrases().items():
        for phrase, entry in those:
            if len(phrase) == 1 and entry.role in (Role.CONTENT, Role.PERSON):
                found[first] = entry.key
    return found


def is_participle(raw: str) -> bool:
    """Whether a word may be the participle of a passive."""
    return raw in _participles() or (
        raw.endswith("ed") and not raw.endswith("eed") and len(raw) > 3
    )


@cache
def _participles() -> frozenset[str]:
    return words(__package__, "frames_participles_en.txt")


def is_silent(word: Word) -> bool:
    """Whether a word says nothing of who does what; adverbs do not either."""
    if word.raw == "a":
        # A letter in capitals is a name.
        return not word.is_name
    if word.raw.endswith("ly") and len(word.raw) > _SHORT:
        return not word.is_name
    return word.raw in silent()


def is_owner(those: list[Word], place: int) -> bool:
    """Whether the word at a place owns what follows: the `her` of `her boss`, not of `see her`."""
    raw = those[place].raw
    if raw != "her":
        return raw in OWNERS
    owned = following(those, place)
    return bool(owned) and owned not in MARKERS


def following(those: list[Word], place: int) -> str:
    """The next word that says something; empty for none."""
    rest = those[place + 1 :]
    return next((word.raw for word in rest if word.raw == "to" or not is_silent(word)), "")
