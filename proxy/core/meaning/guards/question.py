"""Kind of question: how, why, when, where, who, how many, how much, how long, which difference."""

from functools import cache

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.text import Objection, Pair, Text

NAME = "question"

_PAIRS = (
    ("how", "advise"),
    ("how", "where"),
    ("how", "why"),  # 怎么不 asks why
    ("why", "define"),  # 是什么意思 said of a message asks why
    ("which", "advise"),
    ("which", "where"),
    ("which", "who"),
    ("when", "duration"),
    ("when", "often"),
)
_SAFE = frozenset(frozenset(pair) for pair in _PAIRS)
"""Kinds that one answer may serve."""


def compare(pair: Pair) -> Objection | None:
    """Object where both texts ask, and none of their kinds of question is the same."""
    stored, asked = pair.stored.fact(kinds), pair.asked.fact(kinds)
    if not stored or not asked or not stored.keys().isdisjoint(asked):
        return None
    if any(frozenset((one, other)) in _SAFE for one in stored for other in asked):
        return None
    return Objection(NAME, next(iter(stored.values())), next(iter(asked.values())))


def kinds(text: Text) -> dict[str, str]:
    """The kinds of question that a text asks, with the words that ask; read through `fact`."""
    found: dict[str, str] = {}
    for hit in _asking().find(text.tokens):
        found.setdefault(hit.key.removeprefix("kind:"), surface(text, hit))
    found.pop("none", None)
    return found


@cache
def _asking() -> Phrases:
    return Phrases(groups(__package__, "kinds_en.txt") + groups(__package__, "kinds_zh.txt"))
