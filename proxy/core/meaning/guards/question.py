"""Kind of question: how, why, when, where, who, how many, how much, how long, which difference.

English is read by how its questions begin: `Why did X` is not `Did X`, whatever follows. There both
have to say the same otherwise. Chinese asks by words that stand anywhere.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.difference import content, difference
from proxy.core.meaning.language import Language, language_of
from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.text import Kind, Objection, Pair, Text
from proxy.core.meaning.units import Unit

NAME = "question"

_PAIRS = (
    ("how", "advise"),
    ("how", "where"),
    ("how", "why"),  # 怎么不 asks why
    ("why", "define"),  # 是什么意思 said of a message asks why
    ("which", "advise"),
    ("which", "where"),
    ("which", "who"),
    ("when", "duration"),
    ("when", "often"),
)
_SAFE = frozenset(frozenset(pair) for pair in _PAIRS)
"""Kinds that one answer may serve."""

_MUCH = (
    *("many", "money", "duration", "often", "distance"),
    *("size", "weight", "age", "speed", "heat"),
)
_SO = ("whether", "can", "will", "should", "must")


def _apart(*table: tuple[str, Iterable[str]]) -> frozenset[frozenset[str]]:
    return frozenset(
        frozenset((kind, other)) for kind, others in table for other in others if kind != other
    )


_APART_EN = _apart(
    ("why", ("way", "when", "where", "who", *_SO, *_MUCH)),
    ("when", ("how", "way", "where", "who", "whether", "can", "should", "many", "money")),
    ("who", ("how", "way", "where", *_SO, *_MUCH)),
    ("how", ("where", "whether", "will", "should")),
    ("way", ("should", "must")),
    ("result", _SO),
    ("define", ("examples",)),
    *((kind, (*_MUCH, "where", "way")) for kind in _MUCH),
)
"""Kinds of English questions that no answer serves both of, where the rest says the same.

Which pairs are here was measured: people who ask `can I` are content to be told how.
"""
_APART_ZH = _apart(
    ("like", ("how", "make", "play", "when", "where", "who", "why")),
    ("what", ("how", "when", "who")),
    ("whether", ("how", "when", "where", "why", "many")),
    ("can", ("when", "where", "why", "many")),
    ("play", ("make",)),
)
"""The same for Chinese, besides what `_kinds_apart` says."""
_LEAST_SHARE = {Language.EN: 0.9, Language.ZH: 0.6}
"""So much of what is asked about is in both texts; how it is asked about does not count."""
_LONGEST_DEFINED = 2
"""Content units of what a definition is asked of."""
_WORDS = frozenset({"how", "why", "when", "where", "who"})
_AUXILIARIES = frozenset({"is", "are", "was", "were", "am", "do", "does", "did", "can", "could"})
_AUXILIARIES |= {"will", "would", "should", "shall", "may", "might", "must", "has", "have", "had"}
_AUXILIARIES |= {"i", "to", "you", "we", "one", "they", "he", "she", "it", "the", "a"}
_ENDS = frozenset("?!.;")
_BREAKS = frozenset(",:-")


class Opener(NamedTuple):
    """How a question within a text begins."""

    kind: str
    """way, how, why, when, where, who, what, which, whether, ..., as `asking_en.txt` names them."""
    start: int
    end: int
    """The words that ask, in `Text.plain`."""


class Agreement(Enum):
    """How the openers of two texts go together."""

    SAME = "same"
    """They share a kind of question."""
    DIFFERENT = "different"
    UNCLEAR = "unclear"
    """One of them has no opener that is known."""


def compare(pair: Pair) -> Objection | None:
    """Object where both texts ask, and what they ask for has no answer in common."""
    languages = {language_of(pair.stored), language_of(pair.asked)}
    if languages == {Language.ZH}:
        return _kinds_apart(pair) or _openers_apart(pair, Language.ZH)
    return _openers_apart(pair, Language.EN)


def agreement(pair: Pair) -> Agreement:
    """How the openers go together, whatever else the texts say."""
    stored, asked = (
        {opener.kind for opener in openers(text)} for text in (pair.stored, pair.asked)
    )
    if not stored or not asked:
        return Agreement.UNCLEAR
    return Agreement.DIFFERENT if stored.isdisjoint(asked) else Agreement.SAME


def openers(text: Text) -> tuple[Opener, ...]:
    """How the questions in a text ask, in order, one for each kind; read once."""
    return text.fact(_openers)


def kinds(text: Text) -> dict[str, str]:
    """The kinds of question that a text asks, with the words that ask; read through `fact`."""
    found: dict[str, str] = {}
    for hit in _asking().find(text.tokens):
        found.setdefault(hit.key.removeprefix("kind:"), surface(text, hit))
    found.pop("none", None)
    return found


def _kinds_apart(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(kinds), pair.asked.fact(kinds)
    if not stored or not asked or not stored.keys().isdisjoint(asked):
        return None
    if any(frozenset((one, other)) in _SAFE for one in stored for other in asked):
        return None
    return Objection(NAME, next(iter(stored.values())), next(iter(asked.values())))


def _openers_apart(pair: Pair, language: Language) -> Objection | None:
    if agreement(pair) is not Agreement.DIFFERENT:
        return None
    stored, asked = openers(pair.stored), openers(pair.asked)
    apart = _APART_ZH if language is Language.ZH else _APART_EN
    clear = next(
        (
            (one, other)
            for one in stored
            for other in asked
            if frozenset((one.kind, other.kind)) in apart and not _asks_both(one, other, pair)
        ),
        None,
    )
    if clear is None or _rest(pair) < _LEAST_SHARE[language]:
        return None
    one, other = clear
    return Objection(
        NAME, pair.stored.plain[one.start : one.end], pair.asked.plain[other.start : other.end]
    )


def _asks_both(one: Opener, other: Opener, pair: Pair) -> bool:
    """Whether one of the texts has the other's question word elsewhere: `How and when did`."""
    return (other.kind in _WORDS and other.kind in pair.stored.norms) or (
        one.kind in _WORDS and one.kind in pair.asked.norms
    )


