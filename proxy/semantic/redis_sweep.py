"""Takes expired entries out of Redis' vector sets, and counts what is there.

A set ends by itself with its last entry. In one whose entries end one by one they are looked for as
Redis looks for expired keys: some are drawn, and more as long as many of them had expired.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from proxy.ports import Clock
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_batch import ask
from proxy.semantic.redis_commands import Command, Names, end_of

_AT_ONCE = 64
"""Partitions that are looked at in one round trip."""
_DRAWN = 32
"""Entries of a partition that are looked at in one turn."""
_MANY = 0.25
"""The share of expired ones above which a partition gets another turn."""
_TURNS = 64
_PAUSE_SECONDS = 0.02
"""Between two round trips, for there are others who want to ask."""
_DEADLINE_SECONDS = 5.0

T = TypeVar("T")


class Sweep:
    """One pass over all partitions of an encoder."""

    def __init__(self, link: RedisLink, names: Names, clock: Clock) -> None:
        self.entries = 0
        """How many there are, or were when another replica counted them."""
        self._link = link
        self._names = names
        self._clock = clock

    async def run(self, *, every: float) -> int:
        """Do it, unless somebody did less than `every` seconds ago; how many had expired.

        Raises LinkDown and NoVectorSets.
        """
        names, seconds = self._names, max(1, int(every))
        # The first says whether there are vector sets at all.
        _, is_ours, entries = await self._ask(
            [
                ("VCARD", names.vectors(b"")),
                ("SET", names.swept, 1, "NX", "EX", seconds),
                ("GET", names.entries),
            ]
        )
        if not is_ours:
            self.entries = int(entries or 0)
            return 0
        await self._ask([("ZREMRANGEBYSCORE", names.partitions, "-inf", self._clock.now())])
        cursor, gone = b"0", 0
        while True:
            ((cursor, found),) = await self._ask(
                [("ZSCAN", names.partitions, cursor, "COUNT", _AT_ONCE)]
            )
            for partitions in in_parts(_members(found), _AT_ONCE):
                gone += await self._look_at(partitions)
                await asyncio.sleep(_PAUSE_SECONDS)
            if int(cursor) == 0:
                break
        await self._ask([("SET", names.entries, self.entries)])
        return gone

    async def _look_at(self, partitions: Sequence[bytes]) -> int:
        sets = [self._names.vectors(partition) for partition in partitions]
        sizes = list(map(int, await self._ask([("VCARD", name) for name in sets])))
        self.entries += sum(sizes)
        # One entry alone goes with its set.
        several = [name for name, size in zip(sets, sizes, strict=True) if size > 1]
        gone = 0
        for _ in range(_TURNS):
            if not several:
                break
            several, taken = await self._draw(several)
            gone += taken
        self.entries -= gone
        return gone

    async def _draw(self, sets: Sequence[str]) -> tuple[list[str], int]:
        """Take expired ones out; the sets that should be looked at again, and how many it was."""
        drawn = await self._ask([("VRANDMEMBER", name, _DRAWN) for name in sets])
        places = [(name, one) for name, some in zip(sets, drawn, strict=True) for one in some or ()]
        attributes = await self._ask([("VGETATTR", *place) for place in places])
        now = self._clock.now()
        expired = [
            place
            for place, attribute in zip(places, attributes, strict=True)
            if end_of(attribute) <= now
        ]
        await self._ask([("VREM", *place) for place in expired], writes=True)
        of_set = [sum(name == place[0] for place in expired) for name in sets]
        again = [
            name
            for name, count, some in zip(sets, of_set, drawn, strict=True)
            if count > _MANY * len(some or ())
        ]
        return again, len(expired)

    async def _ask(self, commands: Sequence[Command], *, writes: bool = False) -> list[Any]:
        return await ask(
            self._link, commands, deadline=_DEADLINE_SECONDS, important=True, writes=writes
        )


def in_parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """All of them, so many at a time."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def _members(found: Any) -> list[bytes]:
    """Of what ZSCAN gave: names and scores in turn, or pairs of them."""
    if found and isinstance(found[0], list | tuple):
        return [pair[0] for pair in found]
    return list(found[::2])
