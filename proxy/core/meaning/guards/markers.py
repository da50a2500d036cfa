"""Small words: what both questions speak of is where from here and where to there, for and against.

What a small word says belongs to the word behind it, so it is compared where both texts have that
word. How one thing hangs on another (if, unless, because, 如果, 除非) is compared for whole texts.
"""

from functools import cache

from proxy.core.meaning.difference import Difference, difference, surface
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.phrases import surface as written
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, pieces, simplified, stemmed

NAME = "markers"

_LEAST_SHARE = 0.75
"""Texts that have less in common do not hang on a small word."""
_ANY = "any"
"""A word that may stand for several of the others."""


def compare(pair: Pair) -> Objection | None:
    """Object where the same word has another part, or the same clause hangs on otherwise."""
    return _conditions_apart(pair) or _parts_apart(pair)


def _parts_apart(pair: Pair) -> Objection | None:
    if _tells(pair.stored) and _tells(pair.asked):
        apart = difference(pair)
        if apart.share >= _LEAST_SHARE:
            return _of_parts(pair, apart)
    return None


def _of_parts(pair: Pair, apart: Difference) -> Objection | None:
    for one, other in (*apart.kept, *apart.moved):
        if one.markers == other.markers or not one.markers or not other.markers:
            continue
        field = _field_apart(one, other)
        if field is not None and not _says_nothing(field, one, pair, apart):
            return Objection(NAME, _shown(pair.stored, one), _shown(pair.asked, other))
    return None


def _field_apart(one: Unit, other: Unit) -> str | None:
    """The field in which two words have parts that exclude each other."""
    ours, theirs = _parts_of(one.markers), _parts_of(other.markers)
    for field, parts in ours.items():
        if field in theirs and parts.isdisjoint(theirs[field]):
            return field
    return None


def _says_nothing(field: str, unit: Unit, pair: Pair, apart: Difference) -> bool:
    """Whether the parts of this field are one in these texts."""
    if field == "link":
        return _compares(pair.stored) or _compares(pair.asked) or not _joins(unit, apart)
    if field == "way":
        return _is_symmetric(pair.stored) or _is_symmetric(pair.asked)
    return field == "loan" and not (_takes(pair.stored) and _takes(pair.asked))


def _joins(unit: Unit, apart: Difference) -> bool:
    """Whether the word before is in both texts too: `a fork and a knife`, `a fork or a knife`."""
    before = None
    for one, _ in apart.kept:
        if one is unit:
            return before is not None and before.end <= unit.start
        before = one if one.role is Role.CONTENT else None
    return False


def _shown(text: Text, unit: Unit) -> str:
    """The word with the small word before it."""
    start = text.folded.rfind(unit.markers[0], 0, unit.start)
    return surface(text, (unit._replace(start=start if start >= 0 else unit.start),))


@cache
def _parts() -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for name in ("markers_en.txt", "markers_zh.txt"):
        for kind, *those in groups(__package__, name):
            field, _, part = kind.partition(":")
            for word in those:
                key = stem(word) if word.isascii() else word
                found[key] = (*found.get(key, ()), (field, part))
    return found


def _parts_of(markers: tuple[str, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for marker in markers:
        for field, part in _parts().get(marker, ()):
            found.setdefault(field, set()).add(part)
    return found


def _tells(text: Text) -> bool:
    return not _signs().isdisjoint(text.norms)


@cache
def _signs() -> frozenset[str]:
    """The words and characters without which no text has a part."""
    return frozenset(
        token.norm
        for name in ("markers_en.txt", "markers_zh.txt")
        for _, *those in groups(__package__, name)
        for word in those
        for token in Text(word).tokens
    )


def _takes(text: Text) -> bool:
    """Whether the text has a verb that 给 turns to giving and 向 to taking: 借."""
    return not words(__package__, "taking_zh.txt").isdisjoint(text.norms)


def _compares(text: Text) -> bool:
    """Whether the text asks to choose or to tell apart: there `and` is `or`."""
    return text.fact(_reads_choice)


def _reads_choice(text: Text) -> bool:
    return any(word in _choices() for piece in pieces(text) for word in piece.words)


@cache
def _choices() -> frozenset[str]:
    english = words(__package__, "choices_en.txt")
    return words(__package__, "choices_zh.txt").union(
        word for entry in english for word in stemmed(entry)
    )


def _is_symmetric(text: Text) -> bool:
    """Whether the text speaks of what holds both ways: a distance."""
    return text.fact(_reads_symmetry)


def _reads_symmetry(text: Text) -> bool:
    if any(word in _symmetric() for piece in pieces(text) for word in piece.words):
        return True
    plain = text.plain.translate(simplified())
    return any(word in plain for word in words(__package__, "symmetric_zh.txt"))


@cache
def _symmetric() -> frozenset[str]:
    return frozenset(
        word for entry in words(__package__, "symmetric_en.txt") for word in stemmed(entry)
    )


def _conditions_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_conditions), pair.asked.fact(_conditions)
    if not stored or not asked or not stored.keys().isdisjoint(asked):
        return None
    if _ANY in stored or _ANY in asked or _makes_up_for_it(pair, stored, asked):
        return None
    if _share_without_conditions(difference(pair)) < _LEAST_SHARE:
        return None
    return Objection(NAME, next(iter(stored.values())), next(iter(asked.values())))


def _makes_up_for_it(pair: Pair, stored: dict[str, str], asked: dict[str, str]) -> bool:
    """Whether one says `unless` and the other `if not`."""
    if {"if", "unless"} != stored.keys() | asked.keys():
        return False
    other = difference(pair).stored if "if" in stored else difference(pair).asked
    return any(not _DENYING.isdisjoint(unit.markers) for unit in other)


_DENYING = frozenset({"not", "never", "without", "不", "没", "没有", "未", "不是"})


def _share_without_conditions(apart: Difference) -> float:
    keys = _condition_keys()
    left = sum(unit.key not in keys for unit in (*apart.stored_only, *apart.asked_only))
    total = sum(
        unit.role is Role.CONTENT and unit.key not in keys
        for unit in (*apart.stored, *apart.asked)
    )
    return 1 - left / total if total else 0.0


@cache
def _condition_keys() -> frozenset[str]:
    english = words(__package__, "conditions_en.txt")
    return words(__package__, "conditions_zh.txt").union(
        word for entry in english for word in stemmed(entry)
    )


def _conditions(text: Text) -> dict[str, str]:
    """What a text hangs on what by, with the words that say so; one at the beginning is another."""
    if _condition_signs().isdisjoint(text.norms):
        return {}
    found: dict[str, str] = {}
    for hit in _known().find(text.tokens):
        if hit.first or hit.key != "kind:any":
            found.setdefault(hit.key.removeprefix("kind:"), written(text, hit))
    return found


@cache
def _known() -> Phrases:
    return Phrases(groups(__package__, "conditions_en.txt") + groups(__package__, "conditions_zh.txt"))


@cache
def _condition_signs() -> frozenset[str]:
    lists = words(__package__, "conditions_en.txt") | words(__package__, "conditions_zh.txt")
    return frozenset(Text(word).norms[0] for word in lists if ":" not in word)
