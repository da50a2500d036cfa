"""Frames of Chinese texts, and who gives whom something."""

import re
from functools import cache

from proxy.core.meaning.frames import WH, Frame, Term
from proxy.core.meaning.lexicon import words
from proxy.core.meaning.text import Text
from proxy.core.meaning.units import Role, pieces, simplified

_ASKED_ZH = frozenset({"谁", "什么", "啥", "什么人"})
_ANYBODY_ZH = frozenset({"人", "别人", "人家"})
_PASSIVE = frozenset({"被", "遭"})
_OBJECT = frozenset({"把", "将"})
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_GOT_FROM = "[向跟找问从]"


def is_chinese(text: Text) -> bool:
    """Whether any Chinese character is in the text."""
    return text.fact(_has_han)


def _has_han(text: Text) -> bool:
    return _HAN.search(text.plain) is not None


def read_chinese(text: Text) -> Frame:
    """The frame of a Chinese text."""
    terms: list[Term] = []
    marker = ""
    for piece in pieces(text):
        role, word = piece.entry.role, piece.words[0]
        if role is Role.MARKER:
            marker = word
        elif role in (Role.CONTENT, Role.PERSON) or word in _ASKED_ZH:
            key = WH if word in _ASKED_ZH else piece.entry.key
            terms.append(Term(key, piece.start, piece.end, marker, role is Role.PERSON))
            marker = ""
    return Frame(*_chinese_order(terms))


def _chinese_order(terms: list[Term]) -> tuple[tuple[Term, ...], bool]:
    """The terms as subject, verb, object, and whether a small word had told who acts."""
    for place, term in enumerate(terms):
        if term.marker not in _PASSIVE | _OBJECT:
            continue
        middle = place + _length(terms, place)
        is_said = middle < len(terms) and not terms[middle].marker
        end = middle + _length(terms, middle) if is_said else middle
        first = [term._replace(marker=""), *terms[place + 1 : middle]]
        verb, before, rest = terms[middle:end], terms[:place], terms[end:]
        if term.marker in _OBJECT:
            return (*before, *verb, *first, *rest), bool(verb)
        patient = [bare._replace(acts=False) for bare in before]
        if verb and term.key in _ANYBODY_ZH:
            return (*verb, *patient, *rest), True
        return (*first, *verb, *patient, *rest), True
    return tuple(terms), False


def _length(terms: list[Term], place: int) -> int:
    """How many terms the word at a place has: two where characters are not known as a word."""
    one, *rest = terms[place : place + 2]
    if not rest or rest[0].marker or rest[0].start != one.end:
        return 1
    is_known = one.acts or one.end - one.start > 1 or one.key in _ANYBODY_ZH
    return 1 if is_known or rest[0].acts or rest[0].end - one.end > 1 else 2


def gift(text: Text) -> re.Match[str] | None:
    """Where somebody is given something (group `to`), or it is got from him (group `of`)."""
    if not is_chinese(text):
        return None
    return _given().search(text.plain.translate(simplified()))


@cache
def _given() -> re.Pattern[str]:
    """Ways to say that somebody is given something, and that it is got from him."""
    giving = "|".join(sorted(words(__package__, "frames_giving_zh.txt")))
    taking = "|".join(sorted(words(__package__, "frames_taking_zh.txt")))
    return re.compile(
        rf"(?P<take>{_GOT_FROM}(?P<of>[\u4e00-\u9fff]{{1,4}}?)(?:{taking}))"
        rf"|(?P<give>(?:{giving})[\u4e00-\u9fff]{{0,3}}?给(?P<to>[\u4e00-\u9fff]{{1,4}}))"
    )
