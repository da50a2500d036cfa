"""Form: how the answer is wanted (a table, one sentence, in French) and what is to be done."""

from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.phrases import Hit, Phrases, surface
from proxy.core.meaning.text import Kind, Objection, Pair, Text

NAME = "form"

_IN = frozenset({"in", "into", "to", "using", "with", "from", "as"})


class _Form(NamedTuple):
    """What is asked for by its name, with the words that ask for it."""

    forms: dict[str, str]
    tasks: dict[str, str]
    languages: dict[str, str]


def compare(pair: Pair) -> Objection | None:
    """Object where the texts ask for different forms, tasks or languages, or only one does."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    for ours, theirs in zip(stored, asked, strict=True):
        if ours.keys() != theirs.keys():
            here = " ".join(ours[name] for name in ours if name not in theirs)
            there = " ".join(theirs[name] for name in theirs if name not in ours)
            return Objection(NAME, here, there)
    return None


@cache
def _phrases(*names: str) -> Phrases:
    return Phrases(group for name in names for group in groups(__package__, name))


def _read(text: Text) -> _Form:
    languages = [
        hit for hit in _phrases("languages.txt").find(text.tokens) if _is_asked_for(text, hit)
    ]
    return _Form(
        _named(text, _phrases("forms_en.txt", "forms_zh.txt").find(text.tokens)),
        _named(text, _phrases("tasks_en.txt", "tasks_zh.txt").find(text.tokens)),
        _named(text, languages),
    )


def _named(text: Text, hits: list[Hit]) -> dict[str, str]:
    found: dict[str, str] = {}
    for hit in hits:
        found.setdefault(hit.key, surface(text, hit))
    return found


def _is_asked_for(text: Text, hit: Hit) -> bool:
    """Whether a language is what the answer is to be in: `in French`, not `French food`."""
    if text.tokens[hit.first].kind is Kind.HAN:
        return True
    return hit.first > 0 and text.tokens[hit.first - 1].norm in _IN
