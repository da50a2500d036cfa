"""Terms of two frames that have exchanged their places: A M B here, B M A there."""

from collections import Counter
from typing import NamedTuple

from proxy.core.meaning.frames import MOST_TERMS, Term

_SHARE = 0.6
"""So much of the longer text must be in the other for its order to tell anything."""


class Exchange(NamedTuple):
    """A M B in the stored text and B M A in the asked one."""

    stored: tuple[Term, ...]
    asked: tuple[Term, ...]
    first: int
    last: int
    """How many terms A and B have."""

    @property
    def apart(self) -> int:
        """How many terms M has."""
        return len(self.stored) - self.first - self.last

    @property
    def one(self) -> tuple[Term, Term]:
        """The first term of A in both texts."""
        return self.stored[0], self.asked[-self.first]

    @property
    def other(self) -> tuple[Term, Term]:
        """The first term of B in both texts."""
        return self.stored[-self.last], self.asked[0]

    def has(self, key: str) -> bool:
        """Whether A or B has it."""
        blocks = (*self.stored[: self.first], *self.stored[-self.last :])
        return any(term.key == key for term in blocks)


def shared(
    stored: tuple[Term, ...], asked: tuple[Term, ...]
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The terms that both texts have; empty for texts that are too long or share too little."""
    shorter, longer = sorted((len(stored), len(asked)))
    if longer > MOST_TERMS or shorter < _SHARE * longer:
        return (), ()
    both = Counter(term.key for term in stored) & Counter(term.key for term in asked)
    if both.total() < max(2, _SHARE * longer):
        return (), ()
    return _common(stored, both), _common(asked, both)


def _common(those: tuple[Term, ...], both: Counter[str]) -> tuple[Term, ...]:
    left = both.copy()
    found = []
    for term in those:
        if left[term.key] > 0:
            left[term.key] -= 1
            found.append(term)
    return tuple(found)


def exchange(ours: tuple[Term, ...], theirs: tuple[Term, ...]) -> Exchange | None:
    """The terms that have exchanged their places; None for none.

    Both must have the same keys, in another order.
    """
    start, end = 0, len(ours)
    while ours[start].key == theirs[start].key:
        start += 1
    while ours[end - 1].key == theirs[end - 1].key:
        end -= 1
    # A and B may begin or end alike.
    for first, last in ((start, end), (0, end), (start, len(ours))):
        found = _blocks(ours[first:last], theirs[first:last])
        if found is not None:
            return found
    return None


def _blocks(ours: tuple[Term, ...], theirs: tuple[Term, ...]) -> Exchange | None:
    here, there = [term.key for term in ours], [term.key for term in theirs]
    for first in range(1, len(here)):
        # One term first: most places are no match.
        if here[0] != there[-first] or here[:first] != there[-first:]:
            continue
        for last in range(1, len(here) - first + 1):
            if here[-1] != there[last - 1]:
                continue
            if here[-last:] == there[:last] and here[first:-last] == there[last:-first]:
                return Exchange(ours, theirs, first, last)
    return None
