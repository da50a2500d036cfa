"""Numbers as they are written: in digits, in English words, in Chinese characters."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from proxy.core.meaning.text import Kind, Token

Value = float | str
"""A number; digits that are none (0471, 1.2.3, thirty places) stay as they are written."""


class Numeral(NamedTuple):
    """A number at a place."""

    value: Value
    end: int
    """The index of the token after it."""
    ordinal: bool = False
    is_one: bool = False
    """Only `one`, 一: an article as often as a number."""


_UNDER_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_RANKS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_SMALL = {word: value for value, word in enumerate(_UNDER_TWENTY.split())}
_TENS = {word: 10 * value for value, word in enumerate(_DECADES.split(), start=2)}
_ORDINALS = {word: value for value, word in enumerate(_RANKS.split(), start=1)} | {"thirtieth": 30}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_AFTER_DIGITS = _SCALES | _HAN_SCALES
_AFTER_DIGITS |= {"hundred": 100, "dozen": 12, "dozens": 12, "k": 1000, "bn": 10**9, "mn": 10**6}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4}
_PARTS |= {"fifth": 5, "fifths": 5, "tenth": 10, "tenths": 10}
_DIGITS = {
    "零": 0,
    "\u3007": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
}
_DIGITS |= {"七": 7, "八": 8, "九": 9, "俩": 2, "仨": 3}
_SUFFIXES = frozenset({"st", "nd", "rd", "th"})
_WORDS = frozenset({*_SMALL, *_TENS, *_SCALES, *_ORDINALS, "hundred", "dozen"})
_HAN = frozenset({*_DIGITS, *_HAN_SCALES})
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?\Z")
_LONGEST = 24
_MOST_PARTS = 100
"""Above it a stroke between numbers is no fraction: 2025/26, 500/1000."""


def begins_numeral(norm: str) -> bool:
    """Whether a word or a Chinese character may begin a number."""
    return norm in _WORDS or norm in _HAN or norm == "第"


def numeral_at(tokens: Sequence[Token], first: int) -> Numeral | None:
    """The number that begins with a token."""
    token = tokens[first]
    if token.kind is Kind.NUMBER:
        return _from_digits(tokens, first)
    if token.norm in _WORDS:
        return _from_english(tokens, first)
    if token.norm == "第" and first + 1 < len(tokens):
        counted = numeral_at(tokens, first + 1)
        return counted and counted._replace(ordinal=True, is_one=False)
    if token.norm in _HAN:
        return _from_chinese(tokens, first)
    return None


def value_of(digits: str) -> Value:
    """The number that digits with points and commas stand for."""
    if len(digits) > _LONGEST or not _PLAIN.match(digits):
        return digits
    if digits[0] == "0" and digits.isdecimal() and len(digits) > 1:
        return digits
    bare = digits.replace(",", "")
    return float(bare) if "." in bare else int(bare)


def _norm(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].norm if place < len(tokens) else ""


def _touches(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].start == tokens[place - 1].end


def _from_digits(tokens: Sequence[Token], first: int) -> Numeral:
    value = value_of(tokens[first].norm)
    end = first + 1
    if _norm(tokens, end) in _SUFFIXES and _touches(tokens, end):
        return Numeral(value, end + 1, ordinal=True)
    if isinstance(value, str):
        return Numeral(value, end)
    if _norm(tokens, end) in ("/", "\u2044") and _touches(tokens, end):
        below = _denominator(tokens, end + 1)
        if below and value <= _MOST_PARTS >= below:
            return Numeral(value / below, end + 2)
    while (scale := _AFTER_DIGITS.get(_norm(tokens, end))) and (
        tokens[end].norm != "k" or _touches(tokens, end)
    ):
        value *= scale
        end += 1
    return Numeral(value, end)


def _denominator(tokens: Sequence[Token], place: int) -> float:
    if not _touches(tokens, place) or _norm(tokens, place + 1) == "/":
        return 0
    below = value_of(tokens[place].norm) if tokens[place].kind is Kind.NUMBER else 0
    return 0 if isinstance(below, str) else below


def _from_english(tokens: Sequence[Token], first: int) -> Numeral:
    sofar = _EnglishNumber()
    place = first
    while sofar.take(_norm(tokens, place)):
        place += 1
        glue = _norm(tokens, place)
        if glue == "-" or (glue == "and" and sofar.is_hundreds):
            follower = _norm(tokens, place + 1)
            if follower in _WORDS and sofar.could_take(follower, hyphen=glue == "-"):
                place += 1
    value = sofar.value
    if sofar.ordinal:
        return Numeral(value, place, ordinal=True)
    parts = _PARTS.get(_norm(tokens, place), 0)
    if parts and value < parts:
        return Numeral(value / parts, place + 1)
    if _norm(tokens, place) == "point" and _SMALL.get(_norm(tokens, place + 1), 10) < 10:
        return Numeral(value + _SMALL[tokens[place + 1].norm] / 10, place + 2)
    return Numeral(value, place, is_one=place == first + 1 and tokens[first].norm == "one")


class _EnglishNumber:
    """A number in words, as far as it has been read."""

    def __init__(self) -> None:
        self._done = 0
        self._current: int | None = None
        self.ordinal = False

    @property
    def value(self) -> int:
        return self._done + (self._current or 0)

    @property
    def is_hundreds(self) -> bool:
        return self._current is not None and self._current % 100 == 0

    def could_take(self, word: str, *, hyphen: bool) -> bool:
        if not hyphen:
            return word in _SMALL or word in _TENS
        tens = self._current is not None and 20 <= self._current % 100 <= 90
        return tens and 0 < _SMALL.get(word, _ORDINALS.get(word, 10)) < 10

    def take(self, word: str) -> bool:
        """Read on with a word; False if it does not continue the number."""
        if self.ordinal:
            return False
        if word in _SCALES or word == "dozen":
            self._done += (self._current or 1) * _SCALES.get(word, 12)
            self._current = 0
            return True
        if word == "hundred":
            self._current = (self._current or 1) * 100
            return True
        return self._add(word)

    def _add(self, word: str) -> bool:
        added = _SMALL.get(word, _TENS.get(word, _ORDINALS.get(word)))
        current = self._current
        if added is None:
            return False
        if current is None or (current % 100 == 0 and (current or self._done)):
            self._current = (current or 0) + added
        elif 20 <= current % 100 <= 90 and current % 10 == 0 and 0 < added < 10:
            self._current = current + added
        elif 10 <= current <= 99 and added >= 10 and word not in _ORDINALS:
            self._current = current * 100 + added  # nineteen eighty-four
        else:
            return False
        self.ordinal = word in _ORDINALS
        return True


def _from_chinese(tokens: Sequence[Token], first: int) -> Numeral | None:
    end = first
    while end < len(tokens) and tokens[end].norm in _HAN and end - first < _LONGEST:
        end += 1
    signs = [token.norm for token in tokens[first:end]]
    if signs == ["百"] and _norm(tokens, end) == "分" and _norm(tokens, end + 1) == "之":
        share = numeral_at(tokens, end + 2) if end + 2 < len(tokens) else None
        return share and _percent(share)
    value = float(_chinese(signs))
    if _norm(tokens, end) == "点" and _norm(tokens, end + 1) in _DIGITS:
        digits = ""
        end += 1
        while _norm(tokens, end) in _DIGITS and len(digits) < _LONGEST:
            digits += str(_DIGITS[tokens[end].norm])
            end += 1
        return Numeral(value + float(f"0.{digits}"), end)
    if _norm(tokens, end) == "分" and _norm(tokens, end + 1) == "之" and end + 2 < len(tokens):
        above = numeral_at(tokens, end + 2)
        if above and value and not isinstance(above.value, str):
            return Numeral(above.value / value, above.end)
    return Numeral(value, end, is_one=signs == ["一"])


def _percent(share: Numeral) -> Numeral | None:
    if isinstance(share.value, str):
        return None
    return Numeral(share.value / 100, share.end)


def _chinese(signs: Sequence[str]) -> int:
    if not any(sign in _HAN_SCALES for sign in signs):
        return int("".join(str(_DIGITS[sign]) for sign in signs) or "0")
    largest = max(_HAN_SCALES.get(sign, 0) for sign in signs)
    place = max(at for at, sign in enumerate(signs) if _HAN_SCALES.get(sign) == largest)
    above, below = signs[:place], signs[place + 1 :]
    if largest > 10 and len(below) == 1:
        # 一千二 is 1,200, and 三万五 is 35,000; 一千零二 is 1,002.
        return (_chinese(above) or 1) * largest + _chinese(below) * largest // 10
    return (_chinese(above) or 1) * largest + _chinese(below)
