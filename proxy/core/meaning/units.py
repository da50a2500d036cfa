"""A question as what it speaks of: content words in one form for all their wordings, in order.

Fillers are dropped, endings taken off, synonyms led to one key. Small words (of, to, 从, 比) become
the marker of the word after them. Chinese has no blanks: the longest words that the lists know are
taken, and what they do not know stays a character.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Text, Token


class Role(Enum):
    """What a unit is for."""

    CONTENT = "content"
    OPENER = "opener"
    """How the question begins: `how do I`, 为什么."""
    PERSON = "person"
    """I, you, him, 我, 他."""
    MARKER = "marker"
    """A small word: no unit of its own."""
    FILLER = "filler"
    """Says nothing: dropped."""


class Unit(NamedTuple):
    """A word or phrase of a question."""

    key: str
    """What is compared: equal for all wordings that the lists know."""
    role: Role
    markers: tuple[str, ...]
    """The small words since the unit before."""
    start: int
    end: int
    """Its place in `Text.plain`."""


class Units(NamedTuple):
    """A question in units."""

    units: tuple[Unit, ...]
    tail: tuple[str, ...]
    """The small words after the last unit."""

    @property
    def content(self) -> int:
        """How many units are content."""
        return sum(unit.role is Role.CONTENT for unit in self.units)


class Entry(NamedTuple):
    """What the lists say of a phrase."""

    key: str
    role: Role


class Piece(NamedTuple):
    """A word or phrase as it stands, small words and fillers too."""

    entry: Entry
    words: tuple[str, ...]
    """English: its stems. Chinese: the word, in simplified characters."""
    start: int
    end: int


_LISTS = (
    ("openers", Role.OPENER),
    ("persons", Role.PERSON),
    ("light", Role.MARKER),
    ("fillers", Role.FILLER),
    ("synonyms", Role.CONTENT),
)
_LONGEST_HAN = 12
_PERCENT = "percent"
"""What the sign % is read as."""


def units(text: Text) -> Units:
    """The units of a text; read once."""
    return text.fact(_read)


@cache
def phrases() -> dict[str, tuple[tuple[tuple[str, ...], Entry], ...]]:
    """English phrases in stems by their first word, the longest first."""
    found: dict[tuple[str, ...], Entry] = {}
    for name, role in _LISTS:
        for group in groups(__package__, f"{name}_en.txt"):
            for phrase in group:
                # A marker stands for nothing but itself.
                key = " ".join(stemmed(phrase if role is Role.MARKER else group[0]))
                found.setdefault(stemmed(phrase), Entry(key, role))
    first: dict[str, list[tuple[tuple[str, ...], Entry]]] = {}
    for stems in sorted(found, key=len, reverse=True):
        first.setdefault(stems[0], []).append((stems, found[stems]))
    return {word: tuple(those) for word, those in first.items()}


@cache
def han() -> dict[str, Entry]:
    """Chinese words; those that are only left whole are their own key."""
    found: dict[str, Entry] = {}
    for name, role in _LISTS:
        for group in groups(__package__, f"{name}_zh.txt"):
            for word in group:
                key = word if role is Role.MARKER else group[0]
                found.setdefault(word, Entry(key, role))
    whole = words(__package__, "words_zh.txt") | words(__package__, "opposites_zh.txt")
    for word in whole:
        if len(word) > 1:
            found.setdefault(word, Entry(word, Role.CONTENT))
    return found


@cache
def simplified() -> dict[int, str]:
    """Traditional characters to simplified ones, for `str.translate`."""
    pairs = groups(__package__, "traditional_zh.txt")
    return {ord(old): new for line in pairs for old, new in zip(line[0], line[1], strict=True)}


def stemmed(phrase: str) -> tuple[str, ...]:
    """The stems of a lower-case English phrase, contractions written out."""
    return tuple(stem(word) for piece in phrase.split() for word in spelled_out(piece))


@cache
def _contractions() -> dict[str, tuple[str, ...]]:
    return {
        short: tuple(full.split()) for short, full in groups(__package__, "contractions_en.txt")
    }


def spelled_out(word: str) -> tuple[str, ...]:
    """The words that a written word stands for: `don't` is do and not."""
    known = _contractions().get(word)
    if known is not None:
        return known
    head, apostrophe, rest = word.partition("'")
    if not apostrophe:
        return (word,)
    if rest == "t" and head.endswith("n"):
        return (head[:-1], "not")
    if rest == "m":
        return (head, "am")
    return (head,)


def stems_of(text: Text) -> tuple[tuple[str, ...], tuple[Token, ...]]:
    """The stems of a text's words, contractions written out, and where each is; read once."""
    return text.fact(_stems)


