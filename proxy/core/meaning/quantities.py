"""The quantities of a text: numbers with their units, in the base unit of their dimension."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.guards import dates, versions
from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.measures import Measure, measure_at
from proxy.core.meaning.numerals import Numeral, Value, begins_numeral, numeral_at
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.text import Kind, Text, Token

COUNT = ""
"""The dimension of a number without a unit."""


class Quantity(NamedTuple):
    """A number with its unit."""

    key: tuple[str, Value]
    """Dimension, and the number in the base unit of the dimension."""
    surface: str
    written: Value
    """The number as it is written, whatever its unit."""
    is_weak: bool
    """May go without saying: one, a day, the first."""


def read(text: Text) -> tuple[Quantity, ...]:
    """The quantities in a text, with the years and days of its dates."""
    tokens = text.tokens
    dated = text.fact(dates.read)
    found = [
        Quantity((COUNT, number.value), number.surface, number.value, is_weak=False)
        for number in dated.numbers
    ]
    if not any(
        token.kind is Kind.NUMBER or token.norm in _OPENERS or begins_numeral(token.norm)
        for token in tokens
    ):
        return tuple(found)
    skip = _skipped(text, dated)
    return (*found, *_merged(_quantities(text, skip), text))


@cache
def _idioms() -> Phrases:
    return Phrases(groups("proxy.core.meaning", "number_idioms.txt"))


def _skipped(text: Text, dated: dates.Dates) -> frozenset[int]:
    """The tokens that are digits or numerals of something else than a quantity."""
    skip = {place for hit in _idioms().find(text.tokens) for place in range(hit.first, hit.end)}
    spans = sorted((*dated.spans, *text.fact(versions.read).spans))
    for place, token in enumerate(text.tokens if spans else ()):
        while spans and spans[0].end <= token.start:
            del spans[0]
        if spans and spans[0].start <= token.start:
            skip.add(place)
    return frozenset(skip)


class _Place(NamedTuple):
    """The tokens of a quantity."""

    first: int
    end: int
    factor: float


def _quantities(text: Text, skip: frozenset[int]) -> Iterator[tuple[Quantity, _Place]]:
    tokens = text.tokens
    place = 0
    while place < len(tokens):
        if place not in skip:
            found = _quantity(text, place)
            if found is not None:
                yield found
                place = found[1].end
                continue
        place += 1


_ARTICLES = frozenset({"a", "an", "per", "each", "every", "many", "每", "几", "少"})
_UNIT_ASKED = frozenset({"in", "to", "into"})
_FREQUENCIES = frozenset({"hourly", "daily", "weekly", "monthly", "quarterly", "yearly"})
_FREQUENCIES |= {"annually"}
_ROMAN_NUMERALS = "ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi"
_ROMAN = {roman: value for value, roman in enumerate(_ROMAN_NUMERALS.split(), 2) if len(roman) > 1}
_OPENERS = frozenset(
    {*_ARTICLES, *_UNIT_ASKED, *_FREQUENCIES, *_ROMAN, "half", "半", "twice", "thrice", "quarter"}
)


def _quantity(text: Text, first: int) -> tuple[Quantity, _Place] | None:
    tokens = text.tokens
    token = tokens[first]
    numeral = numeral_at(tokens, first) or _other_number(text, first)
    if numeral is not None:
        return _with_unit(text, first, numeral)
    if token.norm in _FREQUENCIES:
        measured = measure_at(tokens, first)
    elif token.norm in _ARTICLES or token.norm in _UNIT_ASKED:
        measured = _unit_alone(tokens, first)
    else:
        measured = None
    if measured is None:
        return None
    measure, end = measured
    value, end = _and_a_half(tokens, 1, end)
    return _measured(text, first, end, value, measure, weak=value == 1)


def _other_number(text: Text, first: int) -> Numeral | None:
    """Half, twice, Roman numerals."""
    tokens = text.tokens
    norm = tokens[first].norm
    following = tokens[first + 1].norm if first + 1 < len(tokens) else ""
    if norm == "half" and (following in ("a", "an", "of", "-") or measure_at(tokens, first + 1)):
        return Numeral(0.5, first + 1 + (following in ("a", "an", "-")))
    if norm == "quarter" and following == "of":
        return Numeral(0.25, first + 1)
    if norm == "半" and following:
        end = first + 1 + (following == "个")
        return Numeral(0.5, end) if measure_at(tokens, end) else None
    if norm in ("twice", "thrice"):
        return Numeral(2 if norm == "twice" else 3, first + 1)
    if norm in _ROMAN and first and text.plain[tokens[first].start].isupper():
        before = tokens[first - 1]
        if text.plain[before.start].isupper() or before.norm in _NUMBERED:
            return Numeral(_ROMAN[norm], first + 1)
    return None


_NUMBERED = frozenset({"type", "part", "chapter", "phase", "level", "stage", "grade", "class"})
_NUMBERED |= {"war", "volume"}


def _unit_alone(tokens: Sequence[Token], first: int) -> tuple[Measure, int] | None:
    """The unit in `an hour`, `per day`, `how many miles`, 每天: in full words only."""
    if first + 1 >= len(tokens):
        return None
    begin = first + 1
    if tokens[begin].norm == "个" and begin + 1 < len(tokens):
        begin += 1
    measured = measure_at(tokens, begin)
    if measured is None:
        return None
    word = tokens[begin]
    norm = tokens[first].norm
    if word.kind is Kind.HAN:
        named = norm in ("每", "几") or (norm == "少" and first and tokens[first - 1].norm == "多")
        return measured if named and (norm != "几" or measured[0].dimension != COUNT) else None
    if word.norm in ("second", "stone", "bar", "foot", "real", "won") or word.kind is Kind.SIGN:
        return None
    if norm in _UNIT_ASKED and measured[0].dimension in ("time", "months"):
        # In minutes, but not in day and not to date.
        return measured if word.norm.endswith("s") else None
    return measured if len(word.norm) > 2 or norm == "many" or norm in _UNIT_ASKED else None


def _with_unit(text: Text, first: int, numeral: Numeral) -> tuple[Quantity, _Place] | None:
    tokens = text.tokens
    numeral = _whole_year(text, first, numeral)
    value, end = numeral.value, numeral.end
    if numeral.ordinal or isinstance(value, str):
        return _plain(text, first, numeral, weak=numeral.ordinal and value == 1)
    value, end = _and_a_half(tokens, value, end)
    begin = first
    if first and _is_minus(text, first):
        value, begin = -value, first - 1
    currency = _currency_before(text, first)
    if currency is not None and end < len(tokens) and tokens[end].norm == "m":
        value, end = value * 10**6, end + 1
    measured = _unit_after(text, first, end)
    if currency is not None and (measured is None or not measured[0].is_money):
        return _measured(text, first - 1, end, value, currency, weak=False)
    if measured is None:
        if numeral.is_one and not _counts(tokens, first, end):
            return None
        weak = numeral.is_one or (value == 1 and end < len(tokens) and tokens[end].norm == "个")
        return _plain(text, begin, Numeral(value, end), weak=weak)
    measure, end = measured
    if end < len(tokens) and tokens[end].norm == "半" and tokens[first].norm != "半":
        value, end = value + 0.5, end + 1
    return _measured(text, begin, end, value, measure, weak=numeral.is_one and value == 1)


_YEARS = re.compile(r"(?P<century>1[5-9]|20)\d\d[-/\u2013]\d\d\Z")


def _whole_year(text: Text, first: int, numeral: Numeral) -> Numeral:
    """With 1973-74 read as 1973 and 1974."""
    if first < 2 or len(text.tokens[first].norm) != 2:
        return numeral
    years = _YEARS.match(text.plain[text.tokens[first - 2].start : text.tokens[first].end])
    if years is None:
        return numeral
    return numeral._replace(value=int(years["century"] + text.tokens[first].norm))


_CLASSIFIERS = frozenset(
    "个種种首句篇份张本部段只条台款家位名项道件次套棵辆座双片间场门层杯碗瓶节页章封幅组类批对支根颗粒滴"
    "把头匹朵架艘顿曲则集人字口座倍栋碟盘袋盒箱桶包排行列步层楼遍轮题"
)


def _counts(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether a lone one is a number here, and not a pronoun or half of another word."""
    if tokens[first].norm == "one":
        return True
    return end < len(tokens) and tokens[end].norm in _CLASSIFIERS


