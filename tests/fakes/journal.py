"""A journal in memory, for pipelines that share what they learn."""

import asyncio
from dataclasses import replace

from proxy.core.cache.change import Barred, Change, Deleted, Learnt, Purged, Put, Rejected, Renewed
from proxy.ports import TakeIn
from proxy.store.codec import Key, key_of


class FakePlace:
    """Where journals keep their changes: what a file or a server is to the real ones."""

    def __init__(self) -> None:
        self.kept: dict[Key, Change] = {}
        """The last of each kind and key; what is changed again moves to the end."""
        self.journals: list[FakeJournal] = []

    def keep(self, change: Change) -> bool:
        """Take a change; False where what is there is later."""
        if any(_undoes(earlier, change) for earlier in self.kept.values()):
            return False
        for name, earlier in list(self.kept.items()):
            if not isinstance(change, Purged) and _undoes(change, earlier):
                del self.kept[name]
            elif isinstance(change, Purged) and _undoes(change, earlier):
                self._purge(name, change)
        self.kept.pop(key_of(change), None)
        self.kept[key_of(change)] = change
        return True

    def _purge(self, name: Key, purged: Purged) -> None:
        change = self.kept[name]
        if purged.soft and isinstance(change, Put):
            self.kept[name] = replace(change, stored=replace(change.stored, ttl=0.0))
        else:
            del self.kept[name]


class FakeJournal:
    """Fulfils proxy.ports.Journal. Journals of one place tell each other at once."""

    def __init__(self, place: FakePlace) -> None:
        self.appended: list[Change] = []
        """All that this process has changed."""
        self._place = place
        self._arrived: asyncio.Queue[Change | None] = asyncio.Queue()
        self._handing_over: asyncio.Task[None] | None = None
        self._is_closed = False

    def append(self, change: Change) -> None:
        """Keep it, and let the others know."""
        if self._is_closed:
            return
        self.appended.append(change)
        if self._place.keep(change):
            for journal in self._place.journals:
                if journal is not self:
                    journal._arrived.put_nowait(change)

    async def start(self, take_in: TakeIn) -> None:
        """Hand over what is kept, then what comes."""
        kept = [change for change in self._place.kept.values() if change not in self.appended]
        self._place.journals.append(self)
        if kept:
            await take_in(kept)
        self._handing_over = asyncio.get_running_loop().create_task(self._hand_over(take_in))

    async def close(self) -> None:
        """End."""
        if self._is_closed:
            return
        self._is_closed = True
        if self in self._place.journals:
            self._place.journals.remove(self)
        self._arrived.put_nowait(None)
        if self._handing_over is not None:
            await self._handing_over

    async def _hand_over(self, take_in: TakeIn) -> None:
        while (change := await self._arrived.get()) is not None:
            await take_in([change])


def _undoes(later: Change, earlier: Change) -> bool:
    """Whether a change means that another one must not be there, whichever came first."""
    match later, earlier:
        case (Put(), Put()) | (Renewed(), Renewed()) | (Barred(), Barred()):
            return key_of(later) == key_of(earlier) and _at(later) > _at(earlier)
        case ((Deleted() | Rejected()), Put(stored)):
            return later.key == stored.key and stored.created <= later.at
        case ((Deleted() | Rejected()), Learnt()):
            return later.key == earlier.key
        case Purged(selector, soft, at), Put(stored):
            stays = soft and stored.ttl == 0
            return stored.created <= at and not stays and selector.selects(stored)
        case _:
            return False


def _at(change: Change) -> float:
    if isinstance(change, Put):
        return change.stored.created
    assert isinstance(change, Renewed | Barred)
    return change.at
