"""Roles: who does it to whom, where the order of the clause tells and small words do not.

A text is read as its terms in the order subject, verb, object: `who did Apple sue` is apple, sue,
who; `is the cat chased by the dog` is dog, chase, cat; 我被他打了 is 他, 打, 我. Terms that have
exchanged their places have exchanged their roles, unless it holds both ways (`marry`, `A and B`)
or only a phrase has moved that took its small word along.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token
from proxy.core.meaning.units import Role, phrases, pieces, simplified, spelled_out

NAME = "roles"

_MOST = 24
"""Longer texts are not simple clauses."""
_SHARE = 0.6
"""So much of the longer text must be in the other for its order to tell anything."""
_NEAR = 4
"""Words within which what belongs together in a clause is looked for."""
_AGENT = 3
"""Terms of a name at most."""

_WH = "?"
"""What is asked for: the key of who, what, which, 谁, 什么."""
_WH_IS = "?="
"""What is asked for where the question is what or who something is."""
_ASKED = frozenset({"who", "whom", "what", "which"})
_HOW = frozenset({"how", "why", "when", "where", "whose"})
_DO = frozenset({"do", "does", "did"})
_BE = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
_HAVE = frozenset({"has", "have", "had"})
_MODAL = frozenset({"can", "could", "should", "would", "will", "may", "might", "must", "shall"})
_FRONTED = _DO | _BE | _HAVE | _MODAL
_DETERMINERS = frozenset({"a", "an", "the", "this", "that", "these", "those", "any", "every"})
_OWNERS = frozenset({"my", "your", "his", "her", "our", "their", "its"})
_SHORT_FOR_IS = _ASKED | _HOW | frozenset({"it", "that", "there", "he", "she", "here"})
_BOTH = frozenset({"and", "or", "but", "versus", "vs", "nor", "between", ","})
_BOTH |= {"和", "与", "跟", "同", "或", "或者", "还是", "及", "以及"}
_CLAUSES = frozenset({"if", "while", "because", "before", "after", "unless", "until", "once"})
_CLAUSES |= {"since", "although", "whether", "then"}
_PREPOSITIONS = frozenset({"of", "in", "on", "at", "to", "from", "into", "onto", "by", "with"})
_PREPOSITIONS |= {"for", "about", "than", "as", "per", "via", "through", "over", "under", "against"}
_PREPOSITIONS |= {"across", "during", "without", "within", "off", "towards", "toward", "out", "up"}
_MARKERS = _BOTH | _CLAUSES | _PREPOSITIONS
_BY_DIRECTION = frozenset({"", "than"})
"""Comparisons are left to the guard that looks at small words."""
_GET = frozenset({"get", "gets", "got", "getting"})
_SHORT_VERB = re.compile(r"(?<=^[a-z]{2})ed?$")
_EXPLETIVES = frozenset({"there", "it"})
_ENDS_OBJECT = (_PREPOSITIONS | _CLAUSES) - {"of"}
_LEADS_IN = _PREPOSITIONS | {"and", "but", "so"}
_NOT_ONLY = _FRONTED | _OWNERS
"""Words between `only` and what it belongs to."""
_QUESTIONS = _ASKED | _HOW
_BEFORE_A_THING = re.compile(
    r"^(?:(?:what|who) (?:is|are|was|were) )?(?:an? |the )?$", re.IGNORECASE
)
_STOPS = frozenset(".?!;:")


class Term(NamedTuple):
    """Somebody or something, or what is done."""

    key: str
    start: int
    end: int
    """Its place in `Text.plain`."""
    marker: str = ""
    """The small word before it."""
    acts: bool = False
    """Whether it stands where the one stands who acts."""
    owns: bool = False
    """Whether it is named as an owner: `doctor's`."""
    is_name: bool = False
    """Whether it is written with a capital."""
    clause: int = 0
    """The clause that it stands in, counted from the beginning."""


class Reading(NamedTuple):
    """A text in the order subject, verb, object."""

    terms: tuple[Term, ...]
    is_clause: bool
    """Whether it shows who acts: by a verb in front, a passive or a question word."""
    actor: str = ""
    """The person who acts first; empty for none."""
    owners: frozenset[str] = frozenset()
    """The persons of my, your, his."""
    only: str = ""
    """The key of what `only` stands before; empty for nothing."""
    shown: str = ""
    """`only` and what it stands before, as they are written."""


def compare(pair: Pair) -> Objection | None:
    """Object where the same words are said of each other the other way round."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if _only_moves(stored, asked):
        return Objection(NAME, stored.shown, asked.shown)
    gifts = _gives(pair)
    if gifts:
        return Objection(NAME, *gifts)
    ours, theirs = _shared(stored.terms, asked.terms)
    if not ours:
        return None
    if [term.key for term in ours] == [term.key for term in theirs]:
        return _owner_acts(stored, asked)
    found = _exchange(pair, ours, theirs)
    if found is None:
        return None
    return Objection(NAME, _shown(pair.stored, found[0]), _shown(pair.asked, found[1]))


