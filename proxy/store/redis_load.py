"""What was kept before, as one who begins takes it in: a snapshot, the log since, the answers."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from proxy.core.cache.change import (
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.ports import TakeIn
from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from proxy.store.codec import Unreadable, key_of
from proxy.store.redis_log import (
    BEGIN,
    LEARNT,
    PUT,
    WHOLE,
    ChangeLog,
    LogState,
    Position,
    Record,
    parse_position,
)
from proxy.store.redis_names import digest_of
from proxy.store.redis_scan import KeyScan
from proxy.store.redis_small import Small, SmallState, field_of
from proxy.store.redis_snapshot import Snapshots
from proxy.store.redis_values import AT_ONCE, CALL_SECONDS, Values
from proxy.store.snapshot_format import Kind, items

T = TypeVar("T")
OnDigests: TypeAlias = Callable[[Iterable[bytes]], None]

Losses = Deleted | Rejected | Purged | Renewed | Barred
TAKEN_AT_ONCE = 500
DIGESTS_AT_ONCE = 100
"""1 ms."""
CALLS_AT_ONCE = 4
LOG_AT_ONCE = 500


class Loaded(NamedTuple):
    """How a load went."""

    position: Position
    """What stands in the log up to here was taken in."""
    answers: int
    """Answers that are known to be in Redis."""
    entries: int
    """Those of them that were taken in."""


@dataclass(slots=True)
class _Known:
    """What is to be fetched or handed over."""

    answers: dict[bytes, bytes | None] = field(default_factory=dict)
    """By digest, oldest first: how to find it, as bytes; empty: to be read; None: there is none."""
    rest: list[bytes] = field(default_factory=list)
    """Changes that are whole."""

    def add_chunk(self, chunk: bytes) -> None:
        """Take in what is in a piece of a snapshot."""
        for kind, digest, data in items(chunk):
            if kind is Kind.ENTRY:
                # Named again, it is newer than it seemed.
                self.answers[digest] = self.answers.pop(digest, None)
            elif kind is Kind.LEARNT:
                self.answers[digest] = data
            else:
                self.rest.append(data)

    def add_older(self, digests: Iterable[bytes]) -> None:
        """Take in answers of which no age is known: as if they were the oldest."""
        older: dict[bytes, bytes | None] = dict.fromkeys(digests, b"")
        self.answers = older | self.answers

    def add_record(self, record: Record) -> None:
        """Take in what the log tells."""
        if record.kind == PUT:
            # It is new: what was learnt of an earlier one is not about this.
            self.answers.pop(record.digest, None)
            self.answers[record.digest] = None
        elif record.kind == LEARNT:
            self.answers[record.digest] = b""
        elif record.kind == WHOLE:
            self.rest.append(record.data)


class Loader:
    """Loads as often as it is asked to."""

    def __init__(
        self,
        link: RedisLink,
        *,
        log: ChangeLog,
        small: SmallState,
        snapshots: Snapshots,
        values: Values,
        scan: KeyScan,
        max_entries: int,
    ) -> None:
        self._link = link
        self._log = log
        self._small = small
        self._snapshots = snapshots
        self._values = values
        self._scan = scan
        self._max_entries = max_entries

    async def load(self, take_in: TakeIn, on_digests: OnDigests) -> Loaded:
        """Hand over what there is: what takes back first, then answers, oldest first.

        `on_digests` is told the digests of all answers in Redis, also of those that are not taken
        in. Raises LinkDown.
        """
        small = await self._call(self._small.load)
        await take_in(small)
        known = _Known()
        position = await self._add_snapshot(known)
        state = await self._call(self._log.state)
        is_known = state is not None and state.has_all_after(position)
        end = await self._add_log(known, position, state)
        if not is_known:
            known.add_older([digest async for some in self._scan.answers() for digest in some])
        rest = _latest(await asyncio.to_thread(self._values.decoded, known.rest), small)
        for change in rest:
            self._small.note(change)
        # Aliases too come before answers, for these tell which of them they follow.
        await self._take(take_in, rest)
        answers = len(known.answers)
        entries = await self._load_answers(known, take_in, on_digests)
        return Loaded(end, answers, entries)

    async def _add_snapshot(self, known: _Known) -> Position:
        snapshot = await self._snapshots.newest()
        if snapshot is None:
            return BEGIN
        chunks = snapshot.chunks
        chunks.reverse()
        while chunks:  # one goes before the next is taken apart: together they are large
            try:
                await asyncio.to_thread(known.add_chunk, chunks.pop())
            except Unreadable as error:
                self._values.count_unreadable(error.reason)
        return parse_position(snapshot.pointer.position)

    async def _add_log(self, known: _Known, position: Position, state: LogState | None) -> Position:
        if state is None:
            return BEGIN
        if position > state.last:
            position = BEGIN  # it is another log than the snapshot's
        while position < state.last:
            records = await self._call(partial(self._log.read, after=position, count=LOG_AT_ONCE))
            if not records:
                break
            for record in records:
                known.add_record(record)
            position = records[-1].position
        return max(position, state.last)

    async def _load_answers(self, known: _Known, take_in: TakeIn, on_digests: OnDigests) -> int:
        """Hand over the newest answers, the oldest of them first; how many."""
        wanted = list(known.answers.items())
        known.answers = {}
        too_many = max(0, len(wanted) - self._max_entries)
        for left_out in _slices(wanted[:too_many], AT_ONCE):
            on_digests(digest for digest, _ in left_out)
            await asyncio.sleep(0)
        del wanted[:too_many]
        entries = 0
        groups = [*_slices(wanted, AT_ONCE * CALLS_AT_ONCE), ()]
        reading = self._read_all(groups[0])
        try:
            for group, following in itertools.pairwise(groups):
                on_digests(digest for digest, _ in group)
                found = await reading
                # The next ones are on their way while these are taken in.
                reading = self._read_all(following)
                for changes in found:
                    entries += sum(isinstance(change, Put) for change in changes)
                    await take_in(changes)
            await reading
        finally:
            reading.cancel()
        return entries

    def _read_all(
        self, group: Sequence[tuple[bytes, bytes | None]]
    ) -> asyncio.Future[list[list[Change]]]:
        """Begin to read; what is given back is cancelled, or waited for."""
        return asyncio.gather(*map(self._read, _slices(group, AT_ONCE)))

    async def _read(self, wanted: Sequence[tuple[bytes, bytes | None]]) -> list[Change]:
        """Answers that are still there, each with how to find it after it."""
        there = await self._values.answers([digest for digest, _ in wanted])
        asked = [digest for digest, learnt in wanted if learnt == b"" and digest in there]
        meanings = await self._values.meanings(asked)
        told = [learnt for digest, learnt in wanted if learnt and digest in there]
        for change in await asyncio.to_thread(self._values.decoded, told):
            if isinstance(change, Learnt):
                meanings[digest_of(change.key)] = change
        changes: list[Change] = []
        for digest, answer in there.items():
            left = self._small.after_purges(answer)
            if left is None:
                continue
            changes.append(left)
            if digest in meanings:
                changes.append(meanings[digest])
        return changes

    async def _take(self, take_in: TakeIn, changes: Iterable[Change]) -> None:
        for some in _slices(list(changes), TAKEN_AT_ONCE):
            await take_in(some)

    async def _call(self, work: Callable[[Client], Awaitable[T]]) -> T:
        return await self._link.call(work, deadline=CALL_SECONDS, important=True)


def _latest(changes: Iterable[Change], small: Iterable[Small]) -> list[Change]:
    """Of those about the same thing the latest, where it is not in the small state as well."""
    latest: dict[Hashable, Change] = {}
    for change in changes:
        name = _name(change)
        earlier = latest.pop(name, None)
        if isinstance(earlier, Losses) and isinstance(change, Losses) and earlier.at > change.at:
            change = earlier
        latest[name] = change
    for change in small:
        told = latest.get(_name(change))
        if isinstance(told, Losses) and told.at <= change.at:
            del latest[_name(change)]
    return list(latest.values())


def _name(change: Change) -> Hashable:
    if isinstance(change, Rejected | Purged | Renewed | Barred):
        return type(change), field_of(change)
    return key_of(change)


def _slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
