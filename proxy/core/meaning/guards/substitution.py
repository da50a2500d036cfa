"""One slot: two questions in one frame that ask about different things (`flights to Rome`).

The fillers must be words that no list equates and that do not look like one word misspelt or
shortened; where that is unsure there is no objection.
"""

from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import content, difference, surface
from proxy.core.meaning.lexicon import words
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, stemmed

NAME = "substitution"

_MOST_UNITS = 4
_LEAST_KEPT = 2
"""Content that the frame has at least: of less nothing can be told."""
_LEAST_SHARE = 0.5
"""What any frame must share."""
_LONG_SHARE = 0.7
"""What a frame must share where a filler has several words: it may be a phrase for one of them."""
_TYPO = ((4, 1), (8, 2))
"""Words of so many letters may differ in so many and still be one word misspelt."""
_SHARED_START = 0.65
"""So much of the shorter word, at the beginning, shows one stem; of at least so many letters:"""
_STEM = 4


class Slot(NamedTuple):
    """The one place where two texts differ in content, and how much they have in common."""

    stored: tuple[Unit, ...]
    asked: tuple[Unit, ...]
    kept: int
    """The content units of the frame."""
    share: float


def slot(pair: Pair) -> Slot | None:
    """The slot of a pair, None where the texts differ in no or in several places."""
    return pair.fact(_slot)


def compare(pair: Pair) -> Objection | None:
    """Object where one slot is filled with clearly different things, or names someone else."""
    return _filled(pair) or _someone_else(pair)


_THIRD = frozenset({"he", "she"})


def _someone_else(pair: Pair) -> Objection | None:
    """A name in place of he or she that both texts have, so that who is meant is open."""
    apart = difference(pair)
    for edit in apart.edits:
        if len(edit.stored) == len(edit.asked) == 1:
            keys = {edit.stored[0].key, edit.asked[0].key}
            if _THIRD.isdisjoint(keys) or apart.share < _LONG_SHARE:
                continue
            if any(unit.key in keys for unit, _ in apart.kept):
                here, there = surface(pair.stored, edit.stored), surface(pair.asked, edit.asked)
                return Objection(NAME, here, there)
    return None


def _filled(pair: Pair) -> Objection | None:
    found = slot(pair)
    if found is None or not _is_clear(found):
        return None
    stored, asked = surface(pair.stored, found.stored), surface(pair.asked, found.asked)
    if resembles(stored.lower(), asked.lower()) or _is_vague(found.stored, found.asked):
        return None
    if _is_deed(stored, found.stored, pair.stored) or _is_deed(asked, found.asked, pair.asked):
        return None
    return Objection(NAME, stored, asked)


def _is_clear(found: Slot) -> bool:
    """Whether the frame is long enough for its fillers to be what the questions are about."""
    if found.share < _LEAST_SHARE:
        return False
    if found.kept < _LEAST_KEPT:
        return found.kept == 1 and len(found.stored) == len(found.asked) == 1 and _is_latin(found)
    longest = max(len(found.stored), len(found.asked))
    return longest == 1 or not _is_latin(found) or found.share >= _LONG_SHARE


def _is_latin(found: Slot) -> bool:
    return found.stored[0].key.isascii()


@cache
def _vague() -> frozenset[str]:
    english = (" ".join(stemmed(word)) for word in words(__package__, "vague_en.txt"))
    return words(__package__, "vague_zh.txt").union(english)


def _is_vague(stored: tuple[Unit, ...], asked: tuple[Unit, ...]) -> bool:
    """Whether one of the fillers says little, so that the other may say the same."""
    return any(all(unit.key in _vague() for unit in those) for those in (stored, asked))


_BEFORE_VERBS = frozenset({"to", "i", "you", "we", "they", "he", "she", "people", "how"})
_BEFORE_VERBS |= {"not", "don't", "doesn't", "didn't", "can't"}
_ENDINGS = ("ly", "est", "ing", "ed")


def _is_deed(shown: str, those: tuple[Unit, ...], text: Text) -> bool:
    """Whether a filler is an English verb, adverb or superlative by its place or ending.

    Two of them often come to the same (`reduce`, `curb`), which two things seldom do.
    """
    if shown != shown.lower() or not shown.isascii():
        return False
    if shown.endswith(_ENDINGS):
        return True
    before = text.folded[: those[0].start].split()
    return bool(before) and before[-1] in _BEFORE_VERBS


def _slot(pair: Pair) -> Slot | None:
    apart = difference(pair)
    if apart.moved and any(unit.role is Role.CONTENT for unit, _ in apart.moved):
        return None
    sides = ((content(edit.stored), content(edit.asked)) for edit in apart.edits)
    places = [side for side in sides if any(side)]
    if len(places) != 1 or not all(places[0]) or max(map(len, places[0])) > _MOST_UNITS:
        return None
    kept = sum(unit.role is Role.CONTENT for unit, _ in apart.kept)
    return Slot(*places[0], kept, apart.share)


def resembles(one: str, other: str) -> bool:
    """Whether two fillers may be one thing: misspelt, shortened, or one within the other."""
    if one in other or other in one:
        # Without its first letter a word is another one: methanol, ethanol.
        return one[0] == other[0] or abs(len(one) - len(other)) > 1
    if one.isascii() and other.isascii():
        return _is_typo(one, other) or _start(one, other) >= _SHARED_START or _initials(one, other)
    return 2 * len(set(one) & set(other)) > max(len(one), len(other))


def _start(one: str, other: str) -> float:
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared / min(len(one), len(other)) if shared >= _STEM else 0.0


def _initials(one: str, other: str) -> bool:
    """Whether one is the first letters of the other's words."""
    short, long = sorted((one, other), key=len)
    return len(short) > 1 and short == "".join(word[0] for word in long.split())


def _is_typo(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    most = max((changes for letters, changes in _TYPO if shorter >= letters), default=0)
    # Who mistypes a word seldom mistypes its first letter: methanol is not ethanol.
    return most > 0 and one[0] == other[0] and edits(one, other, most) <= most


def edits(one: str, other: str, most: int) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours; `most` + 1 for more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        line = [row]
        for column, right in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (left != right))
            if row > 1 < column and left == other[column - 2] and one[row - 2] == right:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]
