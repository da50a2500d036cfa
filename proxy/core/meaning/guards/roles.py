"""Roles: who does it to whom, where the order of the clause tells and small words do not.

A text is read as its terms in the order subject, verb, object: `who did Apple sue` is apple, sue,
who; `is the cat chased by the dog` is dog, chase, cat; 我被他打了 is 他, 打, 我. Terms that have
exchanged their places have exchanged their roles, unless it holds both ways (`marry`, `A and B`)
or only a phrase has moved that took its small word along.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.stem import stem
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token
from proxy.core.meaning.units import Role, phrases, pieces, simplified, spelled_out, stemmed

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
_BOTH = frozenset({"and", "or", "versus", "vs", "nor", "between"})
_CLAUSES = frozenset({"if", "while", "because", "before", "after", "unless", "until", "once"})
_CLAUSES |= {"since", "although", "whether", "then"}
_PREPOSITIONS = frozenset({"of", "in", "on", "at", "to", "from", "into", "onto", "by", "with"})
_PREPOSITIONS |= {"for", "about", "than", "as", "per", "via", "through", "over", "under", "against"}
_PREPOSITIONS |= {"across", "during", "without", "within", "off", "towards", "toward", "out", "up"}
_MARKERS = _BOTH | _CLAUSES | _PREPOSITIONS
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


class Reading(NamedTuple):
    """A text in the order subject, verb, object."""

    terms: tuple[Term, ...]
    is_clause: bool
    """Whether it shows who acts: by a verb in front, a passive or a question word."""
    actor: str
    """The person who acts first; empty for none."""
    owners: frozenset[str]
    """The persons of my, your, his."""
    only: str
    """What `only` stands before; empty for nothing."""


def compare(pair: Pair) -> Objection | None:
    """Object where the same words are said of each other the other way round."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if _only_moves(stored, asked):
        return Objection(NAME, f"only {stored.only}", f"only {asked.only}")
    if _gives(pair):
        return Objection(NAME, *_gives(pair))
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
    if max(len(stored), len(asked)) > _MOST:
        return (), ()
    both = Counter(term.key for term in stored) & Counter(term.key for term in asked)
    if both.total() < 2 or both.total() < _SHARE * max(len(stored), len(asked)):
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

    @property
    def middle(self) -> tuple[Term, ...]:
        """M in the stored text."""
        return self.stored[self.first : -self.last]


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
        rest = (*stored[:first], *found.middle, *stored[last:])
        if any(term.key in _symmetric() for term in rest) or _holds_both_ways(pair):
            return None
        return (found.stored, found.asked) if _roles_change(found, pair) else None
    return None


def _blocks(ours: tuple[Term, ...], theirs: tuple[Term, ...]) -> _Exchange | None:
    here, there = [term.key for term in ours], [term.key for term in theirs]
    for first in range(1, len(here)):
        if here[:first] != there[-first:]:
            continue
        for last in range(1, len(here) - first + 1):
            if here[-last:] == there[:last] and here[first:-last] == there[last:-first]:
                return _Exchange(ours, theirs, first, last)
    return None


def _roles_change(found: _Exchange, pair: Pair) -> bool:
    one, other = found.one, found.other
    if other[0].marker in _BOTH and one[1].marker in _BOTH:
        return False
    before, after = (one[0].marker, other[0].marker), (one[1].marker, other[1].marker)
    if before == after[::-1] and before[0] != before[1]:
        return True
    if before != ("", "") or after != ("", ""):
        return False
    if _is_chinese(pair.stored):
        return _chinese_roles_change(found, pair)
    return found.apart > 0 or _actor_changes(found, pair) or _head_changes(found, pair)


def _actor_changes(found: _Exchange, pair: Pair) -> bool:
    """Whether what acts in one text does not in the other, and both show who acts."""
    if not (pair.stored.fact(_read).is_clause and pair.asked.fact(_read).is_clause):
        return False
    one, other = found.one, found.other
    return (one[0].acts and not one[1].acts) or (other[1].acts and not other[0].acts)


def _head_changes(found: _Exchange, pair: Pair) -> bool:
    """Whether two words that stand side by side are another name or another thing now."""
    if found.first + found.last > 2:
        return False
    ours, theirs = found.stored, found.asked
    if ours[0].owns and theirs[0].owns:
        return True
    if not (_are_one(pair.stored, ours) and _are_one(pair.asked, theirs)):
        return False
    if all(term.is_name for term in (*ours, *theirs)):
        return True
    return _is_whole(pair.stored, ours) and _is_whole(pair.asked, theirs)


