"""What must outlast the log: verdicts, purges, epochs, refused callers.

A log is trimmed; who comes later, or was away for long, would not learn that an answer was taken
back. So these lie in hashes, bounded: over the bound the oldest go.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from proxy.core.cache.change import Barred, Change, Purged, Put, Rejected, Renewed
from proxy.redis_link.reading import ask_all
from proxy.redis_link.scripts import Command, Script
from proxy.redis_link.urls import Client
from proxy.store.codec import Unreadable, decode, encode, key_of

Small: TypeAlias = Rejected | Purged | Renewed | Barred

_MOST = {Rejected: 10_000, Purged: 1_000, Renewed: 1_000, Barred: 10_000}
_NAMES: dict[type, str] = {
    Rejected: "rejected",
    Purged: "purged",
    Renewed: "renewed",
    Barred: "barred",
}
_REMEMBER = Script("""
-- KEYS: the hash. ARGV: field, time, value, bound. A value is its time, "|", the change.
local found = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(found) == 'table' then redis.call('DEL', KEYS[1]) end
if type(found) == 'string' then
  local time = tonumber(string.match(found, '^([^|]*)|'))
  if time and time > tonumber(ARGV[2]) then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. '|' .. ARGV[3])
if redis.call('HLEN', KEYS[1]) <= tonumber(ARGV[4]) then return 1 end
local all, times = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local time = tonumber(string.match(all[i + 1], '^([^|]*)|')) or 0
  times[#times + 1] = {time, all[i]}
end
table.sort(times, function(one, other) return one[1] < other[1] end)
-- A tenth more than must go, so that this is rare.
for i = 1, #times - math.floor(tonumber(ARGV[4]) * 0.9) do
  redis.call('HDEL', KEYS[1], times[i][2])
end
return 1
""")


class SmallState:
    """Reads and writes it, and knows what is in it, so that it can be written again."""

    def __init__(self, prefix: str) -> None:
        self._keys = {kind: f"{prefix}:{name}" for kind, name in _NAMES.items()}
        self._known: dict[type, dict[bytes, Small]] = {kind: {} for kind in _NAMES}
        self._purges: list[Purged] | None = None
        """Those known, the latest first; None where they must be sorted anew."""
        self.unreadable = 0

    def note(self, change: Change) -> None:
        """Know a change, if it is of these; over the bound the oldest is forgotten."""
        if not isinstance(change, Rejected | Purged | Renewed | Barred):
            return
        if isinstance(change, Purged):
            self._purges = None
        known, field = self._known[type(change)], field_of(change)
        earlier = known.pop(field, None)
        known[field] = change if earlier is None or change.at >= earlier.at else earlier
        if len(known) > _MOST[type(change)]:
            del known[next(iter(known))]

    @property
    def known(self) -> list[Small]:
        """All that this process knows of."""
        return [change for changes in self._known.values() for change in changes.values()]

    def after_purges(self, change: Put) -> Put | None:
        """What the purges that are known leave of an answer: it, stale, or nothing."""
        stored = change.stored
        if self._purges is None:
            purges = [one for one in self.known if isinstance(one, Purged)]
            self._purges = sorted(purges, key=lambda purged: -purged.at)
        for purged in self._purges:
            if stored.created > purged.at:
                break  # so are all others
            if purged.selector.selects(stored):
                if not purged.soft:
                    return None
                stored = replace(stored, ttl=0.0)
        return change if stored is change.stored else replace(change, stored=stored)

    def command(self, change: Small) -> Command:
        """What writes one, unless a later one is there."""
        kind = type(change)
        value, at = encode(change), repr(float(change.at))
        return _REMEMBER.command([self._keys[kind]], [field_of(change), at, value, _MOST[kind]])

    async def load(self, client: Client) -> list[Small]:
        """All that lies in Redis, oldest first; what cannot be read is counted and left out.

        Raises the errors of the link's library.
        """
        found: list[Small] = []
        for values in await ask_all(client, [("HVALS", key) for key in self._keys.values()]):
            # A key of another type gives None; the next write puts it right.
            found += self._decoded(values or ())
        for change in found:
            self.note(change)
        return sorted(found, key=lambda change: change.at)

    def _decoded(self, values: Iterable[bytes]) -> Iterable[Small]:
        for value in values:
            try:
                change = decode(value.partition(b"|")[2])
            except Unreadable:
                self.unreadable += 1
                continue
            if isinstance(change, Rejected | Purged | Renewed | Barred):
                yield change


def field_of(change: Small) -> bytes:
    """The field that a change has: a later one of the same field takes its place."""
    if isinstance(change, Purged):
        chosen = Purged(change.selector, change.soft, 0.0)
        return key_of(chosen)[1]
    return key_of(change)[1]
