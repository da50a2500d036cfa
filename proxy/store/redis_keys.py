"""Answers in Redis: in which form, and what may take whose place. Names are redis_names.py's.

An answer's value is

    form (1 byte), time (8, microseconds), fence (8), the envelope of codec.py

The last writer wins, by time; but nothing older than a tombstone is taken, nor anything from who
held a lease that somebody else has got since: that is what the fence tells.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from proxy.core.cache.change import Learnt, Put
from proxy.core.cache.value import StoredResponse
from proxy.redis_link.scripts import Command, Script
from proxy.store.codec import Flaw, Unreadable, decode, encode
from proxy.store.redis_names import Names, digest_of

ANSWER = 1
TOMBSTONE = 2
TOMBSTONE_SECONDS = 3600

_HEAD = struct.Struct(">BQQ")
_MOST = 2**64 - 1
_OLD = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local old = redis.pcall('GETRANGE', KEYS[1], 0, 16)
local form, time, fence = 0, 0, 0
if type(old) == 'string' and #old == 17 then
  form, time, fence = struct.unpack('>BI8I8', old)
end
-- A head that is damaged, foreign, or of a clock that is far ahead binds nobody.
local most = now + 300000000
if form < 1 or form > 2 or time > most or fence > most then
  form, time, fence = 0, 0, 0
end
"""
"""Begins the scripts that look at what is there: `form`, `time` and `fence` are 0 for nothing."""

_PUT = Script(
    _OLD
    + """
-- KEYS: answer, lease. ARGV: value, milliseconds to keep it. Gives whether it was taken.
local value = ARGV[1]
local _, my_time, my_fence = struct.unpack('>BI8I8', value)
if time > my_time or (form == 2 and time == my_time) then return 0 end
local held = redis.pcall('GET', KEYS[2])
held = type(held) == 'string' and tonumber(held) or 0
if my_fence > 0 and (fence > my_fence or held > my_fence) then return 0 end
if my_fence < fence then
  value = string.sub(value, 1, 9) .. string.sub(old, 10, 17) .. string.sub(value, 18)
end
redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
if my_fence > 0 and held == my_fence then redis.call('DEL', KEYS[2]) end
return 1
"""
)
_DELETE = Script(
    _OLD
    + """
-- KEYS: answer, meaning. ARGV: time, milliseconds to remember it. Gives whether it was taken.
if time > tonumber(ARGV[1]) then return 0 end
-- First, for that is done without memory too.
redis.call('DEL', KEYS[1], KEYS[2])
redis.pcall('SET', KEYS[1], struct.pack('>BI8I8', 2, tonumber(ARGV[1]), fence), 'PX', ARGV[2])
return 1
"""
)
_CLAIM = Script(
    _OLD
    + """
-- KEYS: answer, lease. ARGV: milliseconds that a stale answer is kept, those of a lease, and
-- whether to take one. Gives a fresh answer; or the token of a lease that was taken, 0 where
-- somebody else has it, -1 where nobody has.
if form == 1 and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[1]) then
  return redis.call('GET', KEYS[1])
end
-- What is there for longer than a lease is none.
local left = redis.call('PTTL', KEYS[2])
if left > 0 and left <= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '0' then return -1 end
local token = math.max(now, fence + 1)
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[2])
return token
"""
)
_EXTEND = Script("""
-- KEYS: lease. ARGV: token, milliseconds (0: give it up). Gives whether it was still held.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")


class Entry(NamedTuple):
    """What a value in Redis holds."""

    put: Put
    fence: int

    @property
    def stored(self) -> StoredResponse:
        """The answer."""
        return self.put.stored


class EntryKeys:
    """Makes the commands by which answers are written, for `scripts.send` and `send_all`.

    The answer to each is truthy where Redis has taken it.
    """

    def __init__(
        self, prefix: str, *, keep_stale: float, fence_of: Callable[[bytes], int] = lambda _: 0
    ) -> None:
        """Stale answers are kept `keep_stale` seconds; `fence_of` tells the lease of a key."""
        self._names = Names(prefix)
        self._keep_stale = keep_stale
        self._fence_of = fence_of

    def answer(self, key: bytes) -> str:
        """The name of an answer."""
        return self._names.answer(digest_of(key))

    def lease(self, key: bytes) -> str:
        """The name of a lease."""
        return self._names.lease(digest_of(key))

    def meaning(self, key: bytes) -> str:
        """The name of what is needed to find an answer by meaning."""
        return self._names.meaning(digest_of(key))

    def put(self, change: Put, now: float) -> Command:
        """Keep an answer, as long as it may be of use; for a moment where that is over."""
        stored = change.stored
        key = stored.key
        left = stored.created + stored.ttl + self._keep_stale - now
        head = _HEAD.pack(ANSWER, _microseconds(stored.created), self._fence_of(key))
        value = head + encode(change)
        return _PUT.command([self.answer(key), self.lease(key)], [value, _milliseconds(left)])

    def delete(self, key: bytes, at: float) -> Command:
        """Forget what is older than a moment, and refuse it for an hour."""
        arguments = [_microseconds(at), TOMBSTONE_SECONDS * 1000]
        return _DELETE.command([self.answer(key), self.meaning(key)], arguments)

    def learn(self, learnt: Learnt) -> Command:
        """Keep how an answer is found by meaning, as long as that holds."""
        until = max(1, int(learnt.until * 1000))
        return ("SET", self.meaning(learnt.key), encode(learnt), "PXAT", until)

    def claim(self, key: bytes, lease_seconds: float, *, take: bool) -> Command:
        """Ask for a fresh answer, or for the right to get one; see `_CLAIM`."""
        arguments = [_milliseconds(self._keep_stale), _milliseconds(lease_seconds), int(take)]
        return _CLAIM.command([self.answer(key), self.lease(key)], arguments)

    def extend(self, key: bytes, token: int, seconds: float) -> Command:
        """Hold a lease on; 0 seconds gives it up."""
        arguments = [token, int(seconds * 1000)]
        return _EXTEND.command([self.lease(key)], arguments)


def read_entry(value: bytes, key: bytes | None = None) -> Entry | None:
    """What the value of an answer holds; None for a tombstone.

    Raises Unreadable for what is damaged or foreign, also where it is not of the `key` asked for.
    """
    if len(value) < _HEAD.size:
        raise Unreadable(Flaw.FORMAT)
    form, time, fence = _HEAD.unpack_from(value)
    if form == TOMBSTONE:
        return None
    if form != ANSWER:
        raise Unreadable(Flaw.NEWER)
    change = decode(value[_HEAD.size :])
    if not isinstance(change, Put):
        raise Unreadable(Flaw.KIND)
    stored = change.stored
    # The checksum is not of the head, nor of the name under which it was found.
    if time != _microseconds(stored.created) or (key is not None and stored.key != key):
        raise Unreadable(Flaw.VALUE)
    return Entry(change, fence)


def _microseconds(seconds: float) -> int:
    return min(max(0, round(seconds * 1e6)), _MOST)


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
