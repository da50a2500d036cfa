"""What replicas have in common, in memory: fulfils proxy.ports.Shared."""

import asyncio

from proxy.core.cache.value import StoredResponse


class SharedEntries:
    """One for all replicas of a test."""

    def __init__(self) -> None:
        self.entries: dict[bytes, StoredResponse] = {}
        self.stale: set[bytes] = set()
        """The keys of entries that have outlived their time."""
        self.claimed: dict[bytes, asyncio.Event] = {}
        self.asked: list[bytes] = []
        """The keys that were asked for."""

    async def fetch(self, key: bytes) -> StoredResponse | None:
        """What is stored under a key."""
        self.asked.append(key)
        return self.entries.get(key)

    async def claim(self, key: bytes, patience: float) -> StoredResponse | None:
        """What another has stored, or stores soon; None for who is to make the call."""
        there = self._fresh(key)
        if there is None and key in self.claimed:
            try:
                async with asyncio.timeout(patience):
                    await self.claimed[key].wait()
            except TimeoutError:
                return None
            there = self._fresh(key)
        if there is None:
            self.claimed.setdefault(key, asyncio.Event())
        return there

    def release(self, key: bytes) -> None:
        """The call has ended."""
        claimed = self.claimed.pop(key, None)
        if claimed is not None:
            claimed.set()

    def _fresh(self, key: bytes) -> StoredResponse | None:
        there = self.entries.get(key)
        return there if there is not None and key not in self.stale else None
