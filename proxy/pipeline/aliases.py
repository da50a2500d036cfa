"""Questions that were answered with what is stored for another one (design 4 and 5)."""

from collections import OrderedDict
from typing import NamedTuple

from proxy.core.cache.thread import Thread

MAX_ALIASES = 65536


class Alias(NamedTuple):
    """What a question was answered with."""

    target: bytes
    """The exact key of the entry."""
    similarity: float
    asked: bytes
    """The digest of the question's text (core/meaning/negatives.py)."""
    answer: bytes
    """The digest of the answer's text; empty where it has none to go on from."""


class Aliases:
    """By the exact key of the question that was asked; the longest unused goes first."""

    def __init__(self) -> None:
        self._aliases: OrderedDict[bytes, Alias] = OrderedDict()

    def __len__(self) -> int:
        return len(self._aliases)

    def get(self, key: bytes) -> Alias | None:
        """The alias of a question."""
        return self._aliases.get(key)

    def use(self, key: bytes) -> None:
        """Take note that an alias was served: it stays longer."""
        if key in self._aliases:
            self._aliases.move_to_end(key)

    def thread(self, key: bytes) -> Thread | None:
        """What the question was answered with, for the conversation that follows."""
        alias = self.get(key)
        return Thread(alias.target, alias.answer) if alias is not None and alias.answer else None

    def put(self, key: bytes, alias: Alias) -> None:
        """Take note of an answer given."""
        self._aliases[key] = alias
        self._aliases.move_to_end(key)
        if len(self._aliases) > MAX_ALIASES:
            self._aliases.popitem(last=False)

    def pop(self, key: bytes) -> Alias | None:
        """Forget a question; what it was an alias of."""
        return self._aliases.pop(key, None)

    def pop_all(self, target: bytes) -> list[Alias]:
        """Forget all that were answered with one entry."""
        keys = [key for key, alias in self._aliases.items() if alias.target == target]
        return [self._aliases.pop(key) for key in keys]
