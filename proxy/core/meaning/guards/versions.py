"""Versions and generations: Python 3.10 and 3.11, GPT-4 and GPT-4o, iPhone 14 and iPhone 14 Pro.

Whole numbers (v2, Windows 11) are left to `numbers`, so that Java 17 and Java17 and 17 agree.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.guards.dates import Span
from proxy.core.meaning.guards.dates import read as read_dates
from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.measures import measure_at
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.pieces import Piece, leftovers, object_to
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token

NAME = "versions"


class Versions(NamedTuple):
    """The versions in a text."""

    dotted: tuple[Piece, ...]
    """Numbers with points that are no decimals: 3.10, 1.2.3."""
    glued: tuple[Piece, ...]
    """Letters and digits in one word: mp3, 4o, WT-44A."""
    suffixes: tuple[Piece, ...]
    """Pro, Max, Lite after a product."""
    tiers: tuple[Piece, ...]
    """Premium, gold, business: they may go without saying, but not give way to each other."""
    spans: tuple[Span, ...]
    """The digits here that are no quantity."""


def compare(pair: Pair) -> Objection | None:
    """Object if the texts name different versions or generations."""
    stored, asked = pair.stored.fact(read), pair.asked.fact(read)
    if stored == asked:
        return None
    stored_rest, asked_rest = leftovers(
        stored.dotted + stored.suffixes, asked.dotted + asked.suffixes
    )
    if not stored_rest and not asked_rest:
        stored_rest = _absent(stored.glued, pair.asked)
        asked_rest = _absent(asked.glued, pair.stored)
        if not (stored_rest and asked_rest):
            stored_rest = [piece for piece in stored_rest if _is_cut(piece, pair.asked)]
            asked_rest = [piece for piece in asked_rest if _is_cut(piece, pair.stored)]
    return object_to(NAME, stored_rest, asked_rest) or _other_tier(stored, asked)


def _other_tier(stored: Versions, asked: Versions) -> Objection | None:
    stored_rest, asked_rest = leftovers(stored.tiers, asked.tiers)
    return object_to(NAME, stored_rest, asked_rest) if stored_rest and asked_rest else None


def _absent(pieces: Sequence[Piece], other: Text) -> list[Piece]:
    return [piece for piece in pieces if not _holds(other.tokens, str(piece.key))]


def _holds(tokens: Sequence[Token], key: str) -> bool:
    """Whether a word of letters and digits stands there, in one piece or in several: ES 6."""
    for first, token in enumerate(tokens):
        if not key.startswith(token.norm):
            continue
        written = ""
        for place in range(first, len(tokens)):
            if tokens[place].kind is not Kind.SIGN:
                written += tokens[place].norm
            if len(written) >= len(key):
                if written == key and not _runs_on(tokens, place + 1):
                    return True
                break
    return False


def _runs_on(tokens: Sequence[Token], place: int) -> bool:
    if place >= len(tokens) or tokens[place].start != tokens[place - 1].end:
        return False
    return tokens[place].kind in (Kind.NUMBER, Kind.WORD)


def _is_cut(piece: Piece, other: Text) -> bool:
    """Whether the other text has its digits without the letters after them: GPT-4o and GPT-4."""
    digits = str(piece.key).rstrip("abcdefghijklmnopqrstuvwxyz")
    if digits == piece.key:
        return False
    digits = digits.lstrip("abcdefghijklmnopqrstuvwxyz")
    return any(token.kind is Kind.NUMBER and token.norm == digits for token in other.tokens)


def read(text: Text) -> Versions:
    """The versions in a text."""
    tokens = text.tokens
    dotted: list[Piece] = []
    glued: list[Piece] = []
    suffixes: list[Piece] = []
    spans: list[Span] = []
    products = _products().find(tokens)
    ends = {hit.end for hit in products}
    if any(token.kind is Kind.NUMBER for token in tokens):
        dates = text.fact(read_dates).spans
        for first, end in _runs(tokens):
            start, stop = tokens[first].start, tokens[end - 1].end
            if any(start < span.end and span.start < stop for span in dates):
                continue
            _sort(text, first, end, ends, dotted, glued, spans)
    if products:
        suffixes += _suffixes(text, ends)
    tiers = tuple(Piece(hit.key, surface(text, hit)) for hit in _tiers().find(tokens))
    return Versions(tuple(dotted), tuple(glued), tuple(suffixes), tiers, tuple(spans))


@cache
def _tiers() -> Phrases:
    return _each_alone("tiers.txt")


@cache
def _products() -> Phrases:
    return _each_alone("products.txt")


def _each_alone(name: str) -> Phrases:
    lists = groups("proxy.core.meaning.guards", name)
    return Phrases((word,) for group in lists for word in group)


def _runs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Numbers and Latin words without a blank between them, with a number among them."""
    first = 0
    while first < len(tokens):
        end = first
        holds_number = False
        while end < len(tokens) and tokens[end].kind in (Kind.NUMBER, Kind.WORD):
            if end > first and tokens[end].start != tokens[end - 1].end:
                break
            holds_number |= tokens[end].kind is Kind.NUMBER
            end += 1
        if holds_number:
            yield first, end
        first = max(end, first + 1)


