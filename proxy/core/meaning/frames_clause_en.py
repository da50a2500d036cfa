"""One English clause as its terms in the order subject, verb, object."""

from proxy.core.meaning.frames import BOTH, CLAUSES, WH, WH_IS, Term
from proxy.core.meaning.frames_words_en import (
    ASKED,
    BE,
    DETERMINERS,
    DO,
    FRONTED,
    HAVE,
    HOW,
    MARKERS,
    OWNERS,
    PREPOSITIONS,
    Word,
    following,
    is_owner,
    is_participle,
    is_silent,
    key_of,
    leading,
    persons,
)

_NEAR = 4
"""Words within which what belongs together in a clause is looked for."""
_AGENT = 3
"""Terms of a name at most."""
_GET = frozenset({"get", "gets", "got", "getting"})
_EXPLETIVES = frozenset({"there", "it"})
_ENDS_OBJECT = (PREPOSITIONS | CLAUSES) - {"of"}
_LEADS_IN = PREPOSITIONS | {"and", "but", "so"}


class Clause:
    """A clause, word by word."""

    def __init__(self, those: list[Word], place: int) -> None:
        """Reads the words of the clause that is at this place among those of its text."""
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
        """Whether a verb in front, a passive or a question word tells it."""
        self._body(self._head(those))

    def ordered(self) -> list[Term]:
        """The terms in the order subject, verb, object."""
        terms, moved = self._terms, self._moved
        if self._verb is not None:
            terms, moved = self._active(self._verb)
        if not moved:
            return terms
        if self._marker and self._marker not in BOTH:
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

    def _head(self, those: list[Word]) -> list[Word]:
        """Take off what stands before the clause proper: question word and verb in front."""
        start = 0
        while start < len(those) and those[start].raw in _LEADS_IN:
            start += 1
        rest = those[start:]
        if not rest:
            return those
        if rest[0].raw in ASKED or _asks_how_many(rest):
            return self._ask_who(rest)
        if rest[0].raw in FRONTED:
            return self._ask_whether(rest)
        if rest[0].raw in HOW:
            return self._ask_how(rest)
        return those

    def _ask_whether(self, those: list[Word]) -> list[Word]:
        is_be = those[0].raw in BE
        if is_be and len(those) > 1 and those[1].raw in _EXPLETIVES:
            return those[1:]
        self._acts = self.shows_who_acts = True
        self._is_fronted_be = is_be
        return those[1:]

    def _ask_how(self, those: list[Word]) -> list[Word]:
        # `when my dog does not eat` is no question: there a verb in front is the next word.
        place = _fronted(those, 1 if self._place else _NEAR)
        if place:
            self._body(those[1:place])
            self._is_fronted_be = those[place].raw in BE
            self.shows_who_acts = True
        elif those[0].raw == "when":
            self._marker = "when"
        self._acts = True
        return those[place + 1 :]

    def _ask_who(self, those: list[Word]) -> list[Word]:
        token = those[0].token
        asked = Term(WH, token.start, token.end, clause=self._place)
        place = _fronted(those, _NEAR)
        verb = those[place].raw if place else ""
        rest = those[place + 1 :]
        named = those[1:place] if place else []
        near = [word.raw for word in rest[:_NEAR]]
        if (verb in BE or near[:1] == ["be"]) and not any(map(_is_said, near)):
            return self._ask_what_is(asked._replace(key=WH_IS), named, rest)
        self.shows_who_acts = True
        if verb and _actor_follows(verb, near):
            self._body(named)
            self._is_fronted_be = verb in BE
            self._moved = [asked, *self._terms]
            self._terms = []
            self._acts = True
            return rest
        self._terms = [asked._replace(acts=True)]
        self._body(named)
        self._is_after_be = verb in BE
        return rest

    def _ask_what_is(self, asked: Term, named: list[Word], rest: list[Word]) -> list[Word]:
        """What something is may be asked in any order, but for `what is he afraid of`."""
        self._terms = [asked]
        self._body(named)
        if rest and rest[-1].raw in PREPOSITIONS:
            self._moved, self._terms = self._terms, []
        return rest

    def _body(self, those: list[Word]) -> None:
        for place, word in enumerate(those):
            raw = word.raw
            if raw in MARKERS:
                self._marker = raw
                self._acts |= raw in CLAUSES
            elif raw in FRONTED:
                self._is_after_be |= raw in BE
            elif raw in _GET and is_participle(following(those, place)):
                self._is_after_be = True
            elif not is_silent(word) and not is_owner(those, place):
                self._add(those, place)

    def _add(self, those: list[Word], place: int) -> None:
        word = those[place]
        key = key_of(word.raw)
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
        if marker not in CLAUSES or word.raw not in persons():
            # `before I dry`: the small word is that of the verb too.
            self._marker = ""
        self._acts = (self._acts and word.owns) or key in leading()

    def _is_passive(self, those: list[Word], place: int) -> bool:
        """Whether the word is the participle of a passive: not `allowed to`."""
        return (
            (self._is_after_be or self._is_fronted_be)
            and is_participle(those[place].raw)
            and bool(self._terms or self._moved)
            and following(those, place) != "to"
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


def _fronted(those: list[Word], reach: int) -> int:
    """The place of the verb that stands in front of the one who acts; 0 for none."""
    last = min(reach + 2, len(those))
    return next((place for place in range(1, last) if those[place].raw in FRONTED), 0)


def _asks_how_many(those: list[Word]) -> bool:
    return those[0].raw == "how" and len(those) > 1 and those[1].raw in ("many", "much")


def _actor_follows(verb: str, near: list[str]) -> bool:
    """Whether the one who acts comes after the verb in front: `who can a minor sue`."""
    if not near or verb in DO:
        return bool(near)
    if verb in BE:
        return not _is_said(near[0])
    if verb in HAVE:
        return not is_participle(near[0])
    return _names_somebody(near)


def _is_said(raw: str) -> bool:
    return raw.endswith("ing") or is_participle(raw)


def _names_somebody(near: list[str]) -> bool:
    starts = DETERMINERS | OWNERS
    if near[0] in starts or near[0] in persons():
        return True
    if len(near) > 1 and (near[1] in starts or near[1] in persons()):
        return False
    if near[0].endswith("s"):
        return True
    return len(near) == 1 or not near[1].endswith("s")
