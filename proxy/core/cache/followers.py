"""What question follows what, learnt of each tenant apart (mission E2).

Bounded in every way: tenants, questions of a tenant, followers of a question, bytes, callers.
Counts decay, so that what was usual once makes room for what is usual now.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_GROUPS = 1024
MAX_FIRSTS = 512
"""Questions of one group (a tenant's with the same settings) whose followers are known."""
MAX_FOLLOWERS = 4
MAX_CALLERS = 4096
"""Callers whose last question is known."""
MAX_BODY_BYTES = 16 * 1024
"""The longest request that is kept."""
MAX_BYTES = 8 << 20
PAIR_BYTES = 400
"""What a pair takes besides the request."""
WITHIN_SECONDS = 300.0
"""What comes later does not follow."""
DECAY_AN_HOUR = 0.95
LEAST_COUNT = 1.5
"""A follower seen twice is usual for some hours; one seen once never is."""


class Follower(NamedTuple):
    """A question that follows another one."""

    key: bytes
    target: str
    """Path and query of its request."""
    body: bytes


@dataclass(slots=True, eq=False)
class _Pair:
    follower: Follower
    count: float
    at: float

    def value(self, now: float) -> float:
        hours = max(0.0, now - self.at) / 3600
        return float(self.count * DECAY_AN_HOUR**hours)

    @property
    def size(self) -> int:
        return PAIR_BYTES + len(self.follower.body) + len(self.follower.target)


@dataclass(slots=True, eq=False)
class _Group:
    firsts: OrderedDict[bytes, dict[bytes, _Pair]] = field(default_factory=OrderedDict)
    """By the key of the first question, those that follow; least recently used first."""


class Followers:
    """Learns from questions in the order in which they are asked. Times are seconds of a clock."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._groups: OrderedDict[bytes, _Group] = OrderedDict()
        self._last: OrderedDict[tuple[bytes, bytes], tuple[bytes, float]] = OrderedDict()
        self.size_bytes = 0
        self.pairs = 0

    def note(self, group: bytes, caller: bytes, asked: Follower, now: float) -> None:
        """A caller has asked a question. `group` is what it has in common with those it follows."""
        before = self._last.pop((group, caller), None)
        self._last[group, caller] = (asked.key, now)
        if len(self._last) > MAX_CALLERS:
            self._last.popitem(last=False)
        if before is None or before[0] == asked.key or now - before[1] > WITHIN_SECONDS:
            return
        if len(asked.body) <= MAX_BODY_BYTES:
            self._add(group, before[0], asked, now)

    def likely(self, group: bytes, key: bytes, now: float) -> list[Follower]:
        """What usually follows a question, the most likely first."""
        known = self._groups.get(group)
        pairs = known.firsts.get(key) if known is not None else None
        if known is None or pairs is None:
            return []
        self._groups.move_to_end(group)
        known.firsts.move_to_end(key)
        usual = [pair for pair in pairs.values() if pair.value(now) >= LEAST_COUNT]
        usual.sort(key=lambda pair: -pair.value(now))
        return [pair.follower for pair in usual]

    def discourage(self, group: bytes, key: bytes, follower: bytes) -> None:
        """A follower could not be had: it counts anew."""
        known = self._groups.get(group)
        pairs = known.firsts.get(key, {}) if known is not None else {}
        if follower in pairs:
            pairs[follower].count = 0.0

    def clear(self) -> None:
        """Forget everything."""
        self._groups.clear()
        self._last.clear()
        self.size_bytes = self.pairs = 0

    def _add(self, group: bytes, first: bytes, asked: Follower, now: float) -> None:
        known = self._groups.setdefault(group, _Group())
        self._groups.move_to_end(group)
        pairs = known.firsts.setdefault(first, {})
        known.firsts.move_to_end(first)
        pair = pairs.get(asked.key)
        if pair is not None:
            pair.count, pair.at = pair.value(now) + 1, now
            return
        if len(pairs) >= MAX_FOLLOWERS:
            least = min(pairs.values(), key=lambda pair: pair.value(now))
            self._drop(pairs.pop(least.follower.key))
        pair = pairs[asked.key] = _Pair(asked, 1.0, now)
        self.size_bytes += pair.size
        self.pairs += 1
        if len(known.firsts) > MAX_FIRSTS:
            self._drop_first(known)
        while self.size_bytes > self._max_bytes or len(self._groups) > MAX_GROUPS:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        # The tenant that was not heard of longest loses what it asked longest ago.
        group, known = next(iter(self._groups.items()))
        self._drop_first(known)
        if not known.firsts:
            del self._groups[group]

    def _drop_first(self, known: _Group) -> None:
        _, pairs = known.firsts.popitem(last=False)
        for pair in pairs.values():
            self._drop(pair)

    def _drop(self, pair: _Pair) -> None:
        self.size_bytes -= pair.size
        self.pairs -= 1
