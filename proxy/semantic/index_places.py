"""Where every entry of an index is, in few bytes."""

from collections.abc import KeysView

_SPAN = 2**32
"""Of the places of a partition: its number is told by which span a packed number is in."""
_MIDDLE = _SPAN // 2


class Places:
    """By key: the number of its partition and a place in that, which may be negative."""

    __slots__ = ("_packed",)

    def __init__(self) -> None:
        self._packed: dict[bytes, int] = {}
        """One number each: a tuple of two would take 80 bytes more."""

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, key: bytes) -> bool:
        return key in self._packed

    def keys(self) -> KeysView[bytes]:
        """All keys."""
        return self._packed.keys()

    def put(self, key: bytes, partition: int, place: int) -> None:
        """Say where a key is, whatever was said before; places are of 32 bits."""
        self._packed[key] = partition * _SPAN + _MIDDLE + place

    def partition(self, key: bytes) -> int:
        """The number of the partition of a key that is here."""
        return self._packed[key] // _SPAN

    def place(self, key: bytes) -> int:
        """The place of a key that is here."""
        return self._packed[key] % _SPAN - _MIDDLE

    def discard(self, key: bytes) -> None:
        """Forget a key that is here."""
        del self._packed[key]
