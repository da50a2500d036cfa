"""Under which names answers lie in Redis.

    PREFIX:{HASH}:e     an answer, or a tombstone where one was deleted
    PREFIX:{HASH}:l     a lease: somebody is calling the upstream for it
    PREFIX:{HASH}:m     how it is found by meaning

HASH is half of a SHA-256 of the exact key; the braces put the three into one slot of a cluster, so
that a script may touch them together. A scan finds names, not keys.
"""

import hashlib

from proxy.core.cache.bloom import KnownKeys

DIGEST_BYTES = 16


def digest_of(key: bytes) -> bytes:
    """What stands for an exact key in names (redis_keys.py); it cannot be turned back."""
    return hashlib.sha256(key).digest()[:DIGEST_BYTES]


class Names:
    """Those under one prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def answer(self, digest: bytes) -> str:
        """The name of an answer."""
        return f"{self._prefix}:{{{digest.hex()}}}:e"

    def meaning(self, digest: bytes) -> str:
        """The name of what is needed to find an answer by meaning."""
        return f"{self._prefix}:{{{digest.hex()}}}:m"

    def lease(self, digest: bytes) -> str:
        """The name of a lease: somebody is calling the upstream for an answer."""
        return f"{self._prefix}:{{{digest.hex()}}}:l"

    def digest_in(self, name: bytes) -> bytes | None:
        """The digest in the name of an answer; None for any other name."""
        begin, end = f"{self._prefix}:{{".encode(), b"}:e"
        middle = name[len(begin) : -len(end)]
        try:
            digest = bytes.fromhex(middle.decode("ascii"))
        except ValueError:
            return None
        is_name = name == b"".join((begin, digest.hex().encode(), end))
        return digest if is_name and len(digest) == DIGEST_BYTES else None


class KnownAnswers:
    """Which exact keys may be in Redis, told by their digests; fulfils shared.py's `Known`."""

    def __init__(self, digests: KnownKeys) -> None:
        self._digests = digests

    def complete(self) -> bool:
        """Whether a key that is not known is surely absent."""
        return self._digests.complete()

    def __contains__(self, key: bytes) -> bool:
        return digest_of(key) in self._digests
