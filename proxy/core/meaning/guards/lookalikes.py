"""Words near in spelling that are different terms: sulfite is not sulfate misspelt.

Where other guards take such a pair for a slip of the pen, this one knows both words: from a list,
or from an ending or a beginning that makes another term. What is in neither is left to them, for
a misspelling is no word.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

from proxy.core.meaning import units
from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.text import Objection, Pair, Text

NAME = "lookalikes"

_MOST_APART = 6
"""Where more words than this differ the texts do not differ by one."""
_SHORTEST = 3
"""Letters of a stem or rest that an ending or beginning changes."""
_WHOLE = 5
"""Letters of a word that a beginning changes."""
_NONE: frozenset[str] = frozenset()
_TURNING = frozenset(
    ["less", "more", "not", "no", "never", "without", "lack", "isn't", "aren't", "don't", "can't"]
)
"""With one of these a word and its denial may come to the same: less visible, more invisible."""


def compare(pair: Pair) -> Objection | None:
    """Object if one text has a word where the other has one that only looks like it."""
    stored, asked = pair.stored.fact(_words), pair.asked.fact(_words)
    ours, theirs = stored - asked, asked - stored
    if not (0 < len(ours) <= _MOST_APART and 0 < len(theirs) <= _MOST_APART):
        return None
    for one in ours:
        for other in _partners("lookalikes_terms.txt").get(one, _NONE) & theirs:
            return Objection(NAME, one, other)
        for other in _partners("lookalikes_words.txt").get(one, _NONE) & theirs:
            if _is_in_place_of(pair, one, other):
                return Objection(NAME, one, other)
    return _built(ours, theirs)


def _built(ours: frozenset[str], theirs: frozenset[str]) -> Objection | None:
    """Object to two words that an ending or a beginning makes two terms."""
    for one in ours:
        start, end = one[:2], one[-_SHORTEST:]
        for other in theirs if len(one) >= _WHOLE else ():
            if not other.startswith(start) and not other.endswith(end):
                continue
            if (
                _are_built(one, other)
                and not _is_parted(one, other, ours, theirs)
                and _TURNING.isdisjoint(ours | theirs)
            ):
                return Objection(NAME, one, other)
    return None


def _words(text: Text) -> frozenset[str]:
    return frozenset(
        norm.removesuffix("'s") for norm in text.norms if len(norm) > 1 and norm[0].isalpha()
    )


def _is_in_place_of(pair: Pair, one: str, other: str) -> bool:
    """Whether a neighbour of both is equal: common words come and go with other wordings."""
    ours, theirs = pair.stored.fact(_neighbours), pair.asked.fact(_neighbours)
    return not ours.get(one, set()).isdisjoint(theirs.get(other, set()))


def _neighbours(text: Text) -> dict[str, set[tuple[int, str]]]:
    row = ["", *(norm.removesuffix("'s") for norm in text.norms), ""]
    found: dict[str, set[tuple[int, str]]] = {}
    for before, word, behind in zip(row, row[1:], row[2:], strict=False):
        found.setdefault(word, set()).update(((-1, before), (1, behind)))
    return found


def _is_parted(one: str, other: str, ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether a beginning is written as a word of its own: non smoker."""
    if one.endswith(other):
        return one.removesuffix(other) in theirs
    return other.endswith(one) and other.removesuffix(one) in ours


@lru_cache(maxsize=16384)
def _are_built(one: str, other: str) -> bool:
    """Whether an ending or a beginning makes two terms of one stem or rest."""
    if not (one.isascii() and other.isascii()):
        return False
    one, other = _singular(one), _singular(other)
    if one == other or _is_same(one, other):
        return False
    return _other_ending(one, other) or _other_beginning(one, other) or _more(one, other)


def _singular(word: str) -> str:
    if word.endswith("s") and len(word) > _WHOLE and word[-2] not in "sui":
        word = word[:-1]
    return word.replace("sulph", "sulf")


@cache
def _same() -> dict[str, frozenset[int]]:
    """Word to the numbers of the groups of words that mean the same."""
    found: dict[str, frozenset[int]] = {}
    for number, group in enumerate(groups(units.__package__, "synonyms_en.txt")):
        for word in group:
            found[word] = found.get(word, frozenset()) | {number}
    return found


def _is_same(one: str, other: str) -> bool:
    return not _same().get(one, frozenset()).isdisjoint(_same().get(other, frozenset()))


@cache
def _partners(name: str) -> dict[str, frozenset[str]]:
    """Each form of the words of a list to the forms of those that it is mistaken for."""
    bases: dict[str, set[str]] = {}
    for word in words(__package__, name):
        for form in _forms(word):
            bases.setdefault(form, set()).add(word)
    found: dict[str, set[str]] = {}
    for group in groups(__package__, name):
        forms = [form for word in group for form in _forms(word)]
        for one in forms:
            others = (other for other in forms if bases[one].isdisjoint(bases[other]))
            found.setdefault(one, set()).update(others)
    return {form: frozenset(others) for form, others in found.items()}


def _forms(word: str) -> Iterator[str]:
    yield word
    if word.endswith("y") and word[-2] not in "aeiou":
        yield from (word[:-1] + "ies", word[:-1] + "ied", word + "ing")
    elif word.endswith("e"):
        yield from (word + "s", word + "d", word[:-1] + "ing")
    elif word.endswith(("s", "x", "ch", "sh")):
        yield from (word + "es", word + "ed", word + "ing")
    else:
        yield from (word + "s", word + "ed", word + "ing")


@cache
def _all(name: str) -> tuple[str, ...]:
    """The entries of a list, for `str.startswith` and `str.endswith`."""
    return tuple(words(__package__, name))


def _other_ending(one: str, other: str) -> bool:
    known = _all("lookalikes_endings.txt")
    if one[:_SHORTEST] == other[:_SHORTEST] and one.endswith(known) and other.endswith(known):
        for endings in groups(__package__, "lookalikes_endings.txt"):
            if _heads(one, endings, _SHORTEST) & _heads(other, endings, _SHORTEST):
                return True
    stems, endings = groups(__package__, "lookalikes_chemistry.txt")
    if not (one.endswith(endings) and other.endswith(endings)):
        return False
    return not _heads(one, endings, 2).intersection(stems).isdisjoint(_heads(other, endings, 2))


def _heads(word: str, endings: tuple[str, ...], least: int) -> set[str]:
    """What stands before the endings that a word has."""
    return {
        word[: -len(ending)]
        for ending in endings
        if word.endswith(ending) and len(word) >= len(ending) + least
    }


def _other_beginning(one: str, other: str) -> bool:
    known = _all("lookalikes_prefixes.txt")
    if one[-_SHORTEST:] != other[-_SHORTEST:] or not (
        one.startswith(known) and other.startswith(known)
    ):
        return False
    return any(
        _rests(one, line) & _rests(other, line)
        for line in groups(__package__, "lookalikes_prefixes.txt")
    )


def _rests(word: str, beginnings: tuple[str, ...]) -> set[str]:
    return {
        word[len(start) :]
        for start in beginnings
        if word.startswith(start) and len(word) > len(start) + _SHORTEST
    }


def _more(one: str, other: str) -> bool:
    """Whether one is the other with a beginning that makes another word of it."""
    short, long = sorted((one, other), key=len)
    if not long.endswith(short) or long in words(__package__, "lookalikes_same.txt"):
        return False
    start = long.removesuffix(short)
    if start in words(__package__, "lookalikes_negating.txt"):
        return len(short) >= _WHOLE
    return any(
        line[0] == start and short in line[1:]
        for line in groups(__package__, "lookalikes_denied.txt")
    )
