"""Finds the phrases of a word list in a text: the longest at each place, in one pass."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from proxy.core.meaning.text import Text, Token


class Hit(NamedTuple):
    """A phrase at a place."""

    key: str
    """The first entry of its group: what is compared."""
    first: int
    end: int
    """Its tokens are `tokens[first:end]`."""


class _Node:
    """A step in the tree of phrases, token by token."""

    __slots__ = ("key", "steps")

    def __init__(self) -> None:
        self.key: str | None = None
        self.steps: dict[str, _Node] = {}


class Phrases:
    """The groups of a word list, ready to be looked for; all entries of a group are one key."""

    __slots__ = ("_root",)

    def __init__(self, groups: Iterable[Sequence[str]]) -> None:
        self._root = _Node()
        for group in groups:
            for entry in group:
                node = self._root
                for token in Text(entry).tokens:
                    node = node.steps.setdefault(token.norm, _Node())
                node.key = node.key or group[0]

    def find(self, tokens: Sequence[Token]) -> list[Hit]:
        """The phrases in order of their place; they do not overlap."""
        found = []
        starts = self._root.steps
        place = 0
        for first, token in enumerate(tokens):
            if first < place or _step(starts, token.norm) is None:
                continue
            hit = self.at(tokens, first)
            if hit is not None:
                found.append(hit)
                place = hit.end
        return found

    def at(self, tokens: Sequence[Token], first: int) -> Hit | None:
        """The longest phrase that begins with a token."""
        node: _Node | None = self._root
        best = None
        for place in range(first, len(tokens)):
            node = _step(node.steps, tokens[place].norm) if node else None
            if node is None:
                break
            if node.key is not None:
                best = Hit(node.key, first, place + 1)
        return best


def _step(steps: dict[str, _Node], norm: str) -> _Node | None:
    found = steps.get(norm)
    if found is None and norm[-1] == "s" and len(norm) > 3:
        # Anna's is Anna, and iPhones are the iPhone.
        found = steps.get(norm[:-2] if norm[-2] == "'" else norm[:-1])
    return found


def surface(text: Text, hit: Hit) -> str:
    """The piece of the text that was found."""
    return text.plain[text.tokens[hit.first].start : text.tokens[hit.end - 1].end]
