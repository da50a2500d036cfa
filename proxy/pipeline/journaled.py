"""A store whose changes are told to journals, so that they outlast it and reach others."""

from collections.abc import Callable

from proxy.core.cache.change import Change, Deleted
from proxy.core.cache.value import StoredResponse
from proxy.ports import Clock, Store


class JournaledStore:
    """Fulfils the Store port over another one. What is looked up costs nothing more."""

    def __init__(self, store: Store, *, note: Callable[[Change], None], clock: Clock) -> None:
        """`note` is told what is to be forgotten everywhere, not what memory has no room for.

        What is stored is told by whoever knows its question.
        """
        self._store = store
        self._note = note
        self._clock = clock
        self.get = store.get
        self.peek = store.peek
        self.recount = store.recount
        self.scan = store.scan

    def put(self, stored: StoredResponse) -> bool:
        """Keep it in place of what its key had; False where it is over the bounds."""
        is_kept = self._store.put(stored)
        if not is_kept:
            # It has replaced an earlier answer all the same.
            self._note(Deleted(stored.key, stored.created))
        return is_kept

    def delete(self, key: bytes) -> bool:
        """Forget it, everywhere; False where there was nothing here."""
        there = self._store.peek(key)
        now = self._clock.now()
        # Another replica's clock may be ahead of ours.
        self._note(Deleted(key, max(now, there.created) if there is not None else now))
        return self._store.delete(key)