def _sort(
    text: Text,
    first: int,
    end: int,
    ends: set[int],
    dotted: list[Piece],
    glued: list[Piece],
    spans: list[Span],
) -> None:
    tokens = text.tokens
    written = text.plain[tokens[first].start : tokens[end - 1].end]
    span = Span(tokens[first].start, tokens[end - 1].end)
    numbers = [place for place in range(first, end) if tokens[place].kind is Kind.NUMBER]
    number = numbers[0]
    norm = tokens[number].norm
    is_version = norm.count(".") > 1 or (
        "." in norm and number + 1 == end and _follows_product(text, number, ends)
    )
    if is_version and "," not in norm:
        dotted.append(Piece(norm, written))
        spans.append(span)
        return
    if end == first + 1 or _is_quantity(text, first, end):
        return
    if end == first + 2 and (end in ends or (number > first and len(tokens[first].norm) > 3)):
        return  # python3, iphone14: a product and a whole number
    glued.append(Piece(written.lower(), written))
    if end > first + 2:
        spans.append(span)


def _follows_product(text: Text, number: int, ends: set[int]) -> bool:
    tokens = text.tokens
    before = number - 1
    if before >= 0 and tokens[before].norm in ("-", "/", "_"):
        before -= 1
    if before < 0:
        return False
    if before + 1 in ends:
        return True
    word = tokens[before]
    named = word.kind is Kind.WORD and text.plain[word.start].isupper()
    return named and before > 0 and measure_at(tokens, number + 1) is None


_QUANTITY_TAILS = frozenset({"st", "nd", "rd", "th", "k", "s", "x", "bn", "mn", "am", "pm"})


def _is_quantity(text: Text, first: int, end: int) -> bool:
    """Whether letters after digits are a unit (5km, 10th, 5k, 1h30m), or before them money."""
    tokens = text.tokens
    if tokens[first].kind is Kind.WORD:
        measured = measure_at(tokens, first)
        is_money = measured is not None and measured[0].is_money
        return end == first + 2 and (tokens[first].norm == "v" or is_money)
    for place in range(first + 1, end, 2):
        word = tokens[place]
        raw = text.plain[word.start : word.end]
        if word.norm in _QUANTITY_TAILS:
            continue
        if measure_at(tokens, place) is None or raw == "G":
            return False
    return True


@cache
def _suffix_words() -> Phrases:
    return _each_alone("suffixes.txt")


def _suffixes(text: Text, ends: set[int]) -> Iterator[Piece]:
    tokens = text.tokens
    for end in sorted(ends):
        place = end
        while place < len(tokens):
            hit = _suffix_words().at(tokens, place)
            if hit is None:
                if tokens[place].kind is not Kind.NUMBER:
                    break
                place += 1
                continue
            first = tokens[place]
            if len(first.norm) > 1 or hit.end > place + 1 or _runs_on(tokens, place):
                yield Piece(hit.key, surface(text, hit))
            place = hit.end