def _shown(text: Text, terms: Sequence[Term]) -> str:
    start, end = min(term.start for term in terms), max(term.end for term in terms)
    return text.plain[start:end]


def _shared(
    stored: tuple[Term, ...], asked: tuple[Term, ...]
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    shorter, longer = sorted((len(stored), len(asked)))
    if longer > _MOST or shorter < _SHARE * longer:
        return (), ()
    both = Counter(term.key for term in stored) & Counter(term.key for term in asked)
    if both.total() < max(2, _SHARE * longer):
        return (), ()
    return _common(stored, both), _common(asked, both)


def _common(those: tuple[Term, ...], both: Counter[str]) -> tuple[Term, ...]:
    left = both.copy()
    found = []
    for term in those:
        if left[term.key] > 0:
            left[term.key] -= 1
            found.append(term)
    return tuple(found)


# What has changed


class _Exchange(NamedTuple):
    """A M B in the stored text and B M A in the asked one."""

    stored: tuple[Term, ...]
    asked: tuple[Term, ...]
    first: int
    last: int
    """How many terms A and B have."""

    @property
    def apart(self) -> int:
        """How many terms M has."""
        return len(self.stored) - self.first - self.last

    @property
    def one(self) -> tuple[Term, Term]:
        """The first term of A in both texts."""
        return self.stored[0], self.asked[-self.first]

    @property
    def other(self) -> tuple[Term, Term]:
        """The first term of B in both texts."""
        return self.stored[-self.last], self.asked[0]

    def has(self, key: str) -> bool:
        """Whether A or B has it."""
        blocks = (*self.stored[: self.first], *self.stored[-self.last :])
        return any(term.key == key for term in blocks)


def _exchange(
    pair: Pair, stored: tuple[Term, ...], asked: tuple[Term, ...]
) -> tuple[tuple[Term, ...], tuple[Term, ...]] | None:
    """The middle of both where two terms have exchanged their roles."""
    start, end = 0, len(stored)
    while stored[start].key == asked[start].key:
        start += 1
    while stored[end - 1].key == asked[end - 1].key:
        end -= 1
    # A and B may begin or end alike.
    for first, last in ((start, end), (0, end), (start, len(stored))):
        found = _blocks(stored[first:last], asked[first:last])
        if found is None:
            continue
        if _holds_both_ways(found, pair):
            return None
        return (found.stored, found.asked) if _roles_change(found, pair) else None
    return None


def _blocks(ours: tuple[Term, ...], theirs: tuple[Term, ...]) -> _Exchange | None:
    here, there = [term.key for term in ours], [term.key for term in theirs]
    for first in range(1, len(here)):
        # One term first: most places are no match.
        if here[0] != there[-first] or here[:first] != there[-first:]:
            continue
        for last in range(1, len(here) - first + 1):
            if here[-1] != there[last - 1]:
                continue
            if here[-last:] == there[:last] and here[first:-last] == there[last:-first]:
                return _Exchange(ours, theirs, first, last)
    return None


def _roles_change(found: _Exchange, pair: Pair) -> bool:
    one, other = found.one, found.other
    if one[0].clause != other[0].clause or one[1].clause != other[1].clause:
        # Whole clauses may stand in any order.
        return False
    if other[0].marker in _BOTH and one[1].marker in _BOTH:
        return False
    before, after = (one[0].marker, other[0].marker), (one[1].marker, other[1].marker)
    if before == after[::-1] and before[0] != before[1]:
        # Without a small word between the two they are one phrase: `on October 18`.
        stands_between = bool(other[0].marker and one[1].marker)
        if before[0] in _CLAUSES and one[0].acts and other[1].acts:
            return True
        return (found.apart > 0 or stands_between) and not _BY_DIRECTION.issuperset(before)
    if before != ("", "") or after != ("", ""):
        return False
    if _is_chinese(pair.stored):
        return _chinese_roles_change(found, pair)
    return found.apart > 0 or _actor_changes(found, pair) or _head_changes(found, pair)


def _actor_changes(found: _Exchange, pair: Pair) -> bool:
    """Whether what acts in one text does not in the other, and both show who acts."""
    if not (pair.stored.fact(_read).is_clause and pair.asked.fact(_read).is_clause):
        return False
    if found.has(_WH):
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
    return first.clause > 0 and place > 0 and terms[place - 1].key == _WH


def _head_changes(found: _Exchange, pair: Pair) -> bool:
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


def _owner_acts(stored: Reading, asked: Reading) -> Objection | None:
    """Object where one acts on what is another's, and the other way round: `they read my mail`."""
    if stored.actor == asked.actor:
        return None
    if stored.actor in asked.owners and asked.actor in stored.owners:
        return Objection(NAME, stored.actor, asked.actor)
    return None


def _only_moves(stored: Reading, asked: Reading) -> bool:
    """Whether `only` stands before another word that both texts have."""
    return (
        bool(stored.only and asked.only)
        and stored.only != asked.only
        and any(term.key == stored.only for term in asked.terms)
        and any(term.key == asked.only for term in stored.terms)
    )


@cache
def _symmetric() -> frozenset[str]:
    return frozenset(
        _key(word)
        for name in ("symmetric_en.txt", "roles_symmetric_en.txt")
        for word in words(__package__, name)
    )


def _holds_both_ways(found: _Exchange, pair: Pair) -> bool:
    """Whether what is said of the two holds both ways: `marry`, `difference`, 区别."""
    if _is_chinese(pair.stored):
        return pair.stored.fact(_is_symmetric_chinese) and pair.asked.fact(_is_symmetric_chinese)
    # `Can I sue my friend`: the friend is no relation between the two here.
    blocks = (*found.stored[: found.first], *found.stored[-found.last :])
    telling = _symmetric() - {term.key for term in blocks}
    return all(
        any(term.key in telling for term in text.fact(_read).terms)
        for text in (pair.stored, pair.asked)
    )


def _is_symmetric_chinese(text: Text) -> bool:
    plain = text.plain.translate(simplified())
    lists = ("symmetric_zh.txt", "roles_symmetric_zh.txt")
    return any(word in plain for name in lists for word in words(__package__, name))


# Reading


def _is_chinese(text: Text) -> bool:
    return text.fact(_has_han)


def _has_han(text: Text) -> bool:
    return _HAN.search(text.plain) is not None


def _read(text: Text) -> Reading:
    if len(text.tokens) > 4 * _MOST:
        return Reading((), False)
    return _chinese(text) if _is_chinese(text) else _english(text)


# English


class _Word(NamedTuple):
    raw: str
    token: Token
    owns: bool = False
    is_name: bool = False


@cache
def _keys() -> dict[str, str]:
    """The synonyms of a single stem."""
    found: dict[str, str] = {}
    for first, those in phrases().items():
        for phrase, entry in those:
            if len(phrase) == 1 and entry.role in (Role.CONTENT, Role.PERSON):
                found[first] = entry.key
    return found


@cache
def _persons() -> dict[str, str]:
    lists = groups("proxy.core.meaning", "persons_en.txt")
    return {word: group[0] for group in lists for word in group}


@cache
def _silent() -> frozenset[str]:
    return words(__package__, "roles_silent_en.txt")


@cache
def _leading() -> frozenset[str]:
    return frozenset(map(_key, words(__package__, "roles_leading_en.txt")))


@cache
def _participles() -> frozenset[str]:
    return words(__package__, "roles_participles_en.txt")


def _is_participle(raw: str) -> bool:
    return raw in _participles() or (
        raw.endswith("ed") and not raw.endswith("eed") and len(raw) > 3
    )


def _english(text: Text) -> Reading:
    terms: list[Term] = []
    is_clause = False
    for place, clause in enumerate(_clauses(text)):
        read = _Clause(clause, place)
        terms += read.ordered()
        is_clause |= read.shows_who_acts
    persons = _persons()
    actor = next((t.key for t in terms if t.acts and t.key in persons), "")
    owners = frozenset(persons[word] for word in text.norms if word in _OWNERS and word in persons)
    return Reading(tuple(terms), is_clause, actor, owners, *_after_only(text))


def _after_only(text: Text) -> tuple[str, str]:
    """The key of the word that `only` belongs to, and both as written; empty for none."""
    if text.norms.count("only") != 1:
        return "", ""
    place = next(at for at, token in enumerate(text.tokens) if token.norm == "only")
    if place and text.tokens[place - 1].norm == "not":
        return "", ""
    for token in text.tokens[place + 1 :]:
        if token.kind is not Kind.WORD or token.norm in _MARKERS:
            break
        if token.norm not in _silent() and token.norm not in _NOT_ONLY:
            return _key(token.norm), text.plain[text.tokens[place].start : token.end]
    return "", ""


@lru_cache(maxsize=16384)
def _key(raw: str) -> str:
    person = _persons().get(raw)
    if person is not None:
        return person
    found = raw if raw.endswith("eed") else stem(raw)
    found = _keys().get(found, found)
    # `sue`, `sued` and `suing`, which are too short for the stemmer.
    return _SHORT_VERB.sub("", found)


def _clauses(text: Text) -> Iterator[list[_Word]]:
    found: list[_Word] = []
    for token in text.tokens:
        if token.kind is Kind.SIGN and token.norm != ",":
            if token.norm in _STOPS and found:
                yield found
                found = []
            continue
        is_name = token.start > 0 and text.plain[token.start].isupper()
        for raw, owns in _spelled(token.norm):
            if raw in _QUESTIONS and found and found[-1].raw not in _PREPOSITIONS:
                yield found
                found = []
            found.append(_Word(raw, token, owns, is_name))
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


class _Clause:
    """A clause, word by word."""

    def __init__(self, those: list[_Word], place: int) -> None:
        self._place = place
        self._terms: list[Term] = []
        self._verb: int | None = None
        """The participle of a passive among the terms."""
        self._moved: list[Term] = []
        """What is asked for, where it stands in front of the one who acts."""
        self._is_fronted_be = False
        self._is_after_be = False
        self._marker = ""
        self._acts = False
        self.shows_who_acts = False
        self._body(self._head(those))

    def ordered(self) -> list[Term]:
        """The terms in the order subject, verb, object."""
        terms, moved = self._terms, self._moved
        if self._verb is not None:
            terms, moved = self._active(self._verb)
        if not moved:
            return terms
        if self._marker and self._marker not in _BOTH:
            return [*terms, moved[0]._replace(marker=self._marker), *moved[1:]]
        place = next(
            (
                place
                for place, term in enumerate(terms)
                if place > 1 and term.marker in _ENDS_OBJECT
            ),
            len(terms),
        )
        return [*terms[:place], *moved, *terms[place:]]

    def _head(self, those: list[_Word]) -> list[_Word]:
        """Take off what stands before the clause proper: question word and verb in front."""
        start = 0
        while start < len(those) and those[start].raw in _LEADS_IN:
            start += 1
        rest = those[start:]
        if not rest:
            return those
        if rest[0].raw in _ASKED or _asks_how_many(rest):
            return self._ask_who(rest)
        if rest[0].raw in _FRONTED:
            return self._ask_whether(rest)
        if rest[0].raw in _HOW:
            return self._ask_how(rest)
        return those

    def _ask_whether(self, those: list[_Word]) -> list[_Word]:
        is_be = those[0].raw in _BE
        if is_be and len(those) > 1 and those[1].raw in _EXPLETIVES:
            return those[1:]
        self._acts = self.shows_who_acts = True
        self._is_fronted_be = is_be
        return those[1:]

    def _ask_how(self, those: list[_Word]) -> list[_Word]:
        # `when my dog does not eat` is no question: there a verb in front is the next word.
        place = _fronted(those, 1 if self._place else _NEAR)
        if place:
            self._body(those[1:place])
            self._is_fronted_be = those[place].raw in _BE
            self.shows_who_acts = True
        elif those[0].raw == "when":
            self._marker = "when"
        self._acts = True
        return those[place + 1 :]

    def _ask_who(self, those: list[_Word]) -> list[_Word]:
        token = those[0].token
        asked = Term(_WH, token.start, token.end, clause=self._place)
        place = _fronted(those, _NEAR)
        verb = those[place].raw if place else ""
        rest = those[place + 1 :]
        named = those[1:place] if place else []
        near = [word.raw for word in rest[:_NEAR]]
        if (verb in _BE or near[:1] == ["be"]) and not any(map(_is_said, near)):
            return self._ask_what_is(asked._replace(key=_WH_IS), named, rest)
        self.shows_who_acts = True
        if verb and _actor_follows(verb, near):
            self._body(named)
            self._is_fronted_be = verb in _BE
            self._moved = [asked, *self._terms]
            self._terms = []
            self._acts = True
            return rest
        self._terms = [asked._replace(acts=True)]
        self._body(named)
        self._is_after_be = verb in _BE
        return rest

    def _ask_what_is(self, asked: Term, named: list[_Word], rest: list[_Word]) -> list[_Word]:
        """What something is may be asked in any order, but for `what is he afraid of`."""
        self._terms = [asked]
        self._body(named)
        if rest and rest[-1].raw in _PREPOSITIONS:
            self._moved, self._terms = self._terms, []
        return rest

    def _body(self, those: list[_Word]) -> None:
        for place, word in enumerate(those):
            raw = word.raw
            if raw in _MARKERS:
                self._marker = raw
                self._acts |= raw in _CLAUSES
            elif raw in _FRONTED:
                self._is_after_be |= raw in _BE
            elif raw in _GET and _is_participle(_following(those, place)):
                self._is_after_be = True
            elif not _is_silent(word) and not _is_owner(those, place):
                self._add(those, place)

    def _add(self, those: list[_Word], place: int) -> None:
        word = those[place]
        key = _key(word.raw)
        if self._verb is None and self._is_passive(those, place):
            self._verb = len(self._terms)
        marker = self._marker
        if marker == "to" and self._terms and self._terms[-1].acts:
            # What somebody is got to do: `get him to pay`.
            marker = ""
        start, end = word.token.start, word.token.end
        acts = self._acts and not word.owns
        self._terms.append(
            Term(key, start, end, marker, acts, word.owns, word.is_name, self._place)
        )
        self._is_after_be = False
        if marker not in _CLAUSES or word.raw not in _persons():
            # `before I dry`: the small word is that of the verb too.
            self._marker = ""
        self._acts = (self._acts and word.owns) or key in _leading()

    def _is_passive(self, those: list[_Word], place: int) -> bool:
        """Whether the word is the participle of a passive: not `allowed to`."""
        return (
            (self._is_after_be or self._is_fronted_be)
            and _is_participle(those[place].raw)
            and bool(self._terms or self._moved)
            and _following(those, place) != "to"
        )

    def _active(self, verb: int) -> tuple[list[Term], list[Term]]:
        """A passive turned round: agent, verb, patient."""
        terms, moved = self._terms, self._moved
        begin = verb - 1
        while begin > 0 and not terms[begin].marker and not terms[begin].acts:
            begin -= 1
        begin = max(begin, 0)
        patient = [term._replace(acts=False) for term in terms[begin:verb]]
        self.shows_who_acts = True
        if verb + 1 < len(terms) and terms[verb + 1].marker == "by":
            end = verb + 2
            while end < len(terms) and end - verb <= _AGENT and not terms[end].marker:
                end += 1
            doer = [terms[verb + 1]._replace(marker="", acts=True), *terms[verb + 2 : end]]
            return [*terms[:begin], *doer, terms[verb], *patient, *terms[end:]], moved
        rest = [*terms[:begin], terms[verb], *patient, *terms[verb + 1 :]]
        if moved and self._marker == "by":
            self._marker = ""
            return [moved[0]._replace(acts=True), *moved[1:], *rest], []
        return rest, moved


def _is_silent(word: _Word) -> bool:
    if word.raw == "a":
        # A letter in capitals is a name.
        return not word.is_name
    if word.raw.endswith("ly") and len(word.raw) > _NEAR:
        return not word.is_name
    return word.raw in _silent()


def _is_owner(those: list[_Word], place: int) -> bool:
    raw = those[place].raw
    if raw != "her":
        return raw in _OWNERS
    following = _following(those, place)
    return bool(following) and following not in _MARKERS


def _following(those: list[_Word], place: int) -> str:
    """The next word that says something; empty for none."""
    rest = those[place + 1 :]
    return next((word.raw for word in rest if word.raw == "to" or not _is_silent(word)), "")


def _fronted(those: list[_Word], reach: int) -> int:
    """The place of the verb that stands in front of the one who acts; 0 for none."""
    last = min(reach + 2, len(those))
    return next((place for place in range(1, last) if those[place].raw in _FRONTED), 0)


def _asks_how_many(those: list[_Word]) -> bool:
    return those[0].raw == "how" and len(those) > 1 and those[1].raw in ("many", "much")


def _actor_follows(verb: str, near: list[str]) -> bool:
    """Whether the one who acts comes after the verb in front: `who can a minor sue`."""
    if not near or verb in _DO:
        return bool(near)
    if verb in _BE:
        return not _is_said(near[0])
    if verb in _HAVE:
        return not _is_participle(near[0])
    return _names_somebody(near)


def _is_said(raw: str) -> bool:
    return raw.endswith("ing") or _is_participle(raw)


def _names_somebody(near: list[str]) -> bool:
    starts = _DETERMINERS | _OWNERS
    if near[0] in starts or near[0] in _persons():
        return True
    if len(near) > 1 and (near[1] in starts or near[1] in _persons()):
        return False
    if near[0].endswith("s"):
        return True
    return len(near) == 1 or not near[1].endswith("s")


# Chinese


_ASKED_ZH = frozenset({"谁", "什么", "啥", "什么人"})
_ANYBODY_ZH = frozenset({"人", "别人", "人家"})
_PASSIVE = frozenset({"被", "遭"})
_OBJECT = frozenset({"把", "将"})
_AFTER_A_THING = frozenset({"", "是", "叫", "在", "吗", "呢", "?", "有"})
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_GOT_FROM = "[向跟找问从]"


def _chinese(text: Text) -> Reading:
    terms: list[Term] = []
    marker = ""
    for piece in pieces(text):
        role, word = piece.entry.role, piece.words[0]
        if role is Role.MARKER:
            marker = word
        elif role in (Role.CONTENT, Role.PERSON) or word in _ASKED_ZH:
            key = _WH if word in _ASKED_ZH else piece.entry.key
            terms.append(Term(key, piece.start, piece.end, marker, role is Role.PERSON))
            marker = ""
    return Reading(*_chinese_order(terms))


def _chinese_order(terms: list[Term]) -> tuple[tuple[Term, ...], bool]:
    """The terms as subject, verb, object, and whether a small word had told who acts."""
    for place, term in enumerate(terms):
        if term.marker not in _PASSIVE | _OBJECT:
            continue
        middle = place + _length(terms, place)
        is_said = middle < len(terms) and not terms[middle].marker
        end = middle + _length(terms, middle) if is_said else middle
        first = [term._replace(marker=""), *terms[place + 1 : middle]]
        verb, before, rest = terms[middle:end], terms[:place], terms[end:]
        if term.marker in _OBJECT:
            return (*before, *verb, *first, *rest), bool(verb)
        patient = [bare._replace(acts=False) for bare in before]
        if verb and term.key in _ANYBODY_ZH:
            return (*verb, *patient, *rest), True
        return (*first, *verb, *patient, *rest), True
    return tuple(terms), False


def _length(terms: list[Term], place: int) -> int:
    """How many terms the word at a place has: two where characters are not known as a word."""
    one, *rest = terms[place : place + 2]
    if not rest or rest[0].marker or rest[0].start != one.end:
        return 1
    is_known = one.acts or one.end - one.start > 1 or one.key in _ANYBODY_ZH
    return 1 if is_known or rest[0].acts or rest[0].end - one.end > 1 else 2


def _chinese_roles_change(found: _Exchange, pair: Pair) -> bool:
    tells = pair.stored.fact(_read).is_clause != pair.asked.fact(_read).is_clause
    both = pair.stored.fact(_read).is_clause and pair.asked.fact(_read).is_clause
    if found.apart:
        return tells or both or found.has(_WH)
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


@cache
def _given() -> re.Pattern[str]:
    """Ways to say that somebody is given something, and that it is got from him."""
    giving = "|".join(sorted(words(__package__, "roles_giving_zh.txt")))
    taking = "|".join(sorted(words(__package__, "roles_taking_zh.txt")))
    return re.compile(
        rf"(?P<take>{_GOT_FROM}(?P<of>[\u4e00-\u9fff]{{1,4}}?)(?:{taking}))"
        rf"|(?P<give>(?:{giving})[\u4e00-\u9fff]{{0,3}}?给(?P<to>[\u4e00-\u9fff]{{1,4}}))"
    )


def _gives(pair: Pair) -> tuple[str, str] | None:
    """What is given to somebody in one text, and got from the same one in the other."""
    if ("给" in pair.stored.plain) is ("给" in pair.asked.plain):
        return None
    stored, asked = pair.stored.fact(_gift), pair.asked.fact(_gift)
    if stored is None or asked is None or (stored["to"] is None) is (asked["to"] is None):
        return None
    to, of = stored["to"] or asked["to"], stored["of"] or asked["of"]
    return (stored[0], asked[0]) if to.startswith(of) else None


def _gift(text: Text) -> re.Match[str] | None:
    if not _is_chinese(text):
        return None
    return _given().search(text.plain.translate(simplified()))