def _are_one(text: Text, terms: tuple[Term, ...]) -> bool:
    return text.plain[terms[0].end : terms[1].start] == " "


_BEFORE_A_THING = re.compile(r"^(?:(?:what|who) (?:is|are|was|were) )?(?:an? |the )?$", re.IGNORECASE)


def _is_whole(text: Text, terms: tuple[Term, ...]) -> bool:
    """Whether the text asks for the two words and nothing else: `what is a house boat`."""
    rest = text.plain[terms[1].end :].strip(" ?.!")
    return not rest and _BEFORE_A_THING.match(text.plain[: terms[0].start]) is not None


def _owner_acts(stored: Reading, asked: Reading) -> Objection | None:
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
        word
        for name in ("symmetric_en.txt", "roles_symmetric_en.txt")
        for entry in words(__package__, name)
        for word in stemmed(entry)
    )


def _holds_both_ways(pair: Pair) -> bool:
    return pair.stored.fact(_is_symmetric_chinese) and pair.asked.fact(_is_symmetric_chinese)


def _is_symmetric_chinese(text: Text) -> bool:
    plain = text.plain.translate(simplified())
    return any(word in plain for word in words(__package__, "symmetric_zh.txt"))


# Reading


def _is_chinese(text: Text) -> bool:
    return text.fact(_has_han)


def _has_han(text: Text) -> bool:
    return any(token.kind is Kind.HAN for token in text.tokens)


def _read(text: Text) -> Reading:
    if len(text.tokens) > 4 * _MOST:
        return Reading((), False, "", frozenset(), "")
    return _chinese(text) if _is_chinese(text) else _english(text)


# English


class _Word(NamedTuple):
    raw: str
    token: Token
    owns: bool


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
    return frozenset(map(stem, words(__package__, "roles_leading_en.txt")))


@cache
def _participles() -> frozenset[str]:
    return words(__package__, "roles_participles_en.txt")


def _is_participle(raw: str) -> bool:
    return len(raw) > 3 and raw.endswith(("ed", "en")) or raw in _participles()


def _english(text: Text) -> Reading:
    terms: list[Term] = []
    is_clause = False
    for clause in _clauses(text):
        read = _Clause(clause, is_first=not terms)
        terms += read.ordered()
        is_clause |= read.shows_who_acts
    return Reading(tuple(terms), is_clause, "", frozenset(), _after_only(text))


def _after_only(text: Text) -> str:
    norms = text.norms
    if norms.count("only") != 1:
        return ""
    place = norms.index("only")
    if place and norms[place - 1] == "not":
        return ""
    for word in norms[place + 1 :]:
        if word not in _silent() and word not in _FRONTED and word not in _OWNERS:
            return "" if word in _MARKERS else _key(word)
    return ""


def _key(raw: str) -> str:
    person = _persons().get(raw)
    if person is not None:
        return person
    found = stem(raw)
    return _keys().get(found, found)


def _clauses(text: Text) -> Iterator[list[_Word]]:
    found: list[_Word] = []
    for token in text.tokens:
        if token.kind is Kind.SIGN:
            if token.norm in _STOPS and found:
                yield found
                found = []
            continue
        for word in _words(token):
            if found and word.raw in _ASKED | _HOW and found[-1].raw not in _PREPOSITIONS:
                yield found
                found = []
            found.append(word)
    if found:
        yield found


def _words(token: Token) -> Iterator[_Word]:
    if token.kind is Kind.NUMBER:
        yield _Word(token.norm, token, owns=False)
        return
    head, _, rest = token.norm.partition("'")
    is_short = rest == "s" and head in _SHORT_FOR_IS
    owns = token.norm.endswith(("'s", "s'")) and not is_short
    for raw in spelled_out(token.norm):
        yield _Word(raw, token, owns)
    if is_short:
        yield _Word("is", token, owns=False)


