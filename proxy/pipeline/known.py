"""What is kept of the entries that can be found by meaning, in few bytes each."""

from itertools import count
from struct import Struct
from typing import NamedTuple

from proxy.core.cache.key import Key
from proxy.ports import VectorIndex

_HEAD = Struct("=dQ")
"""Before the text of a packed entry: until when it is found, and the number of its partition."""


class Partition:
    """What the entries that are compared with each other share; one object for all of them."""

    __slots__ = ("count", "history", "index", "number", "scope", "settings")

    def __init__(self, key: Key, index: VectorIndex, number: int) -> None:
        self.history = key.history
        self.scope = key.scope
        self.settings = key.settings
        self.index = index
        self.number = number
        """By which packed entries tell it."""
        self.count = 0
        """Its entries."""


class Known(NamedTuple):
    """What is kept of the question of an entry."""

    text: str
    partition: Partition
    until: float
    """Wall time in seconds until which it is found."""


class KnownEntries:
    """Entries by their exact keys. Each is kept as bytes: 110 fewer than a tuple would take."""

    def __init__(self) -> None:
        self._packed: dict[bytes, bytes] = {}
        self._partitions: dict[tuple[bytes, VectorIndex], Partition] = {}
        self._numbers = count()
        self._numbered: dict[int, Partition] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, key: bytes) -> bool:
        return key in self._packed

    def get(self, key: bytes) -> Known | None:
        """What is kept under a key; None where there is nothing."""
        packed = self._packed.get(key)
        return None if packed is None else self._unpacked(packed)

    def __getitem__(self, key: bytes) -> Known:
        return self._unpacked(self._packed[key])

    def add(self, key: Key, text: str, index: VectorIndex, until: float) -> None:
        """Keep an entry that is not here; `index` has its vector."""
        name = (key.history, index)
        partition = self._partitions.get(name)
        if partition is None:
            partition = Partition(key, index, next(self._numbers))
            self._partitions[name] = self._numbered[partition.number] = partition
        partition.count += 1
        self._packed[key.exact] = _packed(Known(text, partition, until))

    def prolong(self, key: bytes, until: float) -> None:
        """Say anew until when an entry that is here is found."""
        self._packed[key] = _packed(self[key]._replace(until=until))

    def pop(self, key: bytes) -> Known | None:
        """Forget an entry, and tell what was kept of it; None where there was nothing."""
        packed = self._packed.pop(key, None)
        if packed is None:
            return None
        known = self._unpacked(packed)
        partition = known.partition
        partition.count -= 1
        if not partition.count:
            del self._partitions[partition.history, partition.index]
            del self._numbered[partition.number]
        return known

    def _unpacked(self, packed: bytes) -> Known:
        until, number = _HEAD.unpack_from(packed)
        text = packed[_HEAD.size :].decode("utf-8", "surrogatepass")
        return Known(text, self._numbered[number], until)


def _packed(known: Known) -> bytes:
    head = _HEAD.pack(known.until, known.partition.number)
    return head + known.text.encode("utf-8", "surrogatepass")
