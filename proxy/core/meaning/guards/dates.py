"""Dates and times: weekdays, months, clock times, relative days, seasons, holidays, eras.

Years and days of the month are numbers and are left to `numbers`, so that 2024-05-01 and
May 1st, 2024 come to the same however they are written.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.numerals import begins_numeral, numeral_at
from proxy.core.meaning.phrases import Hit, Phrases
from proxy.core.meaning.pieces import Piece, leftovers, object_to
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token

NAME = "dates"


class Span(NamedTuple):
    """A part of `Text.plain`."""

    start: int
    end: int


class Number(NamedTuple):
    """A year, or a day of a month."""

    value: float
    surface: str


class Dates(NamedTuple):
    """The dates and times of a text."""

    pieces: tuple[Piece, ...]
    spans: tuple[Span, ...]
    """Where digits are part of a date or of a clock time."""
    numbers: tuple[Number, ...]
    """The years and days in the spans."""


def compare(pair: Pair) -> Objection | None:
    """Object if the texts speak of different times; today and now may go without saying."""
    stored, asked = pair.stored.fact(read).pieces, pair.asked.fact(read).pieces
    if not stored and not asked:
        return None
    stored_rest, asked_rest = leftovers(_distinct(stored), _distinct(asked))
    strong = any(piece.key not in _WEAK for piece in (*stored_rest, *asked_rest))
    if not strong and not (stored_rest and asked_rest):
        return None
    return object_to(NAME, stored_rest, asked_rest)


def read(text: Text) -> Dates:
    """The dates and times of a text, and what of its digits they use up."""
    pieces: list[Piece] = []
    spans: list[Span] = []
    numbers: list[Number] = []
    if any(token.kind is Kind.NUMBER for token in text.tokens) or not _CLOCK_WORDS.isdisjoint(
        text.norms
    ):
        _read_digits(text.plain, pieces, spans, numbers)
    for hit in _phrases().find(text.tokens):
        tokens = text.tokens[hit.first : hit.end]
        span = Span(tokens[0].start, tokens[-1].end)
        if any(span.start < other.end and other.start < span.end for other in spans):
            continue
        if hit.key != "-" and _is_time(text, hit):
            surface = text.plain[span.start : span.end]
            pieces += (Piece(key, surface) for key in hit.key.split())
            spans.append(span)
    return Dates(tuple(pieces), tuple(spans), tuple(numbers))


_WEAK = frozenset({"day:0", "now", "soon"})
_CLOCK_WORDS = frozenset({"月", "点", "年", "past", "quarter"})


@cache
def _phrases() -> Phrases:
    return Phrases(groups("proxy.core.meaning.guards", "times.txt"))


def _distinct(pieces: Sequence[Piece]) -> list[Piece]:
    return list({piece.key: piece for piece in pieces}.values())


_AMBIGUOUS = frozenset({"may", "march", "mar", "jan", "jun", "sep", "oct", "nov", "dec", "august"})
_AMBIGUOUS |= {"fall", "spring"}
"""Words that are times only beside a number, or where the words around them say so."""
_BEFORE_TIMES = frozenset({"in", "of", "by", "since", "until", "till", "during"})
_BEFORE_TIMES |= {"early", "late", "mid", "every"}
_BEFORE_CAPITALS = frozenset({"from", "to", "on", "this", "next", "last", "and", "or", "between"})
_BEFORE_CAPITALS |= {"before", "after"}
_AFTER_TIMES = frozenset({"semester", "term", "season", "break", "sale", "collection", "equinox"})


def _is_time(text: Text, hit: Hit) -> bool:
    tokens = text.tokens
    first = tokens[hit.first]
    before = tokens[hit.first - 1] if hit.first else None
    after = tokens[hit.end] if hit.end < len(tokens) else None
    if first.norm in _AMBIGUOUS and hit.end == hit.first + 1:
        return _is_unambiguous(text, before, first, after)
    if first.norm in ("周", "週"):
        # 一周一次 is once a week.
        counted = before is not None and (begins_numeral(before.norm) or before.norm == "几")
        return not counted and (after is None or after.norm not in ("次", "回", "个"))
    if hit.first == 0 or (hit.first == 1 and before and before.norm == "good"):
        return not _is_greeting(text, hit)
    return True


def _is_unambiguous(text: Text, before: Token | None, word: Token, after: Token | None) -> bool:
    for beside in (before, after):
        if beside is not None and beside.kind is Kind.NUMBER:
            return True
    if after is not None and after.norm in _AFTER_TIMES:
        return True
    if before is None:
        return False
    if word.norm in ("fall", "spring"):
        # The fall of Rome and a fall in prices are none; the spring may be a coil.
        return before.norm in ("this", "next", "last", "in", "every", "late", "early")
    if before.norm in _BEFORE_TIMES:
        return True
    return before.norm in _BEFORE_CAPITALS and text.plain[word.start].isupper()


def _is_greeting(text: Text, hit: Hit) -> bool:
    """Whether `good morning` or 早上好 only opens the text."""
    rest = text.tokens[hit.end :]
    if hit.first == 1:
        return len(rest) > 1
    if len(rest) > 2 and rest[0].norm == "好":
        return rest[1].kind is Kind.SIGN
    return len(rest) > 2 and rest[0].norm in ("!", ",", ".") and hit.key.startswith("part:")


_HAN = "零\u3007一二三四五六七八九十"
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b"
_PART = "凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|夜里|半夜|今晚|昨晚|明晚|今早|明早|晚|早"
_DATE = re.compile(
    rf"(?:(?=[\d{_HAN}两凌早清上中下傍晚夜半今昨明])|\b(?=[adfhjmnoqst]))(?:"
    r"(?P<iso>(?<![\d./-])(?P<iy>1\d{3}|20\d\d)(?P<sep>[-/.])(?P<im>1[0-2]|0?[1-9])(?P=sep)"
    r"(?P<id>3[01]|[12]\d|0?[1-9])(?![\d/-]))"
    r"|(?P<slash>(?<![\d./-])(?P<sa>3[01]|[12]\d|0?[1-9])(?P<sep2>[-/.])"
    r"(?P<sb>3[01]|[12]\d|0?[1-9])(?P=sep2)(?P<sy>19\d\d|20\d\d)(?![\d/-]))"
    rf"|(?P<zh>(?:(?P<zy>(?<!\d)\d{{4}}|[{_HAN[:10]}]{{4}})年 ?)?"
    rf"(?P<zm>(?<![\d{_HAN}第.])(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]))月份?"
    rf"(?:(?P<zd>3[01]|[12]\d|0?[1-9]|[{_HAN}]{{1,3}})[日号])?)"
    rf"|(?P<decade>(?<![\d.,$])(?P<dd>(?:1\d|20)\d0|[1-9]0)(?:年代|(?<=\d)['\u2019]?s\b(?!\d)))"
    rf"|(?P<handecade>(?P<hd>[二三四五六七八九]十)年代)"
    rf"|(?P<en>\b(?:(?P<d1>{_DAY}) (?:of )?(?P<m1>{_MONTHS})"
    rf"|(?P<m2>{_MONTHS}) (?:the )?(?P<d2>{_DAY}))"
    r"(?:,? (?P<ey>1[5-9]\d\d|20\d\d)\b(?!:))?)"
    r"|(?P<ampm>(?<![\d.:,$])(?P<ah>1[0-2]|0?[1-9])(?:[:.](?P<am>[0-5]\d))?"
    r" ?(?P<half>[ap])\.?m\b\.?)"
    r"|(?P<clock>(?<![\d.:,])(?P<ch>2[0-4]|[01]?\d):(?P<cm>[0-5]\d)(?::[0-5]\d)?(?![\d:]))"
    r"|(?P<oclock>(?<![\d.:,])(?P<oh>1[0-2]|[1-9]) ?o['\u2019]?clock\b)"
    r"|(?P<spoken>\b(?P<sm>half|quarter|five|ten|twenty) (?P<sd>past|to) "
    r"(?P<sh>1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
    rf"|(?P<zhclock>(?P<part>{_PART})?(?P<zh_h>(?<![\d.{_HAN}])(?:2[0-4]|1\d|0?\d)|(?<![{_HAN}第几])"
    r"(?:二十[一二三四]?|十[一二三四五六七八九]?|[一二两三四五六七八九]))"
    rf"[点时](?:(?P<zhalf>半)|(?P<zq>[一三])刻|钟|整"
    r"|(?P<zmin>[0-5]\d(?!\d)|[二三四五]?十[一二三四五六七八九]?"
    rf"|(?:\d|[{_HAN}]{{1,3}})(?=分))分?"
    r"|(?P<open>))))",
    re.IGNORECASE,
)
"""The first line lets most places go by at once. Every form is bounded, so time is linear."""


def _read_digits(plain: str, pieces: list[Piece], spans: list[Span], numbers: list[Number]) -> None:
    for match in _DATE.finditer(plain):
        surface = match[0]
        keys, counted = _parts(match)
        if keys or counted:
            pieces += (Piece(key, surface) for key in keys)
            numbers += (Number(value, surface) for value in counted)
            spans.append(Span(*match.span()))


def _parts(match: re.Match[str]) -> tuple[list[str], list[float]]:
    """What is compared here, and the numbers that are left to the numbers guard."""
    kind = next(name for name in _FORMS if match[name] is not None)
    return _FORMS[kind](match)


def _iso(match: re.Match[str]) -> tuple[list[str], list[float]]:
    return [f"month:{int(match['im'])}"], [int(match["iy"]), int(match["id"])]


def _slash(match: re.Match[str]) -> tuple[list[str], list[float]]:
    month, day = int(match["sa"]), int(match["sb"])
    if month > 12:
        month, day = day, month
    return ([f"month:{month}"], [day, int(match["sy"])]) if month <= 12 else ([], [])


def _zh(match: re.Match[str]) -> tuple[list[str], list[float]]:
    counted = [_number(match[name]) for name in ("zy", "zd") if match[name]]
    return [f"month:{_number(match['zm']):g}"], counted


def _decade(match: re.Match[str]) -> tuple[list[str], list[float]]:
    written = match["dd"] or str(int(_number(match["hd"])))
    year = int(written) if len(written) == 4 else 1900 + int(written)
    return [f"decade:{year}"], []


_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"


def _en(match: re.Match[str]) -> tuple[list[str], list[float]]:
    name = (match["m1"] or match["m2"])[:3].lower()
    month = _MONTH_NAMES.index(name) // 4 + 1
    day = re.match(r"\d+", match["d1"] or match["d2"])
    counted: list[float] = [int(day[0])] if day else []
    return [f"month:{month}"], counted + ([int(match["ey"])] if match["ey"] else [])


def _ampm(match: re.Match[str]) -> tuple[list[str], list[float]]:
    hour = int(match["ah"]) % 12 + (12 if match["half"] in "pP" else 0)
    return [f"clock:{60 * hour + int(match['am'] or 0)}"], []


def _clock(match: re.Match[str]) -> tuple[list[str], list[float]]:
    return _at(int(match["ch"]), int(match["cm"]))


def _oclock(match: re.Match[str]) -> tuple[list[str], list[float]]:
    return _at(int(match["oh"]), 0)


_SPOKEN = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "half": 30}


def _spoken(match: re.Match[str]) -> tuple[list[str], list[float]]:
    minutes, hour = _SPOKEN[match["sm"].lower()], _number(match["sh"].lower())
    if match["sd"].lower() == "past":
        return _at(hour, minutes)
    if minutes != _SPOKEN["quarter"]:
        return [], []  # five to ten people
    return _at(hour - 1 or 12, 60 - minutes)


def _at(hour: float, minutes: float) -> tuple[list[str], list[float]]:
    # Seven, seven o'clock and 7:00 may be either half of the day: a number like any other.
    if hour <= 12 and not minutes:
        return [], [hour]
    return [f"clock:{60 * hour + minutes:g}"], []


def _zhclock(match: re.Match[str]) -> tuple[list[str], list[float]]:
    part, hour = match["part"] or "", _number(match["zh_h"])
    if match["open"] is not None and ("时" in match[0] or not part):
        return [], []  # 三点建议 is three pieces of advice: left to the numbers
    minutes = _number(match["zmin"]) if match["zmin"] else 30 if match["zhalf"] else 0
    minutes += 15 * _number(match["zq"]) if match["zq"] else 0
    if not part:
        return _at(hour, minutes)
    if hour < 12 and (part in _LATE or (part == "中午" and hour < 6)):
        hour += 12
    clock = f"clock:{60 * hour + minutes:g}"
    return ([clock, _DAYS_OF[part]] if part in _DAYS_OF else [clock]), []


_LATE = frozenset({"下午", "傍晚", "晚上", "夜里", "今晚", "昨晚", "明晚", "晚"})
_DAYS_OF = {"今晚": "day:0", "今早": "day:0", "明晚": "day:1", "明早": "day:1", "昨晚": "day:-1"}
_FORMS = {"iso": _iso, "slash": _slash, "zh": _zh, "decade": _decade, "handecade": _decade}
_FORMS |= {
    "en": _en,
    "ampm": _ampm,
    "clock": _clock,
    "oclock": _oclock,
    "spoken": _spoken,
    "zhclock": _zhclock,
}


def _number(written: str) -> float:
    numeral = numeral_at(Text(written.lstrip("0") or "0").tokens, 0)
    return numeral.value if numeral and not isinstance(numeral.value, str) else 0