class _Clause:
    """A clause, word by word."""

    def __init__(self, those: list[_Word], *, is_first: bool) -> None:
        self._terms: list[Term] = []
        self._verb: int | None = None
        """The participle of a passive among the terms."""
        self._is_by_last = False
        self._moved: list[Term] = []
        """What is asked for, where it stands in front of the one who acts."""
        self._is_passive = False
        self._marker = ""
        self._acts = False
        self.shows_who_acts = False
        self._body(self._head(those, is_first))

    def ordered(self) -> list[Term]:
        """The terms in the order subject, verb, object."""
        terms, moved = self._terms, self._moved
        if self._verb is not None:
            terms, moved = self._active(self._verb)
        if not moved:
            return terms
        if self._marker in _PREPOSITIONS:
            return [*terms, moved[0]._replace(marker=self._marker), *moved[1:]]
        place = next(
            (
                place
                for place, term in enumerate(terms)
                if place > 1 and term.marker in _PREPOSITIONS | _CLAUSES and term.marker != "of"
            ),
            len(terms),
        )
        return [*terms[:place], *moved, *terms[place:]]

    def _head(self, those: list[_Word], is_first: bool) -> list[_Word]:
        """Take off what stands before the clause proper: question word and verb in front."""
        start = 0
        while start < len(those) and those[start].raw in _PREPOSITIONS | {"and", "but", "so"}:
            start += 1
        if start == len(those):
            return those
        first = those[start].raw
        asks = first in _ASKED or (
            first == "how" and len(those) > start + 1 and those[start + 1].raw in ("many", "much")
        )
        if not asks and first not in _HOW and first not in _FRONTED:
            if first == "when":
                self._marker = first
            return those
        reach = _NEAR if is_first or asks else 1
        place = start if first in _FRONTED else start + 1
        while place < len(those) and place - start <= reach and those[place].raw not in _FRONTED:
            place += 1
        is_fronted = place < len(those) and those[place].raw in _FRONTED
        if not is_fronted:
            place = start + 1 if not asks else start + 1
        if asks:
            return self._ask(those, start, place, is_fronted)
        self._acts = True
        self.shows_who_acts |= is_fronted
        if first in _FRONTED:
            self._is_passive = first in _BE
            return those[start + 1 :]
        if first == "when":
            self._marker = first
        if not is_fronted:
            return those[start + 1 :]
        self._is_passive = those[place].raw in _BE
        self._acts = False
        self._body(those[start + 1 : place])
        self._acts = True
        return those[place + 1 :]

    def _ask(
        self, those: list[_Word], start: int, place: int, is_fronted: bool
    ) -> list[_Word]:
        token = those[start].token
        asked = Term(_WH, token.start, token.end)
        rest = those[place + is_fronted :]
        self.shows_who_acts = True
        if is_fronted:
            self._is_passive = those[place].raw in _BE
        if is_fronted and _actor_follows(those[place].raw, rest):
            self._body(those[start + 1 : place])
            self._moved = [asked, *self._terms]
            self._terms = []
            self._acts = True
            return rest
        self._terms = [asked._replace(acts=True)]
        self._body(those[start + 1 : place])
        return rest

    def _body(self, those: list[_Word]) -> None:
        for place, word in enumerate(those):
            following = those[place + 1].raw if place + 1 < len(those) else ""
            raw = word.raw
            if raw in _MARKERS:
                self._marker = raw
                self._acts |= raw in _CLAUSES
            elif raw in _FRONTED:
                self._is_passive |= raw in _BE
            elif raw not in _silent() and not _is_owner(raw, following):
                self._add(word, following)

    def _add(self, word: _Word, following: str) -> None:
        key = _key(word.raw)
        is_person = word.raw in _persons()
        token = word.token
        if (
            self._is_passive
            and self._verb is None
            and following != "to"
            and _is_participle(word.raw)
            and (self._terms or self._moved)
        ):
            self._verb = len(self._terms)
        term = Term(key, token.start, token.end, self._marker, self._acts, word.owns)
        self._terms.append(term._replace(is_name=word.token.norm != "" and _is_capital(word)))
        if not (is_person and self._marker in _CLAUSES):
            self._marker = ""
        self._acts = stem(word.raw) in _leading()

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


def _is_capital(word: _Word) -> bool:
    return False


def _is_owner(raw: str, following: str) -> bool:
    if raw == "her":
        return bool(following) and following not in _MARKERS and following not in _silent()
    return raw in _OWNERS


def _actor_follows(verb: str, rest: list[_Word]) -> bool:
    """Whether the one who acts comes after the verb in front: `who can a minor sue`."""
    near = [word.raw for word in rest[:_NEAR]]
    if not near:
        return False
    if verb in _DO:
        return True
    if verb in _BE:
        return not _is_said(near[0]) and any(_is_said(raw) for raw in near[1:])
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


_ASKED_ZH = frozenset({"谁", "什么", "啥", "哪个", "什么人", "哪位", "哪家"})
_MARKERS_ZH = frozenset("从自由到至往给对向在用让使为离靠按替跟和与或")


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
    return Reading(tuple(terms), False, "", frozenset(), "")


def _chinese_roles_change(found: _Exchange, pair: Pair) -> bool:
    blocks = (found.stored[: found.first], found.stored[-found.last :])
    if found.apart:
        return any(term.key == _WH for block in blocks for term in block)
    return False


def _gives(pair: Pair) -> tuple[str, str] | None:
    return None
