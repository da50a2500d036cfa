"""Yes or no: the negations of a question, and the opposites that stand between two questions.

A negation and an opposite cancel out (`not possible`, `impossible`), so both guards that look at
them, negation and antonyms, ask here.
"""

import re
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Pair, Text
from proxy.core.meaning.units import Role, pieces, simplified, stemmed, stems_of

_HAN = "\u4e00-\u9fff"
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "ab")
_DEGREE = frozenset(
    map(stem, ("more", "less", "fewer", "increase", "decrease", "reduce", "lower", "raise"))
)
_ROOT = 3
"""Letters that a word has at least without its prefix."""


class Negation(NamedTuple):
    """A word that denies."""

    key: str
    shown: str
    """As it stands in the text."""


class Negations(NamedTuple):
    """The words of a text that deny."""

    sure: tuple[Negation, ...]
    perhaps: frozenset[str]
    """Words that may be put for a negation: `avoid`, 失败."""


class Opposite(NamedTuple):
    """A word of the stored text and its opposite in the asked one."""

    stored: str
    asked: str
    degree: bool
    """More and less: another pair of opposites makes up for it."""


def negations(text: Text) -> Negations:
    """The negations of a text; read once."""
    return text.fact(_negations)


def opposites(pair: Pair) -> tuple[Opposite, ...]:
    """The opposites between two texts; found once."""
    return pair.fact(_opposites)


def uneven(pair: Pair) -> bool:
    """Whether one text has a negation more than the other, or three more."""
    stored, asked = negations(pair.stored), negations(pair.asked)
    return (len(stored.sure) - len(asked.sure)) % 2 == 1


def turned(pair: Pair) -> bool:
    """Whether the negations are uneven and no word that may deny makes up for it."""
    return uneven(pair) and negations(pair.stored).perhaps == negations(pair.asked).perhaps


# Negations


@cache
def _english() -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    found: dict[tuple[str, ...], str] = {}
    for name in ("affirming", "negations", "denying"):
        for phrase in words(__package__, f"{name}_en.txt"):
            found.setdefault(stemmed(phrase), name)
    first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for stems in sorted(found, key=lambda those: (-len(those), those)):
        first.setdefault(stems[0], []).append((stems, found[stems]))
    return {word: tuple(those) for word, those in first.items()}


@cache
def _chinese() -> re.Pattern[str]:
    def any_of(name: str) -> str:
        those = sorted(words(__package__, f"{name}_zh.txt"), key=lambda word: (-len(word), word))
        return "|".join(map(re.escape, those))

    # `无糖` is the opposite of `含糖`, not a negation besides.
    opposed = "|".join(
        sorted(
            word
            for word in words(__package__, "opposites_zh.txt")
            if re.search("..*[不无未非]|[不无未非].", word)
        )
    )
    return re.compile(
        rf"(?P<affirming>(?P<one>[{_HAN}])[不没](?P=one)|(?P<two>[{_HAN}]{{2}})[不没](?P=two)"
        rf"|[不没]有?[啊呀呢]?(?=[?!。\s]*$|\?)|{any_of('affirming')}|{opposed})"
        rf"|(?P<negations>{any_of('negations')})|(?P<denying>{any_of('denying')})"
    )


def _negations(text: Text) -> Negations:
    sure: list[Negation] = []
    perhaps: set[str] = set()
    _of_words(text, sure, perhaps)
    if any(token.kind is Kind.HAN for token in text.tokens):
        for match in _chinese().finditer(text.plain.translate(simplified())):
            if match.lastgroup == "negations":
                sure.append(Negation(match[0], text.plain[match.start() : match.end()]))
            elif match.lastgroup == "denying":
                perhaps.add(match[0])
    return Negations(tuple(sure), frozenset(perhaps))


def _of_words(text: Text, sure: list[Negation], perhaps: set[str]) -> None:
    stems, spots = stems_of(text)
    known = _english()
    place = 0
    while place < len(stems):
        length = 1
        for phrase, name in known.get(stems[place], ()):
            if stems[place : place + len(phrase)] == phrase:
                length = len(phrase)
                key = " ".join(phrase)
                if name == "negations":
                    end = spots[place + length - 1].end
                    sure.append(Negation(key, text.plain[spots[place].start : end]))
                elif name == "denying":
                    perhaps.add(key)
                break
        place += length


# Opposites


@cache
def _sides() -> dict[str, frozenset[tuple[int, int]]]:
    """The lines of the lists that a word is in, and its place there."""
    found: dict[str, set[tuple[int, int]]] = {}
    line = 0
    for name in ("opposites_en.txt", "opposites_zh.txt"):
        for group in groups(__package__, name):
            line += 1
            for place, word in enumerate(group):
                for form in {" ".join(stemmed(word.replace("-", " "))), word}:
                    found.setdefault(form, set()).add((line, place))
    return {word: frozenset(those) for word, those in found.items()}


