"""Reads what the log only names: answers, and how to find them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from proxy.core.cache.change import Change, Learnt, Put
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import get_many
from proxy.store.codec import Flaw, Unreadable, decode
from proxy.store.redis_keys import read_entry
from proxy.store.redis_names import Names, digest_of
from proxy.telemetry.log import Log

T = TypeVar("T")

CALL_SECONDS = 5.0
AT_ONCE = 64
"""Values in one call: an answer may be megabytes."""


class Values:
    """What is missing, cannot be read, or belongs elsewhere, is left out."""

    def __init__(self, link: RedisLink, names: Names, log: Log) -> None:
        self._link = link
        self._names = names
        self._log = log
        self.unreadable = 0
        """How many were there and could not be used, since the start."""

    async def answers(self, digests: Sequence[bytes]) -> dict[bytes, Put]:
        """The answers of some digests, in the same order. Raises LinkDown."""
        return await self._read(digests, self._names.answer, _answer)

    async def meanings(self, digests: Sequence[bytes]) -> dict[bytes, Learnt]:
        """How some answers are found, in the same order. Raises LinkDown."""
        return await self._read(digests, self._names.meaning, _meaning)

    def decoded(self, data: Iterable[bytes]) -> list[Change]:
        """Those of some changes that can be read. May be called in a thread."""
        changes = []
        for one in data:
            try:
                changes.append(decode(one))
            except Unreadable as error:
                self.count_unreadable(error.reason)
        return changes

    def count_unreadable(self, reason: Flaw) -> None:
        """Count one, and say so at the first. May be called in a thread."""
        if not self.unreadable:
            self._log.emit("warning", "redis holds what cannot be read", {"reason": str(reason)})
        self.unreadable += 1

    async def _read(
        self,
        digests: Sequence[bytes],
        name: Callable[[bytes], str],
        read: Callable[[bytes, bytes], T | None],
    ) -> dict[bytes, T]:
        there: dict[bytes, T] = {}
        for start in range(0, len(digests), AT_ONCE):
            some = digests[start : start + AT_ONCE]
            found = await self._link.call(
                partial(get_many, keys=[name(digest) for digest in some]),
                deadline=CALL_SECONDS,
                important=True,
            )
            those: dict[bytes, T] = await asyncio.to_thread(
                partial(self._those_there, some, found, read)
            )
            there |= those
        return there

    def _those_there(
        self,
        digests: Sequence[bytes],
        found: Sequence[bytes | None],
        read: Callable[[bytes, bytes], T | None],
    ) -> dict[bytes, T]:
        there = {}
        for digest, value in zip(digests, found, strict=True):
            if value is None:
                continue
            try:
                one = read(value, digest)
            except Unreadable as error:
                self.count_unreadable(error.reason)
            else:
                if one is not None:
                    there[digest] = one
        return there


def _answer(value: bytes, digest: bytes) -> Put | None:
    entry = read_entry(value)
    if entry is None:
        return None
    if digest_of(entry.stored.key) != digest:
        raise Unreadable(Flaw.VALUE)
    return entry.put


def _meaning(value: bytes, digest: bytes) -> Learnt:
    change = decode(value)
    if not isinstance(change, Learnt) or digest_of(change.key) != digest:
        raise Unreadable(Flaw.VALUE)
    return change
