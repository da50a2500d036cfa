"""What differs between two questions when their wording is set aside: the alignment of their units.

Shared by guards and verifier; computed once a pair. The longest common subsequence is found over
the places where keys are equal (Hunt and Szymanski), so it costs little where words are different.
"""

from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

from proxy.core.meaning.kin import kin
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Pair, Text
from proxy.core.meaning.units import Role, Unit, units

_REPEATS = 8
"""So many places of one key are looked at: bounds the work on texts that repeat a word."""

_FEW = 2
_MOST_APART = 8
"""Where more words than this differ it does not matter if two of them are kin."""


class Edit(NamedTuple):
    """A place where one text has something that the other has not, or has otherwise."""

    stored: tuple[Unit, ...]
    asked: tuple[Unit, ...]


class Difference(NamedTuple):
    """What is left of two questions when equal units are taken off."""

    edits: tuple[Edit, ...]
    moved: tuple[tuple[Unit, Unit], ...]
    """The same unit at another place of the order."""
    kept: tuple[tuple[Unit, Unit], ...]
    """The same unit at the same place of the order."""
    stored: tuple[Unit, ...]
    asked: tuple[Unit, ...]
    """All units of the texts."""
    stored_only: tuple[Unit, ...]
    asked_only: tuple[Unit, ...]
    """Content that only one text has."""

    @property
    def share(self) -> float:
        """The share of the content of both texts that is equal, 0 to 1; 1 where there is none."""
        total = len(content(self.stored)) + len(content(self.asked))
        apart = len(self.stored_only) + len(self.asked_only)
        return 1 - apart / total if total else 1.0

    @property
    def is_small(self) -> bool:
        """Whether no more than two words tell the texts apart, however short they are."""
        return len(self.stored_only) + len(self.asked_only) <= _FEW


def difference(pair: Pair) -> Difference:
    """The difference of a pair; computed once."""
    return pair.fact(_compare)


def surface(text: Text, found: tuple[Unit, ...]) -> str:
    """The piece of the text from the first of the units to the last; empty for none."""
    return text.plain[found[0].start : found[-1].end] if found else ""


def content(those: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """The units that are content."""
    return tuple(unit for unit in those if unit.role is Role.CONTENT)


def _compare(pair: Pair) -> Difference:
    stored, asked = units(pair.stored).units, _with_keys_of_kin(pair)
    matches = common([unit.key for unit in stored], [unit.key for unit in asked])
    gaps: list[Edit] = []
    here = there = 0
    for one, other in [*matches, (len(stored), len(asked))]:
        if one > here or other > there:
            gaps.append(Edit(stored[here:one], asked[there:other]))
        here, there = one + 1, other + 1
    edits, moved = _without_moved(gaps)
    return Difference(
        edits,
        moved,
        tuple((stored[one], asked[other]) for one, other in matches),
        stored,
        asked,
        content(tuple(unit for edit in edits for unit in edit.stored)),
        content(tuple(unit for edit in edits for unit in edit.asked)),
    )


def _with_keys_of_kin(pair: Pair) -> tuple[Unit, ...]:
    """The asked units, under the stored key where a word is but spelt or inflected otherwise."""
    asked = units(pair.asked).units
    ours, theirs = pair.stored.fact(_latin), pair.asked.fact(_latin)
    apart = ours.keys() - theirs.keys()
    if not apart or len(apart) > _MOST_APART:
        return asked
    same = {
        key: mine
        for key in theirs.keys() - ours.keys()
        for mine in apart
        if kin(ours[mine], theirs[key])
    }
    if not same:
        return asked
    return tuple(unit._replace(key=same.get(unit.key, unit.key)) for unit in asked)


def _latin(text: Text) -> dict[str, str]:
    """The content of a text in Latin letters, by key: as it stands, whatever it is a synonym of."""
    return {
        unit.key: stem(text.folded[unit.start : unit.end])
        for unit in units(text).units
        if unit.role is Role.CONTENT and unit.key.isascii()
    }


def _without_moved(gaps: list[Edit]) -> tuple[tuple[Edit, ...], tuple[tuple[Unit, Unit], ...]]:
    ours = {unit.key: unit for gap in gaps for unit in gap.stored}
    theirs = {unit.key: unit for gap in gaps for unit in gap.asked}
    both = ours.keys() & theirs.keys()
    if not both:
        return tuple(gaps), ()
    spare = Counter(unit.key for gap in gaps for unit in gap.stored)
    spare &= Counter(unit.key for gap in gaps for unit in gap.asked)
    left, right = spare.copy(), spare.copy()
    edits = [Edit(_less(gap.stored, left), _less(gap.asked, right)) for gap in gaps]
    return (
        tuple(edit for edit in edits if edit.stored or edit.asked),
        tuple((unit, theirs[key]) for key, unit in ours.items() if key in both),
    )


def _less(those: tuple[Unit, ...], spare: Counter[str]) -> tuple[Unit, ...]:
    rest = []
    for unit in those:
        if spare[unit.key] > 0:
            spare[unit.key] -= 1
        else:
            rest.append(unit)
    return tuple(rest)


def common(stored: list[str], asked: list[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence, in order."""
    start = 0
    shorter = min(len(stored), len(asked))
    while start < shorter and stored[start] == asked[start]:
        start += 1
    end = 0
    while end < shorter - start and stored[-1 - end] == asked[-1 - end]:
        end += 1
    middle = _subsequence(stored[start : len(stored) - end], asked[start : len(asked) - end])
    return [
        *((place, place) for place in range(start)),
        *((one + start, other + start) for one, other in middle),
        *((len(stored) - left, len(asked) - left) for left in range(end, 0, -1)),
    ]


class _Link(NamedTuple):
    stored: int
    asked: int
    before: "_Link | None"


def _subsequence(stored: list[str], asked: list[str]) -> list[tuple[int, int]]:
    places: dict[str, list[int]] = {}
    for place, key in enumerate(asked):
        where = places.setdefault(key, [])
        if len(where) < _REPEATS:
            where.append(place)
    ends: list[int] = []
    links: list[_Link] = []
    for one, key in enumerate(stored):
        for other in reversed(places.get(key, ())):
            length = bisect_left(ends, other)
            link = _Link(one, other, links[length - 1] if length else None)
            if length == len(ends):
                ends.append(other)
                links.append(link)
            else:
                ends[length], links[length] = other, link
    found = []
    last = links[-1] if links else None
    while last is not None:
        found.append((last.stored, last.asked))
        last = last.before
    return found[::-1]
