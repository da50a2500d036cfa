"""What is learnt goes to others, and what they have learnt is taken in without embedding it again.

Where a vector cannot be had so, it is made anew: little by little, for nobody waits for it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from proxy.core.cache.change import Change, Learnt
from proxy.core.cache.key import Key
from proxy.core.meaning.uncompared import NotCompared
from proxy.core.meaning.vectors import are_vectors, from_bytes, to_bytes
from proxy.pipeline.known import Known, KnownEntries, Partition
from proxy.pipeline.space import Space
from proxy.ports import Store, Vector, VectorIndex
from proxy.tasks import Tasks

MAX_UNREAD = 100_000
"""Entries whose vectors wait to be made anew."""


class Adoption:
    """Takes in and tells what is learnt of the entries that are known."""

    def __init__(
        self,
        *,
        pick: Callable[[str], Space],
        known: KnownEntries,
        store: Store,
        tasks: Tasks,
        note: Callable[[Change], None] | None,
    ) -> None:
        """`pick` chooses by the script of a text, or raises NotCompared.

        `note` is told what is learnt, where anybody wants to know.
        """
        self._pick = pick
        self._known = known
        self._store = store
        self._tasks = tasks
        self._note = note
        self._by_index: dict[VectorIndex, Space] = {}
        self._unread: deque[Learnt] = deque(maxlen=MAX_UNREAD)
        """What others have learnt with another encoder, and what was lost: to be made anew."""

    def keep(self, key: Key, text: str, space: Space, until: float) -> None:
        """Know an entry that is not known; its vector is, or will be, in the space's index."""
        self._by_index[space.index] = space
        self._known.add(key, text, space.index, until)

    async def adopt(self, learnt: Sequence[Learnt]) -> None:
        """Take in what others have learnt of entries that are here.

        Vectors of another encoder are not looked at; they are made anew, little by little.
        """
        cells: dict[tuple[Space, bytes], list[Learnt]] = {}
        for one in learnt:
            if self._store.peek(one.key) is None:
                continue
            if one.key in self._known:
                self._known.prolong(one.key, one.until)
                continue
            try:
                space = self._pick(one.text)
            except NotCompared:
                continue
            if one.encoder and space.encoder.identity == one.encoder:
                cells.setdefault((space, one.history), []).append(one)
            else:
                self._read_later(one)
        for (space, history), cell in cells.items():
            await self._take_in_cell(cell, space, history)

    async def learnt(self, keys: Sequence[bytes]) -> list[Learnt]:
        """What is known of some entries, for others to take in.

        Vectors that a shared index has lost are made anew, little by little, and told then.
        """
        partitions: dict[Partition, list[bytes]] = {}
        for key in keys:
            known = self._known.get(key)
            if known is not None:
                partitions.setdefault(known.partition, []).append(key)
        found = []
        for partition, its_keys in partitions.items():
            space = self._by_index[partition.index]
            vectors = await space.index.vectors(partition.history, its_keys)
            for key in its_keys:
                known, vector = self._known.get(key), vectors.get(key)
                if known is not None and vector is not None:
                    found.append(_learnt(key, known, space, to_bytes(vector)))
                elif known is not None and space.index.is_shared:
                    self._read_later(_learnt(key, known, space, b""))  # it was lost there
        return found

    def tell(self, key: bytes, space: Space, vector: Vector) -> None:
        """Let others know an entry that was learnt here."""
        known = self._known.get(key)
        if self._note is not None and known is not None:
            self._note(_learnt(key, known, space, to_bytes(vector)))

    def tell_again(self, key: bytes) -> None:
        """Let others know an entry anew whose vector is in its index."""
        if self._note is not None:
            self._tasks.spawn(self._tell_again(key, self._note), "learn")

    async def _tell_again(self, key: bytes, note: Callable[[Change], None]) -> None:
        for one in await self.learnt([key]):
            note(one)

    async def _take_in_cell(self, cell: Sequence[Learnt], space: Space, history: bytes) -> None:
        # What came back is not trusted: a text whose vector is none gets one of ours.
        are_fit = are_vectors([one.vector for one in cell], space.encoder.dimensions)
        fit = [one for one, is_fit in zip(cell, are_fit, strict=True) if is_fit]
        if fit:
            vectors = from_bytes([one.vector for one in fit])
            latest = max(one.until for one in fit)
            await space.index.take_in(history, [one.key for one in fit], vectors, until=latest)
        for one in fit:
            self._take_in(one, space)
        taken = {one.key for one in fit}
        for one in cell:
            if one.key not in taken:
                self._read_later(one)

    def _take_in(self, one: Learnt, space: Space) -> None:
        # It may have gone, or have been learnt here, while the index took its vector.
        if self._store.peek(one.key) is None:
            if not space.index.is_shared:
                space.index.discard(one.history, one.key)
        elif one.key not in self._known:
            key = Key(one.scope, one.settings, one.history, one.key)
            self.keep(key, one.text, space, one.until)

    def _read_later(self, one: Learnt) -> None:
        self._unread.append(replace(one, vector=b""))
        if len(self._unread) == 1:
            self._tasks.spawn(self._read_anew(), "embed-anew")

    async def _read_anew(self) -> None:
        while self._unread:
            one = self._unread[0]
            try:
                space = self._pick(one.text)
                vector = await space.embed_patiently(one.text)
            except NotCompared:
                pass  # found by its key alone
            else:
                is_wanted = one.key not in self._known or space.index.is_shared
                if is_wanted and self._store.peek(one.key) is not None:
                    space.index.add(one.history, one.key, vector, until=one.until)
                    self._take_in(one, space)
                    self.tell(one.key, space, vector)
            self._unread.popleft()


def _learnt(key: bytes, known: Known, space: Space, vector: bytes) -> Learnt:
    partition = known.partition
    return Learnt(
        key=key,
        scope=partition.scope,
        settings=partition.settings,
        history=partition.history,
        text=known.text,
        until=known.until,
        encoder=space.encoder.identity,
        vector=vector,
    )