def _stems(text: Text) -> tuple[tuple[str, ...], tuple[Token, ...]]:
    found = [
        (stem(word), token)
        for token in text.tokens
        if token.kind is Kind.WORD
        for word in spelled_out(token.norm)
    ]
    return tuple(word for word, _ in found), tuple(token for _, token in found)


def pieces(text: Text) -> tuple[Piece, ...]:
    """A text cut into words and phrases; read once."""
    return text.fact(_cut)


def _cut(text: Text) -> tuple[Piece, ...]:
    found: list[Piece] = []
    run: list[Token] = []
    for token in text.tokens:
        if token.kind is Kind.SIGN and token.norm != "%":
            continue
        if run and not _goes_on(run[-1], token):
            found.extend(_cut_run(run))
            run = []
        run.append(token)
    if run:
        found.extend(_cut_run(run))
    return tuple(found)


def _goes_on(last: Token, token: Token) -> bool:
    if token.kind is Kind.HAN:
        return last.kind is Kind.HAN and last.end == token.start
    return last.kind is not Kind.HAN


def _cut_run(run: list[Token]) -> Iterator[Piece]:
    return _cut_han(run) if run[0].kind is Kind.HAN else _cut_latin(run)


def _cut_latin(tokens: list[Token]) -> Iterator[Piece]:
    stems: list[str] = []
    places: list[Token] = []
    for token in tokens:
        for word in _words(token):
            stems.append(word)
            places.append(token)
    known = phrases()
    if len(stems) == 1 == len(stems[0]):
        # A letter among Chinese is a name, not an article.
        known = {}
    place = 0
    while place < len(stems):
        entry, length = None, 1
        for phrase, meant in known.get(stems[place], ()):
            length = len(phrase)
            if length == 1 or tuple(stems[place : place + length]) == phrase:
                entry = meant
                break
        else:
            length = 1
        those = tuple(stems[place : place + length])
        last = places[place + length - 1]
        entry = entry or Entry(stems[place], Role.CONTENT)
        yield Piece(entry, those, places[place].start, last.end)
        place += length


def _words(token: Token) -> tuple[str, ...]:
    if token.kind is Kind.NUMBER:
        return (token.norm,)
    if token.kind is Kind.SIGN:
        return (_PERCENT,)
    return tuple(stem(word) for word in spelled_out(token.norm))


def _cut_han(tokens: list[Token]) -> Iterator[Piece]:
    run = "".join(token.norm for token in tokens).translate(simplified())
    known = han()
    place = 0
    while place < len(run):
        for length in range(min(_LONGEST_HAN, len(run) - place), 0, -1):
            entry = known.get(run[place : place + length])
            if entry is not None:
                break
        else:
            entry, length = Entry(run[place], Role.CONTENT), 1
        end = place + length
        yield Piece(entry, (run[place:end],), tokens[place].start, tokens[end - 1].end)
        place = end


def _read(text: Text) -> Units:
    found: list[Unit] = []
    markers: list[str] = []
    for entry, _, start, end in pieces(text):
        if entry.role is Role.MARKER:
            markers.append(entry.key)
        elif entry.role is not Role.FILLER:
            found.append(Unit(entry.key, entry.role, tuple(markers), start, end))
            markers.clear()
    return Units(tuple(found), tuple(markers))
