"""What is to be written to Redis, in order, bounded; the last word on a key counts."""

from collections import OrderedDict
from collections.abc import Sequence

from proxy.semantic.redis_commands import Add, Discard, Prolong, Write


class Waiting:
    """Changes that Redis does not have yet, by the exact keys of the entries."""

    def __init__(self, max_waiting: int) -> None:
        """Over `max_waiting` the oldest are left out."""
        self._max = max_waiting
        self._writes: OrderedDict[bytes, Write] = OrderedDict()
        self._under_way: dict[bytes, Write] = {}
        self.left_out = 0
        """How many never came to Redis."""

    def __len__(self) -> int:
        return len(self._writes) + len(self._under_way)

    def put(self, write: Write) -> None:
        """Take a change in."""
        earlier = self._writes.get(write.key)
        if isinstance(write, Add) and write.is_offer and isinstance(earlier, Add):
            return
        if isinstance(write, Prolong) and earlier is not None:
            if isinstance(earlier, Discard):
                return
            write = earlier._replace(until=write.until)
        if isinstance(write, Add) and write.is_offer and len(self._writes) >= self._max:
            self.left_out += 1  # it does not drive out what is new
            return
        self._writes[write.key] = write
        self._shorten()

    def is_discarded(self, key: bytes) -> bool:
        """Whether an entry is to go, and Redis does not know it yet."""
        write = self._writes.get(key, self._under_way.get(key))
        return isinstance(write, Discard)

    def take(self, count: int) -> Sequence[Write]:
        """The oldest, which are under way until `done`, `put_back` or `leave_out`."""
        while self._writes and len(self._under_way) < count:
            key, write = self._writes.popitem(last=False)
            self._under_way[key] = write
        return list(self._under_way.values())

    def done(self) -> None:
        """What was taken is in Redis."""
        self._under_way.clear()

    def put_back(self) -> None:
        """What was taken is not in Redis: it waits again, but for what has changed since."""
        for key, write in reversed(self._under_way.items()):
            if key not in self._writes:
                self._writes[key] = write
                self._writes.move_to_end(key, last=False)
        self._under_way.clear()
        self._shorten()

    def leave_out(self) -> None:
        """What was taken cannot be in Redis."""
        self.left_out += len(self._under_way)
        self._under_way.clear()

    def _shorten(self) -> None:
        while len(self._writes) > self._max:
            self._writes.popitem(last=False)
            self.left_out += 1