def _and_a_half(tokens: Sequence[Token], value: float, end: int) -> tuple[float, int]:
    rest = [token.norm for token in tokens[end : end + 3]]
    if rest == ["and", "a", "half"]:
        return value + 0.5, end + 3
    if rest[:2] == ["个", "半"]:
        return value + 0.5, end + 2
    return value, end


def _is_minus(text: Text, first: int) -> bool:
    sign, number = text.tokens[first - 1], text.tokens[first]
    if sign.norm not in ("-", "\u2212") or sign.end != number.start:
        return False
    return sign.start == 0 or text.plain[sign.start - 1] in " ([=,<>"


_SKIPPED_BEFORE_UNITS = frozenset({"个", "多", "来", "余", "-"})


def _unit_after(text: Text, first: int, end: int) -> tuple[Measure, int] | None:
    tokens = text.tokens
    while end < len(tokens) and tokens[end].norm in _SKIPPED_BEFORE_UNITS:
        end += 1
    if tokens[end - 1].norm in _HALVES:
        while end < len(tokens) and tokens[end].norm in ("a", "an", "of"):
            end += 1
    if end >= len(tokens):
        return None
    word = tokens[end]
    measured = measure_at(tokens, end)
    if measured is None:
        return None
    number = tokens[first]
    if word.kind is Kind.WORD and len(word.norm) <= 2 and measured[1] == end + 1:
        glued = word.start == tokens[end - 1].end
        if number.kind is not Kind.NUMBER or (glued and text.plain[word.start : word.end] == "G"):
            return None
    if word.norm == "年" and number.kind is Kind.NUMBER and len(number.norm) == 4:
        return None
    return measured


