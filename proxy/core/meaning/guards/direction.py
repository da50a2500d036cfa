"""Direction and roles: the same words with other parts to play (A to B, who to whom, 从A到B).

Order carries roles unless something shows that it does not: `A and B`, the difference between two,
`close to`, 区别, 距离. A passive is read as what it says: `is Y bothered by X` is `X bothers Y`.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

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
    exchanged = _exchange(pair, stored, asked)
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


def _exchange(pair: Pair, stored: tuple[Unit, ...], asked: tuple[Unit, ...]) -> _Exchange | None:
    """The middle of both where it is A M B here and B M A there, and roles went with it."""
    start, end = 0, len(stored)
    while stored[start].key == asked[start].key:
        start += 1
    while stored[end - 1].key == asked[end - 1].key:
        end -= 1
    # A and B may begin or end alike: `I like my friend`, `my friend likes me`.
    for first, last in ((start, end), (0, end), (start, len(stored))):
        ours, theirs = stored[first:last], asked[first:last]
        if _exchanges(pair, ours, theirs):
            return ours, theirs
    return None


def _exchanges(pair: Pair, ours: tuple[Unit, ...], theirs: tuple[Unit, ...]) -> bool:
    here, there = [unit.key for unit in ours], [unit.key for unit in theirs]
    for first in range(1, len(here)):
        if here[:first] != there[-first:]:
            continue
        for last in range(1, len(here) - first + 1):
            if here[-last:] == there[:last] and here[first:-last] == there[last:-first]:
                one, other = _Moved(ours[0], theirs[-first]), _Moved(ours[-last], theirs[0])
                apart = len(here) - first - last
                if apart == 0 and _are_owner_and_owned(ours, theirs, (first, last), pair):
                    return True
                return _roles_change(one, other, apart) and not _is_topic(one, other, pair)
    return False


def _are_owner_and_owned(
    ours: tuple[Unit, ...], theirs: tuple[Unit, ...], lengths: tuple[int, int], pair: Pair
) -> bool:
    """Whether both texts put 的 and nothing else between: 爸爸的爷爷 is not 爷爷的爸爸."""
    here, there = lengths
    between = pair.stored.plain[ours[here - 1].end : ours[here].start]
    between_there = pair.asked.plain[theirs[there - 1].end : theirs[there].start]
    if not between == between_there == "的":
        return False
    return all(unit.key not in words(__package__, "vague_zh.txt") for unit in (ours[0], theirs[0]))


class _Moved(NamedTuple):
    """The first unit of a phrase in both texts."""

    stored: Unit
    asked: Unit

    @property
    def roles(self) -> tuple[str, str]:
        """What the small words before it say, in the stored and in the asked text."""
        return _role(self.stored), _role(self.asked)


def _roles_change(one: _Moved, other: _Moved, apart: int) -> bool:
    """Whether the order of two exchanged phrases tells who is who."""
    if not _BOTH.isdisjoint(other.stored.markers) and not _BOTH.isdisjoint(one.asked.markers):
        return False
    if one.roles == other.roles == ("", ""):
        # No small word tells: the order does, where there is something (a verb) between the two.
        return apart > 0 or _are_persons(one.stored, other.stored)
    if one.roles[0] != other.roles[0] and one.roles == other.roles[::-1]:
        return True
    ends = {"from", "to"}
    if set(one.roles) == ends or set(other.roles) == ends:
        return True
    return any(_is_passed_on(role, one.roles, other.roles) for role in ends)


def _is_passed_on(role: str, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether one phrase has a role in the stored text, and only the other in the asked one."""
    stored, asked = (one[0] == role, other[0] == role), (one[1] == role, other[1] == role)
    return sum(stored) == sum(asked) == 1 and stored != asked


def _are_persons(one: Unit, other: Unit) -> bool:
    return one.role is other.role is Role.PERSON and "they" not in (one.key, other.key)


_ASKED_FOR = ("什么", "哪个", "哪家", "哪些", "哪种", "哪款", "啥", "那个", "哪", "什么样的")


def _is_topic(one: _Moved, other: _Moved, pair: Pair) -> bool:
    """Whether one of the phrases is what both texts ask for; `哪个牌子` may stand anywhere."""
    return any(
        pair.stored.plain[: moved.stored.start].endswith(_ASKED_FOR)
        and pair.asked.plain[: moved.asked.start].endswith(_ASKED_FOR)
        for moved in (one, other)
    )


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
