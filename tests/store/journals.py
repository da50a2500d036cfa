"""Journals on disk for tests, and what they tell."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from proxy.core.cache.change import Change
from proxy.ports import Clock
from proxy.store.disk import DiskJournal
from proxy.tasks import Tasks
from tests.contracts.journal import Heard
from tests.fakes.clock import FakeClock


class Lines:
    """Fulfils Log; remembers."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, dict[str, object]]] = []

    def emit(self, level: str, event: str, fields: dict[str, object]) -> None:
        self.told.append((level, event, fields))

    @property
    def events(self) -> list[str]:
        """What was told, without the details."""
        return [event for _, event, _ in self.told]


def raise_again(name: str, error: BaseException) -> None:
    """No background task may die."""
    raise AssertionError(name) from error


def disk_journal(
    directory: Path,
    *,
    clock: Clock | None = None,
    log: Lines | None = None,
    max_bytes: int = 1 << 30,
    memory: Callable[[], Sequence[Change]] | None = None,
) -> DiskJournal:
    """A journal that is not started; its clock stands still unless one is given.

    `memory` tells what is in memory.
    """

    async def everything() -> AsyncIterator[Sequence[Change]]:
        changes = memory() if memory is not None else ()
        for start in range(0, len(changes), 100):
            yield changes[start : start + 100]

    return DiskJournal(
        directory,
        max_bytes=max_bytes,
        clock=clock or FakeClock(),
        tasks=Tasks(raise_again),
        log=log or Lines(),
        everything=everything,
    )


@asynccontextmanager
async def started(journal: DiskJournal) -> AsyncIterator[Heard]:
    """What a journal hands over while it is open."""
    heard = Heard()
    await journal.start(heard)
    try:
        yield heard
    finally:
        await journal.close()


async def keep(directory: Path, *changes: Change) -> None:
    """Have a file with some changes."""
    journal = disk_journal(directory)
    async with started(journal):
        for change in changes:
            journal.append(change)


async def kept(directory: Path, *, clock: Clock | None = None) -> list[object]:
    """What a new process is given, as values that can be compared."""
    async with started(disk_journal(directory, clock=clock)) as heard:
        return heard.values()
