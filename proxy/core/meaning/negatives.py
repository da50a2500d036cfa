"""Pairs of questions of which somebody said that one answer does not serve both (mission D5)."""

import hashlib
import re
import unicodedata
from collections import OrderedDict

MAX_PAIRS = 65536
_BARE = re.compile(r"\s+|[.?!;,~\u3002\u2026]+\s*$")


def text_digest(scope: bytes, text: str) -> bytes:
    """The identity of a question's text among those of one tenant, 16 bytes.

    Case, blanks and closing signs make no other question: none is a way round a negative.
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    encoded = _BARE.sub(" ", plain).strip().encode("utf-8", "surrogatepass")
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
