"""Brings in entries that an index beyond this process has found, and this process does not know."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from proxy.core.cache.change import Change, Learnt
from proxy.ports import Clock, TakeIn
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from proxy.store.codec import Flaw, Unreadable, decode
from proxy.store.redis_keys import EntryKeys, read_entry

SETTLE_SECONDS = 10.0
"""A vector may be there before the entry is; what is missing longer than this is gone."""
INLINE_BYTES = 256 * 1024
"""Longer answers are read in a thread."""
_MAX_MISSING = 4096


class Recall:
    """Asks Redis for answers and what they are about; both of one key in the same slot."""

    def __init__(
        self,
        link: RedisLink,
        names: EntryKeys,
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
        pairs = list(zip(keys, found[::2], found[1::2], strict=True))
        if sum(len(answer or b"") for answer in found[::2]) > INLINE_BYTES:
            changes = await asyncio.to_thread(self._read, pairs)
        else:
            changes = self._read(pairs)
        if changes:
            await self._take_in(changes)
        there = {change.key for change in changes if isinstance(change, Learnt)}
        return [key for key in keys if self._is_gone(key, is_there=key in there)]

    def _read(self, pairs: Sequence[tuple[bytes, bytes | None, bytes | None]]) -> list[Change]:
        changes: list[Change] = []
        for key, answer, meaning in pairs:
            try:
                changes += self._pair(key, answer, meaning)
            except Unreadable:
                self.unreadable += 1
        return changes

    def _pair(self, key: bytes, answer: bytes | None, meaning: bytes | None) -> Sequence[Change]:
        """An answer and how it is found, if both are there. Raises Unreadable."""
        entry = read_entry(answer, key) if answer else None
        learnt = decode(meaning) if meaning else None
        if entry is None or learnt is None:
            return ()
        if not isinstance(learnt, Learnt) or learnt.key != key:
            raise Unreadable(Flaw.VALUE)
        return (entry.put, learnt) if learnt.until > self._clock.now() else ()

    def _is_gone(self, key: bytes, *, is_there: bool) -> bool:
        if is_there:
            self._missing.pop(key, None)
            return False
        now = self._clock.monotonic()
        since = self._missing.setdefault(key, now)
        if len(self._missing) > _MAX_MISSING:
            self._missing.popitem(last=False)
        return now - since > SETTLE_SECONDS
