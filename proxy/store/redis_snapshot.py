"""Snapshots in Redis: one writer at a time, and never half of one for a reader (case B39).

A writer holds a lease and has a number that is larger than all before (a fencing token, from the
server's clock). It writes chunks under that number, which vanish by themselves; reads them again;
and then a script lets the pointer point at them, unless somebody with a larger number was there
first. Every key may be missing or damaged at any moment: that costs a snapshot, not more.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from proxy.core.cache.change import Change
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all, get_many
from proxy.redis_link.scripts import Command, Script, send
from proxy.store.codec import Unreadable
from proxy.store.snapshot_format import (
    ChunkCutter,
    ChunkReader,
    Pointer,
    decode_pointer,
    encode_pointer,
)
from proxy.telemetry.log import Log

CALL_SECONDS = 5.0
LEASE_SECONDS = 30.0
"""Renewed with every chunk."""
ABANDONED_SECONDS = 900
"""How long chunks live to which nothing points yet."""
KEPT_SECONDS = 3 * 24 * 3600
"""How long a snapshot lives; a younger one comes within a day where there is anything to keep."""
_CHUNKS_AT_ONCE = 8

_NUMBER = """
local function number(key)
  local found = redis.pcall('GET', key)
  local digits = type(found) == 'string' and string.match(found, '^%d+')
  local value = digits and tonumber(digits) or 0
  return value < 9007199254740992 and value or 0
end
"""
_CLAIM = Script(
    _NUMBER
    + """
