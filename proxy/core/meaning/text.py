"""A question as the guards read it: its tokens, and what has been found in it so far."""

import re
import unicodedata
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeVar

_F = TypeVar("_F")

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u3007\U00020000-\U0003ffff"
_TOKEN = re.compile(
    rf"(?P<han>[{_CJK}])"
    r"|(?P<number>\d+(?:[.,]\d+)*)"
    rf"|(?P<word>(?:(?![{_CJK}])[^\W\d_])+(?:['\u2019](?:(?![{_CJK}])[^\W\d_])+)*)"
    r"|(?P<sign>\S)"
)


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    """A run of letters of a script with blanks between words."""
    HAN = "han"
    """One Chinese character."""
    NUMBER = "number"
    """Digits, with points and commas between them."""
    SIGN = "sign"
    """Any other single character that is not blank."""


class Token(NamedTuple):
    """A piece of a text."""

    norm: str
    """In NFKC and without case: what is compared."""
    kind: Kind
    start: int
    end: int
    """Its place in `Text.folded`'s source, `Text.plain`."""


class Text:
    """A question, analysed once. What guards find in it is kept with it."""

    __slots__ = ("_facts", "folded", "original", "plain", "tokens")

    def __init__(self, original: str) -> None:
        self.original = original
        self.plain = unicodedata.normalize("NFKC", original)
        """The text in NFKC: full-width digits are digits; case is kept."""
        self.folded = self.plain.lower()
        """`plain` in lower case. As long as `plain` but for a few capitals (I with a dot)."""
        self.tokens = _tokens(self.plain)
        self._facts: dict[Callable[[Text], Any], Any] = {}

    @property
    def norms(self) -> tuple[str, ...]:
        """The tokens without signs, as they are compared."""
        return self.fact(_norms)

    def fact(self, read: Callable[["Text"], _F]) -> _F:
        """What `read` finds in this text; it is asked once."""
        try:
            found: _F = self._facts[read]
        except KeyError:
            found = self._facts[read] = read(self)
        return found


class Pair:
    """The question of a stored answer, and the one that is asked now. What is found is kept."""

    __slots__ = ("_facts", "asked", "stored")

    def __init__(self, stored: Text, asked: Text) -> None:
        self.stored = stored
        self.asked = asked
        self._facts: dict[Callable[[Pair], Any], Any] = {}

    def fact(self, read: Callable[["Pair"], _F]) -> _F:
        """What `read` finds in the two texts; it is asked once."""
        try:
            found: _F = self._facts[read]
        except KeyError:
            found = self._facts[read] = read(self)
        return found


class Objection(NamedTuple):
    """Why a stored answer does not serve, in the words of one guard."""

    guard: str
    stored: str
    asked: str
    """The two pieces that differ; empty for nothing there."""


def _tokens(plain: str) -> tuple[Token, ...]:
    found = []
    for match in _TOKEN.finditer(plain):
        kind = Kind(match.lastgroup)
        norm = match[0].lower().replace("\u2019", "'")
        found.append(Token(norm, kind, match.start(), match.end()))
    return tuple(found)


def _norms(text: Text) -> tuple[str, ...]:
    return tuple(token.norm for token in text.tokens if token.kind is not Kind.SIGN)
