"""Roles: who does it to whom, where the order of the clause tells and small words do not.

Terms that have exchanged their places have exchanged their roles, unless it holds both ways
(`marry`, `A and B`) or only a phrase has moved that took its small word along.
"""

import re
from collections.abc import Sequence
from functools import cache

from proxy.core.meaning.difference import difference
from proxy.core.meaning.frames import BOTH, CLAUSES, MOST_TERMS, WH, Frame, Term
from proxy.core.meaning.frames_en import read_english
from proxy.core.meaning.frames_exchange import Exchange, exchange, shared
from proxy.core.meaning.frames_words_en import key_of
from proxy.core.meaning.frames_zh import gift, is_chinese, read_chinese
from proxy.core.meaning.lexicon import words
from proxy.core.meaning.text import Objection, Pair, Text
from proxy.core.meaning.units import simplified

NAME = "roles"

_TURNING = re.compile(
    r"\b(?:by|be|was|were|been|being|gets?|got|getting|only|did|does|me|my|us|our)\b|[把被给向只仅还要]"
)
_BY_DIRECTION = frozenset({"", "than"})
"""Comparisons are left to the guard that looks at small words."""
_BEFORE_A_THING = re.compile(
    r"^(?:(?:what|who) (?:is|are|was|were) )?(?:an? |the )?$", re.IGNORECASE
)
_AFTER_A_THING = frozenset({"", "是", "叫", "在", "吗", "呢", "?", "有"})


def compare(pair: Pair) -> Objection | None:
    """Object where the same words are said of each other the other way round."""
    if not _may_turn(pair):
        return None
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if _only_moves(stored, asked):
        return Objection(NAME, stored.shown, asked.shown)
    gifts = _gives(pair)
    if gifts:
        return Objection(NAME, *gifts)
    ours, theirs = shared(stored.terms, asked.terms)
    if not ours:
        return None
    if [term.key for term in ours] == [term.key for term in theirs]:
        return _owner_acts(stored, asked)
    found = exchange(ours, theirs)
    if found is None or _holds_both_ways(found, pair) or not _roles_change(found, pair):
        return None
    return Objection(NAME, _shown(pair.stored, found.stored), _shown(pair.asked, found.asked))


def _may_turn(pair: Pair) -> bool:
    # Most pairs keep their order, and have no word by which it could mean the other way round:
    # to see that costs a fraction of reading them.
    return bool(
        difference(pair).moved
        or _TURNING.search(pair.stored.folded)
        or _TURNING.search(pair.asked.folded)
    )


def _read(text: Text) -> Frame:
    if len(text.tokens) > 4 * MOST_TERMS:
        return Frame((), False)
    return read_chinese(text) if is_chinese(text) else read_english(text)


def _shown(text: Text, terms: Sequence[Term]) -> str:
    start, end = min(term.start for term in terms), max(term.end for term in terms)
    return text.plain[start:end]


def _only_moves(stored: Frame, asked: Frame) -> bool:
    """Whether `only` stands before another word that both texts have."""
    return (
        bool(stored.only and asked.only)
        and stored.only != asked.only
        and any(term.key == stored.only for term in asked.terms)
        and any(term.key == asked.only for term in stored.terms)
    )


def _gives(pair: Pair) -> tuple[str, str] | None:
    """What is given to somebody in one text, and got from the same one in the other."""
    if ("给" in pair.stored.plain) is ("给" in pair.asked.plain):
        return None
    stored, asked = pair.stored.fact(gift), pair.asked.fact(gift)
    if stored is None or asked is None or (stored["to"] is None) is (asked["to"] is None):
        return None
    to, of = stored["to"] or asked["to"], stored["of"] or asked["of"]
    return (stored[0], asked[0]) if to.startswith(of) else None


def _owner_acts(stored: Frame, asked: Frame) -> Objection | None:
    """Object where one acts on what is another's, and the other way round: `they read my mail`."""
    if stored.actor == asked.actor:
        return None
    if stored.actor in asked.owners and asked.actor in stored.owners:
        return Objection(NAME, stored.actor, asked.actor)
    return None


def _roles_change(found: Exchange, pair: Pair) -> bool:
    one, other = found.one, found.other
    if one[0].clause != other[0].clause or one[1].clause != other[1].clause:
        # Whole clauses may stand in any order.
        return False
    if other[0].marker in BOTH and one[1].marker in BOTH:
        return False
    before, after = (one[0].marker, other[0].marker), (one[1].marker, other[1].marker)
    if before == after[::-1] and before[0] != before[1]:
        # Without a small word between the two they are one phrase: `on October 18`.
        stands_between = bool(other[0].marker and one[1].marker)
        if before[0] in CLAUSES and one[0].acts and other[1].acts:
            return True
        return (found.apart > 0 or stands_between) and not _BY_DIRECTION.issuperset(before)
    if before != ("", "") or after != ("", ""):
        return False
    if is_chinese(pair.stored):
        return _chinese_roles_change(found, pair)
    return found.apart > 0 or _actor_changes(found, pair) or _head_changes(found, pair)


