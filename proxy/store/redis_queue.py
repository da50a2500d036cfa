"""Changes that wait to be written to Redis, bounded by count and by bytes."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import TypeAlias

from proxy.core.cache.change import (
    Aliased,
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.core.cache.selector import Selector
from proxy.store.codec import key_of

Gain: TypeAlias = Put | Learnt | Aliased
"""What may be lost: it costs a miss."""
Loss: TypeAlias = Deleted | Rejected | Purged | Renewed | Barred
"""What may not: an answer that somebody took back would come again."""

_SMALL_BYTES = 512
"""What a change takes besides its long members."""


class ChangeQueue:
    """In order; but what takes answers back goes first where many wait, and is never dropped.

    A change takes the place of an earlier one of its kind and key.
    """

    def __init__(self, *, max_changes: int, max_bytes: int) -> None:
        self._max_changes = max_changes
        self._max_bytes = max_bytes
        # Each with its number, in order of these.
        self._gains: OrderedDict[Hashable, tuple[int, Gain]] = OrderedDict()
        self._losses: OrderedDict[Hashable, tuple[int, Loss]] = OrderedDict()
        self._bytes = 0
        self._last = 0
        self._dropped = 0
        self._something = asyncio.Event()

    def __len__(self) -> int:
        return len(self._gains) + len(self._losses)

    @property
    def size_bytes(self) -> int:
        """What the changes that may be lost take, estimated."""
        return self._bytes

    @property
    def dropped(self) -> int:
        """How many changes had to go since the start."""
        return self._dropped

    async def wait(self) -> None:
        """Return when something waits."""
        await self._something.wait()

    def add(self, change: Change) -> None:
        """Let it wait; over the bounds, those that wait longest are dropped."""
        self._last += 1
        if isinstance(change, Put | Learnt | Aliased):
            self._add_gain(key_of(change), self._last, change)
            self._shrink()
        else:
            self._add_loss(self._last, change)
        self._something.set()

    def take(self, most: int, most_bytes: int) -> list[Change]:
        """Take out those whose turn it is: at least one where any waits."""
        taken: list[Change] = []
        are_many = len(self) > most
        size = 0
        while self and len(taken) < most and (size < most_bytes or not taken):
            if self._is_turn_of_a_loss(are_many):
                taken.append(self._losses.popitem(last=False)[1][1])
            else:
                change = self._gains.popitem(last=False)[1][1]
                taken.append(change)
                size += _size(change)
                self._bytes -= _size(change)
        if not self:
            self._something.clear()
        return taken

    def give_back(self, changes: Iterable[Change]) -> None:
        """Let those wait again, before all others, that were taken and could not be written."""
        number = min(
            [0, *(next(iter(some.values()))[0] for some in (self._gains, self._losses) if some)]
        )
        for change in reversed(list(changes)):
            number -= 1
            if not isinstance(change, Put | Learnt | Aliased):
                self._add_loss(number, change)
            elif (key := key_of(change)) not in self._gains:  # or a later one has its place
                self._add_gain(key, number, change)
                self._gains.move_to_end(key, last=False)
        self._shrink()
        if self:
            self._something.set()

    def _is_turn_of_a_loss(self, are_many: bool) -> bool:
        if not self._losses or not self._gains:
            return bool(self._losses)
        first_loss, first_gain = next(iter(self._losses.values())), next(iter(self._gains.values()))
        return are_many or first_loss[0] < first_gain[0]

    def _add_gain(self, key: Hashable, number: int, change: Gain) -> None:
        earlier = self._gains.pop(key, None)
        if earlier is not None:
            self._bytes -= _size(earlier[1])
        self._gains[key] = number, change
        self._bytes += _size(change)

    def _add_loss(self, number: int, change: Loss) -> None:
        key = _merging_key(change)
        earlier = self._losses.pop(key, None)
        if earlier is not None and earlier[1].at > change.at:
            change = earlier[1]
        self._losses[key] = number, change
        if number <= 0:
            self._losses.move_to_end(key, last=False)
        if len(self._losses) > self._max_changes:
            self._merge_losses()

    def _merge_losses(self) -> None:
        """Make one purge of everything of them: rather no answer than one that was taken back."""
        changes = [change for _, change in self._losses.values()]
        everything = Purged(Selector(), soft=False, at=max(change.at for change in changes))
        # These are not about answers that were stored.
        others = [change for change in changes if isinstance(change, Renewed | Barred)]
        kept: list[Loss] = [everything, *others[-self._max_changes // 2 :]]
        self._dropped += len(changes) - len(kept) + 1
        self._losses = OrderedDict((_merging_key(change), (self._last, change)) for change in kept)

    def _shrink(self) -> None:
        while self._bytes > self._max_bytes or len(self._gains) > self._max_changes:
            self._bytes -= _size(self._gains.popitem(last=False)[1][1])
            self._dropped += 1


def _merging_key(change: Loss) -> Hashable:
    if isinstance(change, Purged):
        return change.selector, change.soft
    return key_of(change)


def _size(change: Gain) -> int:
    match change:
        case Put(stored):
            return _SMALL_BYTES + len(stored.body) + len(stored.head) + len(stored.stream_options)
        case Learnt():
            return _SMALL_BYTES + len(change.vector) + 4 * len(change.text)
        case Aliased():
            return _SMALL_BYTES
