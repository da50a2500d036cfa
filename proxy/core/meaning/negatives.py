"""Pairs of questions of which somebody said that one answer does not serve both (mission D5)."""

import hashlib
import unicodedata
from collections import OrderedDict

MAX_PAIRS = 65536


def text_digest(scope: bytes, text: str) -> bytes:
    """The identity of a question's text among those of one tenant, 16 bytes; NFC, as keys are."""
    encoded = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(scope + encoded, digest_size=16).digest()


class Negatives:
    """Bounded; the pair told of longest ago goes first."""

    def __init__(self) -> None:
        self._pairs: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, one: bytes, other: bytes) -> None:
        """Never serve one for the other again, in either direction. Takes text digests."""
        pair = _pair(one, other)
        self._pairs[pair] = None
        self._pairs.move_to_end(pair)
        if len(self._pairs) > MAX_PAIRS:
            self._pairs.popitem(last=False)

    def has(self, one: bytes, other: bytes) -> bool:
        """Whether this pair was told to be wrong."""
        return _pair(one, other) in self._pairs


def _pair(one: bytes, other: bytes) -> bytes:
    return min(one, other) + max(one, other)
