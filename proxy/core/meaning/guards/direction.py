"""Direction and roles: the same words with other parts to play (A to B, who to whom, 从A到B).

Order carries roles unless something shows that it does not: `A and B`, the difference between two,
`close to`, 区别, 距离. A passive is read as what it says: `is Y bothered by X` is `X bothers Y`.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache

from proxy.core.meaning.difference import surface
from proxy.core.meaning.lexicon import words
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import Role, Unit, pieces, simplified, stemmed, units

NAME = "direction"

_ROLES = {
    **dict.fromkeys(("from", "off", "从", "自", "由"), "from"),
    **dict.fromkeys(("to", "into", "onto", "toward", "towards", "到", "至", "往"), "to"),
    **dict.fromkeys(("成", "换成", "转", "兑"), "to"),
    **dict.fromkeys(("by", "被"), "agent"),
    **dict.fromkeys(("than", "比"), "than"),
    **{word: word for word in ("of", "in", "on", "at", "with", "for", "about", "as", "under")},
    **{word: word for word in ("over", "against", "after", "before", "without", "within", "via")},
    **{word: word for word in ("给", "对", "向", "在", "用", "把", "将", "让", "使", "为", "离")},
    **{word: word for word in ("靠", "按", "通过", "替")},
}
_BOTH = frozenset({"and", "or", "versus", "vs", "和", "与", "跟", "同", "或", "或者", "还是"})
_BOTH |= {"及", "以及", "between"}
_MOST = 32
"""Exchanges are looked for among so many units."""
_SHARE = 0.7
"""So much of the longer text must be in the other for its order to tell anything."""
_AGENT_UNITS = 3


def compare(pair: Pair) -> Objection | None:
    """Object where the same things have exchanged their places and with them their roles."""
    stored, asked = _shared(pair.stored.fact(_read), pair.asked.fact(_read))
    if not stored or [unit.key for unit in stored] == [unit.key for unit in asked]:
        return None
    if pair.stored.fact(_is_symmetric) and pair.asked.fact(_is_symmetric):
        return None
    exchanged = _exchange(stored, asked)
    if exchanged is None:
        return None
    return Objection(NAME, surface(pair.stored, exchanged[0]), surface(pair.asked, exchanged[1]))


def _shared(
    stored: tuple[Unit, ...], asked: tuple[Unit, ...]
) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    both = Counter(unit.key for unit in stored) & Counter(unit.key for unit in asked)
    longer = max(len(stored), len(asked))
    if not _SHARE * longer <= both.total() <= _MOST:
        return (), ()
    return _only(stored, both.copy()), _only(asked, both.copy())


def _only(those: tuple[Unit, ...], wanted: Counter[str]) -> tuple[Unit, ...]:
    found = []
    for unit in those:
        if wanted[unit.key] > 0:
            wanted[unit.key] -= 1
            found.append(unit)
    return tuple(found)


_Exchange = tuple[tuple[Unit, ...], tuple[Unit, ...]]


def _exchange(stored: tuple[Unit, ...], asked: tuple[Unit, ...]) -> _Exchange | None:
    """The middle of both where it is A M B here and B M A there, and roles went with it."""
    start, end = 0, len(stored)
    while stored[start].key == asked[start].key:
        start += 1
    while stored[end - 1].key == asked[end - 1].key:
        end -= 1
    ours, theirs = stored[start:end], asked[start:end]
    here, there = [unit.key for unit in ours], [unit.key for unit in theirs]
    for first in range(1, len(here)):
        if here[:first] != there[-first:]:
            continue
        for last in range(1, len(here) - first + 1):
            if here[-last:] == there[:last] and here[first:-last] == there[last:-first]:
                heads = (ours[0], ours[-last], theirs[0], theirs[-first])
                apart = len(here) - first - last
                return (ours, theirs) if _roles_change(*heads, apart=apart) else None
    return None


def _roles_change(one: Unit, other: Unit, other_there: Unit, one_there: Unit, apart: int) -> bool:
    """Whether the order of two exchanged phrases tells who is who; by their first units."""
    if not _BOTH.isdisjoint(other.markers) and not _BOTH.isdisjoint(one_there.markers):
        return False
    here, there = (_role(one), _role(other)), (_role(one_there), _role(other_there))
    if here == there == ("", ""):
        # No small word tells: the order does, where there is something (a verb) between the two.
        return apart > 0 or one.role is other.role is Role.PERSON
    return here[0] != here[1] and here == there[::-1]


def _role(unit: Unit) -> str:
    return next((_ROLES[marker] for marker in reversed(unit.markers) if marker in _ROLES), "")


@cache
def _symmetric() -> frozenset[str]:
    return frozenset(
        word for entry in words(__package__, "symmetric_en.txt") for word in stemmed(entry)
    )


def _is_symmetric(text: Text) -> bool:
    """Whether the text speaks of what holds both ways."""
    if any(word in _symmetric() for piece in pieces(text) for word in piece.words):
        return True
    plain = text.plain.translate(simplified())
    return any(word in plain for word in words(__package__, "symmetric_zh.txt"))


def _read(text: Text) -> tuple[Unit, ...]:
    """The units without openers, passive clauses turned to active ones."""
    those = tuple(unit for unit in units(text).units if unit.role is not Role.OPENER)
    for place in range(1, len(those)):
        if "by" in those[place].markers and place > 1 and _is_participle(those[place - 1], text):
            return _active(those, place - 1, place)
        if "被" in those[place].markers and place + 1 < len(those):
            return (*those[place : place + 2], *those[:place], *those[place + 2 :])
    return those


def _active(those: tuple[Unit, ...], verb: int, agent: int) -> tuple[Unit, ...]:
    end = agent + 1
    while end < len(those) and end - agent < _AGENT_UNITS and not those[end].markers:
        end += 1
    begin = verb - 1
    while begin > 0 and not those[begin].markers:
        begin -= 1
    doer = tuple(_bare(those[agent:end]))
    return (*those[:begin], *doer, *_bare(those[verb:agent]), *those[begin:verb], *those[end:])


def _bare(those: Iterable[Unit]) -> list[Unit]:
    return [unit._replace(markers=()) for unit in those]


def _is_participle(unit: Unit, text: Text) -> bool:
    written = text.folded[unit.start : unit.end]
    return written.endswith(("ed", "en", "t", "ne", "wn", "de", "ld", "id", "me", "un", "nd"))
