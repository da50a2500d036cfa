"""Frames of English texts: clause by clause, with owners and what `only` belongs to."""

from collections.abc import Iterator
from functools import lru_cache

from proxy.core.meaning.frames import Frame, Term
from proxy.core.meaning.frames_clause_en import Clause
from proxy.core.meaning.frames_words_en import (
    ASKED,
    FRONTED,
    HOW,
    MARKERS,
    OWNERS,
    PREPOSITIONS,
    Word,
    key_of,
    persons,
    silent,
)
from proxy.core.meaning.text import Kind, Text
from proxy.core.meaning.units import spelled_out

_SHORT_FOR_IS = ASKED | HOW | frozenset({"it", "that", "there", "he", "she", "here"})
_NOT_ONLY = FRONTED | OWNERS
"""Words between `only` and what it belongs to."""
_QUESTIONS = ASKED | HOW
_STOPS = frozenset(".?!;:")


def read_english(text: Text) -> Frame:
    """The frame of a text in words with blanks between them."""
    terms: list[Term] = []
    is_clause = False
    for place, clause in enumerate(_clauses(text)):
        read = Clause(clause, place)
        terms += read.ordered()
        is_clause |= read.shows_who_acts
    known = persons()
    actor = next((t.key for t in terms if t.acts and t.key in known), "")
    owners = frozenset(known[word] for word in text.norms if word in OWNERS and word in known)
    return Frame(tuple(terms), is_clause, actor, owners, *_after_only(text))


def _after_only(text: Text) -> tuple[str, str]:
    """The key of the word that `only` belongs to, and both as written; empty for none."""
    if text.norms.count("only") != 1:
        return "", ""
    place = next(at for at, token in enumerate(text.tokens) if token.norm == "only")
    if place and text.tokens[place - 1].norm == "not":
        return "", ""
    for token in text.tokens[place + 1 :]:
        if token.kind is not Kind.WORD or token.norm in MARKERS:
            break
        if token.norm not in silent() and token.norm not in _NOT_ONLY:
            return key_of(token.norm), text.plain[text.tokens[place].start : token.end]
    return "", ""


def _clauses(text: Text) -> Iterator[list[Word]]:
    found: list[Word] = []
    for token in text.tokens:
        if token.kind is Kind.SIGN and token.norm != ",":
            if token.norm in _STOPS and found:
                yield found
                found = []
            continue
        is_name = token.start > 0 and text.plain[token.start].isupper()
        for raw, owns in _spelled(token.norm):
            if raw in _QUESTIONS and found and found[-1].raw not in PREPOSITIONS:
                yield found
                found = []
            found.append(Word(raw, token, owns, is_name))
    if found:
        yield found


@lru_cache(maxsize=16384)
def _spelled(norm: str) -> tuple[tuple[str, bool], ...]:
    """The words that a written word stands for, and whether they own what follows."""
    head, _, rest = norm.partition("'")
    if rest == "s" and head in _SHORT_FOR_IS:
        return ((head, False), ("is", False))
    owns = norm.endswith(("'s", "s'"))
    return tuple((raw, owns) for raw in spelled_out(norm))
