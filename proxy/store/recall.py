"""Brings in entries that an index beyond this process has found, and this process does not know."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from proxy.core.cache.change import Change, Learnt, Put
from proxy.ports import Clock, TakeIn
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from proxy.store.codec import Unreadable, decode

SETTLE_SECONDS = 10.0
"""A vector may be there before the entry is; what is missing longer than this is gone."""
_MAX_MISSING = 4096


class EntryNames(Protocol):
    """Where Redis has what is stored under an exact key."""

    def answer(self, key: bytes) -> str:
        """The key of the answer, a Put."""

    def meaning(self, key: bytes) -> str:
        """The key of what is needed to find it by meaning, a Learnt."""

    def value(self, data: bytes) -> bytes:
        """The change in what one of these has; empty where that says that there is none."""


class Recall:
    """Asks Redis for answers and what they are about; both of one key in the same slot."""

    def __init__(
        self,
        link: RedisLink,
        names: EntryNames,
        take_in: TakeIn,
        *,
        clock: Clock,
        deadline: float,
    ) -> None:
        """`take_in` gets pairs of Put and Learnt; `deadline` is in seconds."""
        self._link = link
        self._names = names
        self._take_in = take_in
        self._clock = clock
        self._deadline = deadline
        self._missing: OrderedDict[bytes, float] = OrderedDict()
        """When what is not there was missed first, in seconds that never run backwards."""
        self.unreadable = 0
        """How many were there and could not be used, since the start."""

    async def __call__(self, keys: Sequence[bytes]) -> list[bytes]:
        """Bring entries in; gives those that nobody has any more.

        While Redis does not answer, nothing is known to be gone. Never raises.
        """

        async def work(client: Client) -> list[Any]:
            pipe = client.pipeline(transaction=False)
            for key in keys:
                pipe.execute_command("GET", self._names.answer(key))
                pipe.execute_command("GET", self._names.meaning(key))
            return await pipe.execute()

        try:
            found = await self._link.call(work, deadline=self._deadline)
        except LinkDown:
            return []
        changes: list[Change] = []
        gone = []
        for key, answer, meaning in zip(keys, found[::2], found[1::2], strict=True):
            pair = self._pair(key, answer, meaning)
            changes += pair
            if pair:
                self._missing.pop(key, None)
            elif self._is_gone(key):
                gone.append(key)
        if changes:
            await self._take_in(changes)
        return gone

    def _is_gone(self, key: bytes) -> bool:
        now = self._clock.monotonic()
        since = self._missing.setdefault(key, now)
        if len(self._missing) > _MAX_MISSING:
            self._missing.popitem(last=False)
        return now - since > SETTLE_SECONDS

    def _pair(self, key: bytes, answer: bytes | None, meaning: bytes | None) -> tuple[Change, ...]:
        put, learnt = self._read(answer), self._read(meaning)
        if not isinstance(put, Put) or not isinstance(learnt, Learnt):
            return ()
        if put.stored.key != key or learnt.key != key:
            self.unreadable += 1
            return ()
        return (put, learnt) if learnt.until > self._clock.now() else ()

    def _read(self, data: bytes | None) -> Change | None:
        value = self._names.value(data) if data else b""
        if not value:
            return None
        try:
            return decode(value)
        except Unreadable:
            self.unreadable += 1
            return None
