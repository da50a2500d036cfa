"""The language of a text, as far as the guards need it: they know English and Chinese."""

import unicodedata
from collections import Counter
from enum import StrEnum
from functools import cache

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.text import Kind, Pair, Text


class Language(StrEnum):
    """What a text is written in."""

    EN = "en"
    ZH = "zh"
    OTHER = "other"
    """Another one: the guards do not understand it."""
    UNKNOWN = "unknown"
    """No letters at all: digits and signs."""


def language_of(text: Text) -> Language:
    """The language of a text; a few words without any small word among them count as English."""
    return text.fact(_language)


def are_both(pair: Pair, language: Language) -> bool:
    """Whether both texts are in a language."""
    return language_of(pair.stored) is language and language_of(pair.asked) is language


_LATIN_END = "\u024f"
_KANA = ("\u3040", "\u30ff")
_HAN_WEIGHT = 3
"""A Chinese character says about as much as three letters of a word do."""
_FEW = 5
"""Fewer words than this may have but one small word among them."""
_ONLY_CHINESE = frozenset("么吗们这哪怎呢说谁您麼嗎們這誰說")


def _language(text: Text) -> Language:
    latin: list[str] = []
    han = letters = others = 0
    for token in text.tokens:
        if token.kind is Kind.HAN:
            han += 1
        elif token.kind is Kind.WORD:
            if _is_latin(token.norm):
                latin.append(token.norm)
                letters += len(token.norm)
            else:
                others += len(token.norm)
    if not (han or letters or others):
        return Language.UNKNOWN
    if others > max(han, letters):
        return Language.OTHER
    if han and (han * _HAN_WEIGHT >= letters or (han > 1 and not _small_words(latin)[0])):
        return Language.OTHER if others and _is_japanese(text.plain) else Language.ZH
    return Language.OTHER if _is_foreign(text, latin) else Language.EN


def _is_japanese(plain: str) -> bool:
    return _ONLY_CHINESE.isdisjoint(plain) and any(_KANA[0] <= sign <= _KANA[1] for sign in plain)


def _is_latin(norm: str) -> bool:
    return norm.isascii() or all(
        sign <= _LATIN_END or "\u1e00" <= sign <= "\u1eff" or not sign.isalpha() for sign in norm
    )


def _is_foreign(text: Text, latin: list[str]) -> bool:
    english, other = _small_words(latin)
    if not text.plain.isascii():
        # With capitals they are names: Beyonce, Sao Paulo.
        other += sum(
            1
            for token in text.tokens
            if not token.norm.isascii()
            and not text.plain[token.start].isupper()
            and _is_marked(token.norm)
        )
    if other > 1:
        return other > english
    ambiguous = words("proxy.core.meaning", "language_ambiguous.txt")
    return other == 1 and not english and len(latin) < _FEW and ambiguous.isdisjoint(latin)


def _small_words(latin: list[str]) -> tuple[int, int]:
    """How many words are small words of English, and of the other language that fits best."""
    mine = words("proxy.core.meaning", "language_english.txt")
    known = _languages_of()
    counts: Counter[int] = Counter()
    english = 0
    for word in latin:
        english += word in mine
        counts.update(known.get(word, ()))
    return english, max(counts.values(), default=0)


@cache
def _languages_of() -> dict[str, tuple[int, ...]]:
    known: dict[str, tuple[int, ...]] = {}
    for number, language in enumerate(groups("proxy.core.meaning", "language_others.txt")):
        for word in language:
            known[word] = (*known.get(word, ()), number)
    return known


_BORROWED = frozenset({"caf\u00e9", "r\u00e9sum\u00e9", "resum\u00e9", "na\u00efve", "clich\u00e9"})
_BORROWED |= {"fianc\u00e9", "fianc\u00e9e", "jalape\u00f1o", "pi\u00f1ata", "d\u00e9j\u00e0"}


def _is_marked(word: str) -> bool:
    if word in _BORROWED:
        return False
    return any(
        sign in "\u00df\u00f8\u00e6\u0131\u0142\u0111\u0153" or unicodedata.decomposition(sign)
        for sign in word
    )