_HALVES = frozenset({"half", "quarter", "third"})


def _currency_before(text: Text, first: int) -> Measure | None:
    if not first or text.tokens[first - 1].kind is Kind.HAN:
        return None
    measured = measure_at(text.tokens, first - 1)
    if measured is None or measured[1] != first or not measured[0].is_money:
        return None
    return measured[0]


def _plain(text: Text, first: int, numeral: Numeral, *, weak: bool) -> tuple[Quantity, _Place]:
    tokens = text.tokens
    surface = text.plain[tokens[first].start : tokens[numeral.end - 1].end]
    key = (COUNT, _rounded(numeral.value))
    return Quantity(key, surface, key[1], weak), _Place(first, numeral.end, 0)


def _measured(
    text: Text, first: int, end: int, value: float, measure: Measure, *, weak: bool
) -> tuple[Quantity, _Place]:
    tokens = text.tokens
    surface = text.plain[tokens[first].start : tokens[end - 1].end]
    base = _rounded(value * measure.factor)
    dimension = COUNT if measure.dimension == "percent" else measure.dimension
    written = base if dimension == COUNT else _rounded(value)
    return Quantity((dimension, base), surface, written, weak), _Place(first, end, measure.factor)


def _rounded(value: Value) -> Value:
    if isinstance(value, float):
        value = float(f"{value:.9g}")
        return int(value) if value.is_integer() else value
    return value


_JOINTS: tuple[list[str], ...] = ([], ["and"], ["又"], ["零"])


def _merged(found: Iterable[tuple[Quantity, _Place]], text: Text) -> list[Quantity]:
    """With 1 hour 30 minutes made one quantity."""
    tokens = text.tokens
    merged: list[tuple[Quantity, _Place]] = []
    for quantity, place in found:
        before, earlier = merged[-1] if merged else (None, place)
        if before is None or not _continues(tokens, before, earlier, quantity, place):
            merged.append((quantity, place))
            continue
        whole = _Place(earlier.first, place.end, place.factor)
        surface = text.plain[tokens[whole.first].start : tokens[whole.end - 1].end]
        total = float(before.key[1]) + float(quantity.key[1])
        key = (quantity.key[0], _rounded(total))
        weak = before.is_weak and quantity.is_weak
        merged[-1] = (Quantity(key, surface, before.written, weak), whole)
    return [quantity for quantity, _ in merged]


def _continues(
    tokens: Sequence[Token], before: Quantity, earlier: _Place, quantity: Quantity, place: _Place
) -> bool:
    if before.key[0] != quantity.key[0] or quantity.key[0] == COUNT:
        return False
    between = [token.norm for token in tokens[earlier.end : place.first]]
    return earlier.factor > place.factor and between in _JOINTS
