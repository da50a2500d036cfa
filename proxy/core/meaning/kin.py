"""English words that are one but for spelling or ending: baggage, bagage; withdraw, withdrawal.

Only what is hardly ever another word counts: a letter doubled or not, two letters exchanged, a
vowel in an unstressed ending, a silent e. Words that these rules would take for one wrongly stand
in a list.
"""

from functools import cache, lru_cache

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.stem import stem

_SHORTEST = 5
"""Letters of the shorter word where one may be misspelt: short words are near too many others."""
_EXCHANGED = 8
_BASE = 4
"""Letters of a word that takes an ending."""
_ENDINGS = ("al", "ment", "ation", "tion", "ion", "able", "ance", "ence", "ly")
_BEFORE_AL = ("aw", "ew", "iv", "os", "ov", "us", "ais", "ers")
"""How a verb ends that becomes a noun by -al: removal. Behind others it makes an adjective."""
_SWAPS = frozenset({"ae", "ai", "ei", "eo"})
"""Vowels that are taken for each other where nobody hears them."""
_UNHEARD = frozenset({"nc", "nt", "bl", "ri", "r", "nci"})
"""What follows such a vowel at the end of a stem."""


def kin(one: str, other: str) -> bool:
    """Whether two different stems of lower-case words say the same, whichever comes first."""
    # Most pairs differ here: that is not worth a place in the cache.
    return one[:3] == other[:3] and _are_kin(one, other)


@lru_cache(maxsize=4096)
def _are_kin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    if len(short) < _BASE or not (short.isalpha() and long.isalpha()):
        return False
    if not (short.isascii() and long.isascii()) or frozenset((one, other)) in _apart():
        return False
    return _is_derived(short, long) or _is_misspelt(short, long)


@cache
def _apart() -> frozenset[frozenset[str]]:
    """Pairs of stems that look like kin and are none."""
    return frozenset(
        frozenset((stem(one), stem(other)))
        for group in groups(__package__, "kin_apart_en.txt")
        for one in group
        for other in group
        if one != other
    )


def _is_derived(short: str, long: str) -> bool:
    if not long.startswith(short):
        return False
    ending = long[len(short) :]
    if ending == "al":
        return short.endswith(_BEFORE_AL)
    # A stem has lost its last e: remot(e), remoteli.
    return ending in _stemmed_endings() or (
        ending[:1] == "e" and ending[1:] in _stemmed_endings() - {"al"}
    )


@cache
def _stemmed_endings() -> frozenset[str]:
    """The endings as they are left when a word is led back to its stem."""
    return frozenset(_ENDINGS) | {stem("xxxx" + ending)[4:] for ending in _ENDINGS}


def _is_misspelt(short: str, long: str) -> bool:
    if len(short) < _SHORTEST or len(long) - len(short) > 1:
        return False
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    if len(long) > len(short):
        return short[start:] == long[start + 1 :] and (
            long[start] == long[start - 1] or long[start : start + 5] == "ement"
        )
    if short[start : start + 2] == long[start : start + 2][::-1]:
        is_exchange = short[start + 2 :] == long[start + 2 :]
        return is_exchange and (len(short) >= _EXCHANGED or {*short[start : start + 2]} == {*"ei"})
    rest = short[start + 1 :]
    swapped = "".join(sorted(short[start] + long[start]))
    return rest == long[start + 1 :] and swapped in _SWAPS and rest in _UNHEARD