@cache
def _longest() -> dict[str, tuple[tuple[str, ...], ...]]:
    """The phrases of the English list by their first stem."""
    first: dict[str, list[tuple[str, ...]]] = {}
    for group in groups(__package__, "opposites_en.txt"):
        for word in group:
            those = stemmed(word.replace("-", " "))
            if len(those) > 1:
                first.setdefault(those[0], []).append(those)
    return {word: tuple(those) for word, those in first.items()}


class _Sides(NamedTuple):
    of: dict[int, dict[int, str]]
    """Line -> place in the line -> the word of the text."""
    stems: tuple[str, ...]
    shown: dict[str, str]
    """A stem as it stands in the text."""


def _read(text: Text) -> _Sides:
    of: dict[int, dict[int, str]] = {}
    known = _sides()
    stems, spots = stems_of(text)
    longest = _longest()
    for place, word in enumerate(stems):
        for phrase in longest.get(word, ()):
            if stems[place : place + len(phrase)] == phrase:
                shown = text.plain[spots[place].start : spots[place + len(phrase) - 1].end]
                for line, side in known[" ".join(phrase)]:
                    of.setdefault(line, {}).setdefault(side, shown)
        for line, side in known.get(word, ()):
            shown = text.plain[spots[place].start : spots[place].end]
            of.setdefault(line, {}).setdefault(side, shown)
    for piece in pieces(text):
        alike = piece.entry.key if piece.entry.role is Role.CONTENT else ""
        for term in (alike, piece.words[0]):
            for line, side in known.get(term, ()):
                shown = text.plain[piece.start : piece.end]
                of.setdefault(line, {}).setdefault(side, shown)
    shown_stems = {
        word: text.plain[spot.start : spot.end] for word, spot in zip(stems, spots, strict=True)
    }
    return _Sides(of, stems, shown_stems)


def _opposites(pair: Pair) -> tuple[Opposite, ...]:
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    found: dict[tuple[str, str], Opposite] = {}
    for line in stored.of.keys() & asked.of.keys():
        ours, theirs = stored.of[line], asked.of[line]
        if ours.keys().isdisjoint(theirs):
            one, other = next(iter(ours.values())), next(iter(theirs.values()))
            if not _at_one_place(one, other, pair):
                continue
            found[one, other] = Opposite(one, other, stem(one.lower()) in _DEGREE)
    if stored.stems != asked.stems:
        for one, other in (*_prefixed(stored.stems, asked.stems), *_particles(stored, asked)):
            here, there = stored.shown[one], asked.shown[other]
            found.setdefault((here, there), Opposite(here, there, degree=False))
    return tuple(sorted(found.values(), key=_clearest))


def _clearest(found: Opposite) -> tuple[int, list[str]]:
    """The longest first, whichever text is the stored one."""
    return -len(found.stored) - len(found.asked), sorted(found[:2])


def _at_one_place(one: str, other: str, pair: Pair) -> bool:
    """Whether a single Chinese character has the same neighbour; words and phrases always."""
    if len(one) > 1 or len(other) > 1:
        return True
    ours, theirs = _neighbours(one, pair.stored.plain), _neighbours(other, pair.asked.plain)
    return not ours.isdisjoint(theirs)


def _neighbours(word: str, plain: str) -> set[str]:
    place = plain.find(word)
    end = place + len(word)
    return {f"{plain[place - 1 : place]} _", f"_ {plain[end : end + 1]}"}


def _prefixed(stored: tuple[str, ...], asked: tuple[str, ...]) -> list[tuple[str, str]]:
    ours, theirs = set(stored), set(asked)
    ours, theirs = ours - theirs, theirs - ours
    return [
        *((word, bare) for word in ours if (bare := _without_prefix(word)) in theirs),
        *((bare, word) for word in theirs if (bare := _without_prefix(word)) in ours),
    ]


def _without_prefix(word: str) -> str:
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) >= len(prefix) + _ROOT:
            return word[len(prefix) :]
    return word + " "


@cache
def _opposed_particles() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in groups(__package__, "particles_en.txt"):
        for one in group:
            found.setdefault(one, set()).update(other for other in group if other != one)
    return {one: frozenset(others) for one, others in found.items()}


def _particles(stored: _Sides, asked: _Sides) -> list[tuple[str, str]]:
    """Particles that are turned round at the same place: after the same word and before one."""
    known = _opposed_particles()
    ours, theirs = _with_neighbours(stored.stems, known), _with_neighbours(asked.stems, known)
    return [
        (one, other)
        for one, mine in ours.items()
        for other, his in theirs.items()
        if other in known[one]
        and one not in asked.stems
        and other not in stored.stems
        and mine & his
    ]


def _with_neighbours(
    stems: tuple[str, ...], known: dict[str, frozenset[str]]
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for place, word in enumerate(stems):
        if word in known:
            before = stems[place - 1] if place else ""
            after = stems[place + 1] if place + 1 < len(stems) else ""
            found.setdefault(word, set()).update({f"{before} _", f"_ {after}"})
    return found
