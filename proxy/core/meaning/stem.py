"""English words led back to one form for all their endings. Light: it only has to be consistent."""

from functools import cache, lru_cache

from proxy.core.meaning.lexicon import groups

_VOWELS = frozenset("aeiouy")
_SHORT = 4
"""Words of up to so many letters keep an ending that might belong to them."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The form that stands for a lower-case English word: equal for `buy`, `buys` and `bought`."""
    known = _irregular().get(word)
    return known if known is not None else _bare(_without_ending(word))


@cache
def _irregular() -> dict[str, str]:
    forms: dict[str, str] = {}
    for first, *others in groups(__package__, "irregular_en.txt"):
        for form in (first, *others):
            forms.setdefault(form, _bare(first))
    return forms


def _without_ending(word: str) -> str:
    if len(word) <= _SHORT:
        return word[:-1] if len(word) == _SHORT and _is_plural(word) else word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if _is_plural(word):
        return word[:-1]
    for ending in ("ing", "ed"):
        head = word.removesuffix(ending)
        if head is not word and len(head) > 1 and not _VOWELS.isdisjoint(head):
            return head
    return word


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _bare(word: str) -> str:
    """Without what endings change: a last e, a doubled letter, y for i, British spelling."""
    if len(word) > _SHORT and word.endswith("our"):
        word = word[:-3] + "or"
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    if len(word) > 2 and word.endswith("y") and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    if len(word) > _SHORT and word.endswith(("is", "ys")):
        word = word[:-1] + "z"
    return word
