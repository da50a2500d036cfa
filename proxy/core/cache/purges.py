"""Purges that were made, for answers that come back after them: from disk, from other replicas."""

from enum import Enum

from proxy.core.cache.change import Purged
from proxy.core.cache.value import StoredResponse

MAX_PURGES = 1024


class Effect(Enum):
    """What became of an answer."""

    NONE = "none"
    STALE = "stale"
    GONE = "gone"


class Purges:
    """The latest ones; bounded."""

    def __init__(self) -> None:
        self._purges: dict[Purged, None] = {}
        self._all_before = float("-inf")

    def __len__(self) -> int:
        return len(self._purges)

    def latest(self, limit: int) -> list[Purged]:
        """The last ones, the latest first."""
        return sorted(self._purges, key=lambda known: -known.at)[:limit]

    def add(self, purged: Purged) -> bool:
        """Take note of one; False where it is known already."""
        if purged in self._purges:
            return False
        self._purges[purged] = None
        if len(self._purges) > MAX_PURGES:
            oldest = min(self._purges, key=lambda known: known.at)
            del self._purges[oldest]
            # What it was about is not known any longer: all that is as old counts as gone.
            self._all_before = max(self._all_before, oldest.at)
        return True

    def effect(self, stored: StoredResponse) -> Effect:
        """What the purges since it was asked for have made of an answer.

        Its way may have ended at another replica before that one heard of the purge.
        """
        if stored.asked <= self._all_before:
            return Effect.GONE
        effect = Effect.NONE
        for purged in self._purges:
            if stored.asked <= purged.at and purged.selector.selects(stored):
                if not purged.soft:
                    return Effect.GONE
                effect = Effect.STALE
        return effect
