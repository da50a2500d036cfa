"""What one text has and the other has not."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from proxy.core.meaning.text import Objection, Text


class Keyed(Protocol):
    """Something found in a text that is compared by its key."""

    @property
    def key(self) -> Hashable:
        """What is compared."""

    @property
    def surface(self) -> str:
        """The piece as it stands in the text."""


class Piece(NamedTuple):
    """A piece of a text and what it is compared by."""

    key: Hashable
    surface: str


_K = TypeVar("_K", bound=Keyed)


def leftovers(stored: Sequence[_K], asked: Sequence[_K]) -> tuple[list[_K], list[_K]]:
    """What has no counterpart on the other side, each piece counted as often as it stands there."""
    return _beyond(stored, asked), _beyond(asked, stored)


def _beyond(pieces: Sequence[_K], others: Sequence[_K]) -> list[_K]:
    there = Counter(other.key for other in others)
    rest = []
    for piece in pieces:
        there[piece.key] -= 1
        if there[piece.key] < 0:
            rest.append(piece)
    return rest


def object_to(guard: str, stored: Sequence[Keyed], asked: Sequence[Keyed]) -> Objection | None:
    """An objection that names the first piece of each side; none if there is no piece at all."""
    if not stored and not asked:
        return None
    return Objection(guard, stored[0].surface if stored else "", asked[0].surface if asked else "")


def spaced(text: Text) -> str:
    """The words of a text with one blank around each, to look for whole words in."""
    return f" {' '.join(text.norms)} "


def squeezed(text: Text) -> str:
    """A text as `squeeze` leaves it, to look for code in."""
    return squeeze(text.folded)


def squeeze(written: str) -> str:
    """Without blanks, quotation marks and backticks."""
    return written.translate(_BLANKS)


_BLANKS = dict.fromkeys(map(ord, " \t\r\n\u3000`'\"\u2018\u2019\u201c\u201d"))
