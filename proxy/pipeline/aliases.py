"""Questions that were answered with what is stored for another one (design 4 and 5)."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from proxy.core.cache.thread import Thread

MAX_ALIASES = 65536
MAX_FOLLOWERS = 4096
"""Entries of conversations that go on from one alias; the oldest, mostly gone by then, go first."""


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
        self._followers: dict[bytes, dict[bytes, None]] = {}
        self.losses = 0
        """Counts aliases that are no more: what was planned with them is to be planned anew."""

    def __len__(self) -> int:
        return len(self._aliases)

    def get(self, key: bytes) -> Alias | None:
        """The alias of a question."""
        return self._aliases.get(key)

    def items(self) -> list[tuple[bytes, Alias]]:
        """All, with the exact keys of their questions; a snapshot."""
        return list(self._aliases.items())

    def use(self, key: bytes) -> None:
        """Take note that an alias was served: it stays longer."""
        if key in self._aliases:
            self._aliases.move_to_end(key)

    def thread(self, key: bytes, least: float) -> Thread | None:
        """What the question was answered with, for the conversation that follows."""
        alias = self._aliases.get(key)
        if alias is None or not alias.answer or alias.similarity < least:
            return None
        return Thread(alias.target, alias.answer)

    def follow(self, keys: Iterable[bytes], stored: bytes) -> None:
        """Take note that an entry was stored in a conversation that goes on from these."""
        for key in keys:
            if key in self._aliases:
                followers = self._followers.setdefault(key, {})
                followers[stored] = None
                if len(followers) > MAX_FOLLOWERS:
                    del followers[next(iter(followers))]

    def put(self, key: bytes, alias: Alias) -> None:
        """Take note of an answer given."""
        self._aliases[key] = alias
        self._aliases.move_to_end(key)
        if len(self._aliases) > MAX_ALIASES:
            oldest, _ = self._aliases.popitem(last=False)
            self._followers.pop(oldest, None)

    def pop(self, key: bytes) -> Alias | None:
        """Forget a question; what it was an alias of."""
        alias = self._aliases.pop(key, None)
        if alias is not None:
            self._followers.pop(key, None)
            self.losses += 1
        return alias

    def has_target(self, target: bytes) -> bool:
        """Whether an entry answered other questions than its own."""
        return any(alias.target == target for alias in self._aliases.values())

    def pop_all(self, target: bytes) -> tuple[list[Alias], set[bytes]]:
        """Forget all that were answered with one entry.

        Tells them, and the keys of what was stored in conversations that went on from them.
        """
        keys = [key for key, alias in self._aliases.items() if alias.target == target]
        followers = set[bytes]().union(*(self._followers.get(key, ()) for key in keys))
        found = [self.pop(key) for key in keys]
        return [alias for alias in found if alias is not None], followers

    def clear(self) -> None:
        """Forget all."""
        self._aliases.clear()
        self._followers.clear()
        self.losses += 1
