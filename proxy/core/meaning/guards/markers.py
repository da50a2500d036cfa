"""Small words: what both questions speak of is where from here and where to there, for and against.

What a small word says belongs to the word behind it, so it is compared where both texts have that
word. How one thing hangs on another (if, unless, because, 如果, 除非) is compared for whole texts.
"""

from functools import cache
from itertools import zip_longest

from proxy.core.meaning.difference import Difference, difference
from proxy.core.meaning.guards.beside import Said, said, share_beside
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, pieces, simplified, stemmed

NAME = "markers"

_LEAST_SHARE = 0.75
"""Texts that have less in common do not hang on a small word."""
_OWNERS = frozenset({"my", "your", "his", "her", "our", "their"})
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
    ours, theirs = _markers(pair.stored, apart.stored), _markers(pair.asked, apart.asked)
    for one, other in (*apart.kept, *apart.moved):
        here, there = ours[one.start], theirs[other.start]
        if here == there or not here or not there:
            continue
        field = _field_apart(here, there)
        if field is not None and not _says_nothing(field, one, pair, apart):
            return Objection(NAME, _shown(pair.stored, one, here), _shown(pair.asked, other, there))
    return None


def _markers(text: Text, those: tuple[Unit, ...]) -> dict[int, tuple[str, ...]]:
    """The small words of each unit by its place; those before `my phone` belong to the phone."""
    found: dict[int, tuple[str, ...]] = {}
    passed: tuple[str, ...] = ()
    for unit, after in zip_longest(those, those[1:]):
        markers = unit.markers or passed
        passed = ()
        if _is_owner(text, unit) and after is not None and not after.markers:
            markers, passed = (), markers
        found[unit.start] = markers
    return found


def _is_owner(text: Text, unit: Unit) -> bool:
    return unit.role is Role.PERSON and text.folded[unit.start : unit.end] in _OWNERS


def _field_apart(here: tuple[str, ...], there: tuple[str, ...]) -> str | None:
    """The field in which small words have parts that exclude each other."""
    ours, theirs = _parts_of(here), _parts_of(there)
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
    before = False
    for one, _ in apart.kept:
        if one is unit:
            return before
        before = one.role is Role.CONTENT
    return False


def _shown(text: Text, unit: Unit, markers: tuple[str, ...]) -> str:
    """The word with the small words before it."""
    start = text.folded.rfind(markers[0], 0, unit.start)
    return text.plain[start if start >= 0 else unit.start : unit.end]


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
    """Whether the text chooses, tells apart or asks for all there is: there `and` is `or`."""
    return text.fact(_reads_choice)


def _reads_choice(text: Text) -> bool:
    if not words(__package__, "choices_zh.txt").isdisjoint(text.norms):
        return True
    return any(word in _choices() for piece in pieces(text) for word in piece.words)


@cache
def _choices() -> frozenset[str]:
    return frozenset(
        word for entry in words(__package__, "choices_en.txt") for word in stemmed(entry)
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
    if not stored or not asked:
        return None
    ours, theirs = _kinds(stored), _kinds(asked)
    if not ours.isdisjoint(theirs) or _ANY in ours or _ANY in theirs:
        return None
    if ours | theirs == {"if", "unless"} and _denies(pair, "if" in ours):
        return None
    if share_beside(pair, stored, asked) < _LEAST_SHARE:
        return None
    return Objection(NAME, stored[0].shown, asked[0].shown)


def _kinds(those: tuple[Said, ...]) -> set[str]:
    return {kind for one in those for kind in one.key.split("+")}


def _denies(pair: Pair, is_stored: bool) -> bool:
    """Whether the text that says `if` has a negation, which is what `unless` says."""
    apart = difference(pair)
    those = apart.stored if is_stored else apart.asked
    return any(not _DENYING.isdisjoint(unit.markers) for unit in those)


_DENYING = frozenset({"not", "never", "without", "不", "没", "没有", "未", "不是"})


def _conditions(text: Text) -> tuple[Said, ...]:
    """The words of a text that say what it hangs on."""
    if _condition_signs().isdisjoint(text.norms):
        return ()
    # At the beginning `when` asks.
    return tuple(
        said(text, hit) for hit in _known().find(text.tokens) if hit.first or hit.key != "kind:any"
    )


@cache
def _known() -> Phrases:
    return Phrases(
        groups(__package__, "conditions_en.txt") + groups(__package__, "conditions_zh.txt")
    )


@cache
def _condition_signs() -> frozenset[str]:
    lists = words(__package__, "conditions_en.txt") | words(__package__, "conditions_zh.txt")
    return frozenset(Text(word).norms[0] for word in lists if ":" not in word)
