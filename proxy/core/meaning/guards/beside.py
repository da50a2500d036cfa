"""What two questions have in common beside the words that a guard has found in them."""

from collections.abc import Iterable
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.phrases import Hit, surface
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.units import Role, Unit

LEAST_IN_COMMON = 0.5
"""`Difference.share` below which no few words are what tells two texts apart: a cheap first look.

Short Chinese texts come near it, as each character of an unknown word counts."""


class Said(NamedTuple):
    """What a phrase of a text says."""

    key: str
    """What is compared."""
    shown: str
    """The phrase as it stands."""
    start: int
    end: int
    """Its place in `Text.plain`."""


def said(text: Text, hit: Hit) -> Said:
    """What a phrase says that was found in a list; `kind:` is taken off its key."""
    first, last = text.tokens[hit.first], text.tokens[hit.end - 1]
    return Said(hit.key.removeprefix("kind:"), surface(text, hit), first.start, last.end)


def share_beside(pair: Pair, stored: Iterable[Said], asked: Iterable[Said]) -> float:
    """The share of equal content, 0 to 1, without what was said; 1 where nothing else is."""
    apart = difference(pair)
    ours, theirs = tuple(stored), tuple(asked)
    left = _count(apart.stored_only, ours) + _count(apart.asked_only, theirs)
    total = _count(apart.stored, ours) + _count(apart.asked, theirs)
    return 1 - left / total if total else 1.0


def _count(those: tuple[Unit, ...], left_out: tuple[Said, ...]) -> int:
    return sum(
        unit.role is Role.CONTENT
        and not any(unit.start < one.end and one.start < unit.end for one in left_out)
        for unit in those
    )
