"""Names: places, people, firms, products, acronyms; Latin words in Chinese texts."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import difference
from proxy.core.meaning.language import Language, are_both, language_of
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.pieces import object_to, spaced, squeezed
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token

NAME = "names"

_PACKAGE = "proxy.core.meaning.guards"


class Name(NamedTuple):
    """A name in a text."""

    key: str
    """In lower case; of a known name the first one of its group."""
    surface: str
    is_known: bool
    """Whether a list has it; otherwise it is only written like a name."""
    is_needed: bool
    """Whether a text without it, and without another in its place, asks something else."""


def compare(pair: Pair) -> Objection | None:
    """Object if one name stands for another, or if one is left out that narrows the question."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if stored == asked:
        return None
    mine, yours = _missing(stored, asked, pair.asked), _missing(asked, stored, pair.stored)
    if mine and yours:
        mine, yours = _without_spellings(mine, yours)
    if not (mine and yours):
        mine = [name for name in mine if name.is_needed]
        yours = [name for name in yours if name.is_needed]
    if (mine or yours) and not _are_known(mine, yours) and _is_beside(pair):
        return None
    return object_to(NAME, mine, yours)


_LEAST_SHARE = 0.6


def _are_known(mine: list[Name], yours: list[Name]) -> bool:
    """Whether both sides have names of a list, so that one clearly stands for the other."""
    return any(name.is_known for name in mine) and any(name.is_known for name in yours)


def _is_beside(pair: Pair) -> bool:
    """Whether English texts have so little in common that a name is not what tells them apart."""
    if not are_both(pair, Language.EN):
        return False
    apart = difference(pair)
    return apart.share < _LEAST_SHARE and not apart.is_small


def _missing(names: Sequence[Name], others: Sequence[Name], other: Text) -> list[Name]:
    there = {name.key for name in others}
    return [
        name
        for name in names
        if name.key not in there and (name.is_known or not _says(other, name.key))
    ]


def _without_spellings(mine: list[Name], yours: list[Name]) -> tuple[list[Name], list[Name]]:
    """Without the names that are one, but for a slip or an ending."""
    same = [(a, b) for a in mine for b in yours if _is_spelling(a, b)]
    return (
        [name for name in mine if all(name is not a for a, _ in same)],
        [name for name in yours if all(name is not b for _, b in same)],
    )


_ENDINGS = ("'s", "ing", "able", "ers", "ed", "er", "es", "s", "e")
_LONG = 7
"""From this length on one letter more, less or other is a slip."""


def _is_spelling(mine: Name, yours: Name) -> bool:
    if mine.is_known and yours.is_known:
        return False
    a, b = _bare(mine.key), _bare(yours.key)
    return a == b or (min(len(a), len(b)) >= _LONG - 1 and _is_slip(a, b))


def _bare(name: str) -> str:
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    return name[: -len(ending)] if ending and len(name) - len(ending) > 3 else name


def _is_slip(a: str, b: str) -> bool:
    if a == b or abs(len(a) - len(b)) > 1:
        return a == b
    start = next(
        (place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
        min(len(a), len(b)),
    )
    rest, other = a[start:], b[start:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]


def _says(other: Text, name: str) -> bool:
    """Whether a text has a word, in the plural, glued to another, or spelt out by its letters."""
    around = other.fact(spaced)
    if f" {name} " in around or f" {name}s " in around or f" {name}'s " in around:
        return True
    if name.endswith("s") and f" {name[:-1]} " in around:
        return True
    if len(name) > 3 and name in other.fact(squeezed):
        return True
    return 1 < len(name) < 6 and name in other.fact(_initials)


def _initials(text: Text) -> str:
    return "".join(token.norm[0] for token in text.tokens if token.kind is Kind.WORD)


def _read(text: Text) -> tuple[Name, ...]:
    tokens = text.tokens
    chinese = language_of(text) is Language.ZH
    found: list[Name] = []
    used: set[int] = set()
    for hit in (_chinese() if chinese else _english()).find(tokens):
        written = surface(text, hit)
        if hit.end == hit.first + 1 and not _is_name(text, hit.first, written):
            continue
        before = tokens[hit.first - 1].norm if hit.first else ""
        narrows = written not in _HERE if chinese else before in _NARROWING
        found.append(Name(hit.key, written, is_known=True, is_needed=narrows))
        used.update(range(hit.first, hit.end))
    found += _latin(text, used) if chinese else _capitals(text, used)
    return tuple(found)


_HERE = frozenset({"我国"})
"""Names of where the asker is: they go without saying."""
_NARROWING = frozenset({"in", "on", "for", "from", "to", "at"})


_CURRENCIES = frozenset({"usd", "eur", "gbp", "jpy", "cny", "inr", "aud", "cad", "chf", "hkd"})
_CURRENCIES |= {"sgd", "krw", "rmb"}
"""Units of the numbers beside them."""


def _is_name(text: Text, place: int, written: str) -> bool:
    norm = written.lower()
    if norm in _CURRENCIES:
        around = text.tokens[max(place - 1, 0) : place + 2]
        return all(token.kind is not Kind.NUMBER for token in around)
    if norm in words(_PACKAGE, "names_acronyms.txt"):
        return written.isupper() and text.plain != text.plain.upper()
    if norm in words(_PACKAGE, "names_words.txt"):
        return written[0].isupper() and not _begins(text.plain, text.tokens, place)
    return True


@cache
def _english() -> Phrases:
    return _phrases("en")


@cache
def _chinese() -> Phrases:
    return _phrases("zh")


def _phrases(language: str) -> Phrases:
    alone = groups(_PACKAGE, f"names_{language}.txt")
    return Phrases(
        [
            *groups(_PACKAGE, f"names_{language}_same.txt"),
            *((name,) for line in alone for name in line),
        ]
    )


def _latin(text: Text, used: set[int]) -> Iterator[Name]:
    for place, token in enumerate(text.tokens):
        if token.kind is Kind.WORD and place not in used:
            written = text.plain[token.start : token.end]
            yield Name(token.norm, written, is_known=False, is_needed=True)


_CLOSERS = frozenset(".?!:;\"'\u201c\u2018([\u2022-*>")
_SHOUTING = 0.6
"""Where more of the words than this have capitals, they say nothing."""


def _capitals(text: Text, used: set[int]) -> Iterator[Name]:
    tokens = text.tokens
    plain = text.plain
    if plain == text.folded:
        return
    common = words(_PACKAGE, "names_common_words.txt")
    found = [
        place
        for place, token in enumerate(tokens)
        if token.kind is Kind.WORD and plain[token.start : token.end] != token.norm
    ]
    is_title = _is_title(text, found)
    for place in found:
        token = tokens[place]
        word = plain[token.start : token.end]
        if place in used or token.norm in common or "\u2019" in word:
            continue
        inner = not word[1:].islower() and len(word) > 1
        if is_title and not (inner and not word.isupper()):
            continue
        if inner or not _begins(plain, tokens, place):
            key = token.norm.removesuffix("'s")
            yield Name(key, word, is_known=False, is_needed=False)


def _is_title(text: Text, capitals: Sequence[int]) -> bool:
    latin = [token for token in text.tokens if token.kind is Kind.WORD]
    return len(latin) > 2 and len(capitals) > _SHOUTING * len(latin)


def _begins(plain: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether a word begins a sentence, where every word has a capital."""
    if place == 0:
        return True
    before = tokens[place - 1]
    return before.norm in _CLOSERS or "\n" in plain[before.end : tokens[place].start]