def _rest(pair: Pair) -> float:
    """The share of content that both texts have, but for the words that ask."""
    apart = difference(pair)
    kept = len(content(apart.stored)) + len(content(apart.asked))
    if not kept:
        return float(not apart.edits)
    rest = _outside(apart.stored_only, pair.stored) + _outside(apart.asked_only, pair.asked)
    return 1 - rest / kept


def _outside(those: tuple[Unit, ...], text: Text) -> int:
    asking = openers(text)
    return sum(
        all(not opener.start <= unit.start < opener.end for opener in asking) for unit in those
    )


@cache
def _asking() -> Phrases:
    return Phrases(groups(__package__, "kinds_en.txt") + groups(__package__, "kinds_zh.txt"))


@cache
def _opening() -> Phrases:
    return Phrases(groups(__package__, "asking_en.txt"))


@cache
def _polite() -> Phrases:
    return Phrases(groups(__package__, "polite_en.txt"))


def _openers(text: Text) -> tuple[Opener, ...]:
    return _openers_zh(text) if language_of(text) is Language.ZH else _openers_en(text)


def _openers_zh(text: Text) -> tuple[Opener, ...]:
    found: dict[str, Opener] = {}
    plain = text.plain
    for hit in _asking_zh().find(text.tokens):
        start, end = text.tokens[hit.first].start, text.tokens[hit.end - 1].end
        kind = hit.key.partition(":")[2]
        if kind in ("how", "like"):
            kind = "like" if _LIKE.match(plain, start) else "how"
        if kind != "none":
            found.setdefault(kind, Opener(kind, start, end))
    match = None if found else _WHETHER.search(plain)
    if match is not None:
        kind = "can" if _CAN.search(plain) else "whether"
        found[kind] = Opener(kind, match.start(), match.end())
    return tuple(found.values())


_LIKE = re.compile(r"(?:怎么样|怎样|咋样|如何)[啊呀呢了]?(?=[\s?!,.\u3002\u2026~]|$)")
"""At the end of a sentence: what it is like. Elsewhere it asks how to."""
_HAN = "[\u4e00-\u9fff]"
_WHETHER = re.compile(
    rf"(?P<one>{_HAN})[不没](?P=one)|(?P<two>{_HAN}{{2}})[不没](?P=two)"
    r"|[吗嘛][\s?!,.。…~]*$|吗[,?!]|没有?[\s?!。]*$"
)
_CAN = re.compile("能|可以|行吗|行不行|可不")


@cache
def _asking_zh() -> Phrases:
    return Phrases(groups(__package__, "kinds_zh.txt") + groups(__package__, "asking_zh.txt"))


def _openers_en(text: Text) -> tuple[Opener, ...]:
    found: dict[str, Opener] = {}
    for first, end in _sentences(text):
        opener = _opener(text, first, end)
        if opener is not None:
            found.setdefault(opener.kind, opener)
    return tuple(found.values())


def _sentences(text: Text) -> Iterator[tuple[int, int]]:
    first = 0
    for place, token in enumerate(text.tokens):
        if token.norm in _ENDS:
            if place > first:
                yield first, place
            first = place + 1
    if first < len(text.tokens):
        yield first, len(text.tokens)


def _opener(text: Text, first: int, end: int) -> Opener | None:
    """What a sentence begins with, or else what follows a comma or colon in it."""
    found = _opener_at(text, first, end)
    place = first
    while found is None and place < end:
        if text.tokens[place].norm in _BREAKS:
            found = _opener_at(text, place + 1, end)
        place += 1
    return found


def _opener_at(text: Text, place: int, end: int) -> Opener | None:
    tokens = text.tokens
    while place < end:
        if tokens[place].kind is Kind.SIGN:
            place += 1
            continue
        read_over, hit = _polite().at(tokens, place), _opening().at(tokens, place)
        if hit is not None and (read_over is None or hit.end >= read_over.end):
            kind = hit.key.removeprefix("ask:")
            if kind == "how" and hit.end < end and tokens[hit.end].norm not in _AUXILIARIES:
                kind = "degree"
            elif kind == "what" and _is_definition(text, hit.first, end):
                kind = "define"
            return Opener(kind, tokens[place].start, tokens[hit.end - 1].end)
        if read_over is None:
            return None
        place = read_over.end
    return None


def _is_definition(text: Text, place: int, end: int) -> bool:
    """Whether `what is` stands before a thing and nothing else, or `what a thing is`."""
    tokens = text.tokens[place + 1 : end]
    if tokens and tokens[0].norm in _COPULAS:
        tokens = tokens[1:]
    elif tokens and tokens[-1].norm in _COPULAS:
        tokens = tokens[:-1]
    elif text.tokens[place].norm != "what's":
        return False
    if tokens and tokens[0].norm in _ARTICLES:
        tokens = tokens[1:]
    return 0 < len(tokens) <= _LONGEST_DEFINED and all(
        token.kind is Kind.WORD and token.norm not in _NO_THINGS for token in tokens
    )


_COPULAS = frozenset({"is", "are", "was", "were"})
_ARTICLES = frozenset({"a", "an"})
_NO_THINGS = frozenset({"the", "some", "your", "my", "best", "this", "that", "it", "you", "i"})