def _actor_changes(found: Exchange, pair: Pair) -> bool:
    """Whether what acts in one text does not in the other, and both show who acts."""
    if not (pair.stored.fact(_read).is_clause and pair.asked.fact(_read).is_clause):
        return False
    if found.has(WH):
        return False
    if _is_asked_within(pair.stored, found.stored[0]) and _is_asked_within(
        pair.asked, found.asked[0]
    ):
        return True
    one, other = found.one, found.other
    return (one[0].acts and not one[1].acts) or (other[1].acts and not other[0].acts)


def _is_asked_within(text: Text, first: Term) -> bool:
    """Whether a question within the sentence asks with the term: `tell me who Apple sued`."""
    terms = text.fact(_read).terms
    place = terms.index(first)
    return first.clause > 0 and place > 0 and terms[place - 1].key == WH


def _head_changes(found: Exchange, pair: Pair) -> bool:
    """Whether two words that stand side by side are another name or another thing now."""
    if found.first + found.last > 2:
        return False
    ours, theirs = found.stored, found.asked
    if ours[0].owns and theirs[0].owns:
        return True
    if not (_are_one(pair.stored, ours) and _are_one(pair.asked, theirs)):
        return False
    names = [term.is_name for term in (*ours, *theirs)]
    if any(names):
        return all(names)
    return _is_whole(pair.stored, ours) and _is_whole(pair.asked, theirs)


def _are_one(text: Text, terms: tuple[Term, ...]) -> bool:
    return text.plain[terms[0].end : terms[1].start] == " "


def _is_whole(text: Text, terms: tuple[Term, ...]) -> bool:
    """Whether the text asks for the two words and nothing else: `what is a house boat`."""
    rest = text.plain[terms[1].end :].strip(" ?.!")
    return not rest and _BEFORE_A_THING.match(text.plain[: terms[0].start]) is not None


def _chinese_roles_change(found: Exchange, pair: Pair) -> bool:
    tells = pair.stored.fact(_read).is_clause != pair.asked.fact(_read).is_clause
    both = pair.stored.fact(_read).is_clause and pair.asked.fact(_read).is_clause
    if found.apart:
        return tells or both or found.has(WH)
    if _are_owner_and_owned(pair.stored, found.stored, found.first) and _are_owner_and_owned(
        pair.asked, found.asked, found.last
    ):
        return True
    one, other = found.one, found.other
    if tells and (one[0].acts != one[1].acts or other[0].acts != other[1].acts):
        return True
    return _is_said_to_be(pair.stored, found.stored) and _is_said_to_be(pair.asked, found.asked)


def _are_owner_and_owned(text: Text, terms: tuple[Term, ...], first: int) -> bool:
    """Whether 的 and nothing else stands between two words: 校长的司机."""
    between = text.plain[terms[first - 1].end : terms[first].start]
    lengths = (terms[first - 1].end - terms[0].start, terms[-1].end - terms[first].start)
    after = text.plain[terms[-1].end : terms[-1].end + 1]
    return between == "的" and min(lengths) > 1 and after in _AFTER_A_THING


def _is_said_to_be(text: Text, terms: tuple[Term, ...]) -> bool:
    """Whether the text asks if one thing is another: `所有甲都是乙吗`."""
    between = text.plain[terms[0].end : terms[-1].start]
    return "是" in between and "的" not in between and text.plain.rstrip(" ?").endswith("吗")


def _holds_both_ways(found: Exchange, pair: Pair) -> bool:
    """Whether what is said of the two holds both ways: `marry`, `difference`, 区别."""
    if is_chinese(pair.stored):
        return pair.stored.fact(_is_symmetric_chinese) and pair.asked.fact(_is_symmetric_chinese)
    # `Can I sue my friend`: the friend is no relation between the two here.
    blocks = (*found.stored[: found.first], *found.stored[-found.last :])
    telling = _symmetric() - {term.key for term in blocks}
    return all(
        any(term.key in telling for term in text.fact(_read).terms)
        for text in (pair.stored, pair.asked)
    )


@cache
def _symmetric() -> frozenset[str]:
    return frozenset(
        key_of(word)
        for name in ("symmetric_en.txt", "roles_symmetric_en.txt")
        for word in words(__package__, name)
    )


def _is_symmetric_chinese(text: Text) -> bool:
    plain = text.plain.translate(simplified())
    lists = ("symmetric_zh.txt", "roles_symmetric_zh.txt")
    return any(word in plain for name in lists for word in words(__package__, name))