-- KEYS: lease, fence, current. ARGV: milliseconds, seconds.
local left = redis.call('PTTL', KEYS[1])
if number(KEYS[1]) > 0 and left > 0 and left <= tonumber(ARGV[1]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token = string.format('%.0f', math.max(now, number(KEYS[2]) + 1, number(KEYS[3]) + 1))
redis.call('SET', KEYS[1], token, 'PX', ARGV[1])
redis.call('SET', KEYS[2], token, 'EX', ARGV[2])
return token
"""
)
_EXTEND = Script("""
-- KEYS: lease. ARGV: token, milliseconds (0: give it up).
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")
_SWITCH = Script(
    _NUMBER
    + """
-- KEYS: fence, current, previous. ARGV: token, pointer, seconds.
local token = tonumber(ARGV[1])
if number(KEYS[1]) > token or number(KEYS[2]) >= token then return false end
local oldest = redis.pcall('GET', KEYS[3])
if type(oldest) ~= 'string' then oldest = '' end
if number(KEYS[2]) > 0 then
  redis.call('SET', KEYS[3], redis.call('GET', KEYS[2]), 'EX', ARGV[3])
else
  oldest = ''
end
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
return oldest
"""
)


class Snapshot(NamedTuple):
    """One that is whole."""

    pointer: Pointer
    chunks: list[bytes]
    """In order, checked (snapshot_format.py)."""


class Snapshots:
    """Those under one prefix. All methods raise LinkDown."""

    def __init__(self, link: RedisLink, prefix: str, log: Log) -> None:
        self._link = link
        self._log = log
        self._told = 0
        self._prefix = prefix
        # One hash tag: in a cluster a script touches one slot.
        self._lease, self._fence, self._current, self._previous = (
            f"{prefix}:{{snap}}:{name}" for name in ("lease", "fence", "current", "previous")
        )
        self.broken = 0
        """How many could not be used, since the start."""

    async def claim(self) -> int | None:
        """Become the one that writes: the number of its snapshot; None while another is at it."""
        keys = [self._lease, self._fence, self._current]
        token = await self._ask(_CLAIM.command(keys, [int(LEASE_SECONDS * 1000), KEPT_SECONDS]))
        return None if token is None else int(token)

    async def give_up(self, token: int) -> None:
        """Let others write."""
        await self._ask(_EXTEND.command([self._lease], [token, 0]))

    async def write(
        self,
        token: int,
        digests: AsyncIterator[Sequence[bytes]],
        changes: AsyncIterator[Sequence[Change]],
        *,
        position: str,
        now: float,
    ) -> Pointer | None:
        """Write one and let readers have it; None where another writer came first.

        `digests` are those of all answers in Redis (redis_names.py), `changes` what is known
        here, oldest first, and `position` the place in the log up to which both have everything.
        """
        cutter = ChunkCutter(token)
        count = 0
        async for chunk in _cut(cutter, digests, changes):
            if not await self._put(token, count, chunk):
                return None
            count += 1
        rest, pointer = await asyncio.to_thread(cutter.finish, position, now)
        for chunk in rest:
            if not await self._put(token, count, chunk):
                return None
        if not await self._is_whole(pointer):
            return None
        return pointer if await self._switch(pointer) else None

    async def pointers(self) -> list[Pointer]:
        """Those there are, newest first."""
        keys = (self._current, self._previous)
        found = await self._link.call(
            partial(get_many, keys=keys), deadline=CALL_SECONDS, important=True
        )
        pointers = []
        for value in found:
            if value is None:
                continue
            try:
                pointers.append(decode_pointer(value))
            except Unreadable:
                self.broken += 1
        return pointers

    async def newest(self) -> Snapshot | None:
        """The newest that is whole."""
        for pointer in await self.pointers():
            chunks = await self._read(pointer)
            if chunks is not None:
                return Snapshot(pointer, chunks)
            self.broken += 1
            if self._told != pointer.generation:
                self._told = pointer.generation
                self._log.emit(
                    "warning", "a snapshot in redis is damaged", {"generation": pointer.generation}
                )
        return None

    async def _read(self, pointer: Pointer) -> list[bytes] | None:
        chunks: list[bytes] = []
        try:
            async for some in self._checked_chunks(pointer):
                chunks += some
        except Unreadable:
            return None
        return chunks

    async def _is_whole(self, pointer: Pointer) -> bool:
        try:
            async for _ in self._checked_chunks(pointer):
                pass  # all of them together may be large
        except Unreadable:
            return False
        return True

    async def _checked_chunks(self, pointer: Pointer) -> AsyncIterator[list[bytes]]:
        """All chunks, a few at a time. Raises Unreadable, at the end too."""
        reader = ChunkReader(pointer)
        keys = self._chunk_keys(pointer)
        for start in range(0, len(keys), _CHUNKS_AT_ONCE):
            some = keys[start : start + _CHUNKS_AT_ONCE]
            found = await self._link.call(
                partial(get_many, keys=some),
                deadline=CALL_SECONDS,
                important=True,
            )
            yield await asyncio.to_thread(_checked, reader, found)
        reader.finish()

    async def _put(self, token: int, number: int, chunk: bytes) -> bool:
        key = f"{self._prefix}:snap:{token}:{number}"
        milliseconds = int(LEASE_SECONDS * 1000)
        is_mine = await self._ask(_EXTEND.command([self._lease], [token, milliseconds]))
        if is_mine:
            await self._ask(("SET", key, chunk, "EX", ABANDONED_SECONDS))
        return bool(is_mine)

    async def _switch(self, pointer: Pointer) -> bool:
        keys = self._chunk_keys(pointer)
        await self._all([("EXPIRE", key, KEPT_SECONDS) for key in keys])
        places = [self._fence, self._current, self._previous]
        data = encode_pointer(pointer)
        command = _SWITCH.command(places, [pointer.generation, data, KEPT_SECONDS])
        oldest = await self._ask(command)
        if oldest is None:
            await self._forget(keys)
            return False
        # Who loads the one before this may be at it still; nobody loads the one before that.
        with contextlib.suppress(Unreadable):
            await self._forget(self._chunk_keys(decode_pointer(oldest)))
        return True

    async def _forget(self, keys: Sequence[str]) -> None:
        await self._all([("UNLINK", key) for key in keys])

    def _chunk_keys(self, pointer: Pointer) -> list[str]:
        start = f"{self._prefix}:snap:{pointer.generation}"
        return [f"{start}:{number}" for number in range(pointer.chunks)]

    async def _ask(self, command: Command) -> Any:
        return await self._link.call(
            partial(send, command=command),
            deadline=CALL_SECONDS,
            important=True,
            writes=True,
        )

    async def _all(self, commands: Sequence[Command]) -> None:
        await self._link.call(
            partial(ask_all, commands=commands),
            deadline=CALL_SECONDS,
            important=True,
            writes=True,
        )


async def _cut(
    cutter: ChunkCutter,
    digests: AsyncIterator[Sequence[bytes]],
    changes: AsyncIterator[Sequence[Change]],
) -> AsyncIterator[bytes]:
    async for some in digests:
        for chunk in await asyncio.to_thread(cutter.add_digests, some):
            yield chunk
    async for batch in changes:
        for chunk in await asyncio.to_thread(cutter.add, batch):
            yield chunk


def _checked(reader: ChunkReader, chunks: Sequence[bytes | None]) -> list[bytes]:
    return [reader.check(chunk) for chunk in chunks]
