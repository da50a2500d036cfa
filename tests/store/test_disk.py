"""The journal on disk: the contract, its bounds, and figures."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from proxy.clock import SystemClock
from proxy.core.cache.change import Change, Deleted, Purged
from proxy.core.cache.selector import Selector
from proxy.ports import Journal
from proxy.store import disk
from proxy.store.disk import DiskJournal
from proxy.tasks import Tasks
from tests.contracts.journal import Heard, JournalContract
from tests.core.values import NOW
from tests.fakes.clock import FakeClock
from tests.store.changes import aliased, comparable, key, learnt, put
from tests.store.journals import Lines, disk_journal, keep, kept, started
from tests.watch import until


class TestDiskJournal(JournalContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "data"

    def make(self) -> Journal:
        return disk_journal(self.directory, clock=SystemClock())


def is_written(journal: DiskJournal) -> bool:
    """Whether nothing waits."""
    return journal.figures()["disk_queue"] == 0


async def test_what_waits_is_written_soon_and_not_at_once(tmp_path: Path) -> None:
    journal = disk_journal(tmp_path)
    async with started(journal):
        journal.append(put(1))
        assert journal.figures()["disk_queue"] == 1
        await until(lambda: is_written(journal))
        assert await kept(tmp_path) == [comparable(put(1))]


async def test_much_that_waits_is_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "TICK_SECONDS", 1000.0)
    journal = disk_journal(tmp_path)
    async with started(journal):
        for number in range(disk.SOON_WAITING + 1):
            journal.append(aliased(number, 1))
        await until(lambda: is_written(journal))
        journal.append(put(1, body=bytes(disk.SOON_WAITING_BYTES)))
        await until(lambda: is_written(journal))


async def test_answers_are_dropped_when_too_many_wait_and_deletes_never_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAX_WAITING", 2)
    journal = disk_journal(tmp_path)
    for number in range(5):
        journal.append(put(number))
        journal.append(learnt(number))
    for number in range(5):
        journal.append(Deleted(key(number + 10), NOW))
    journal.append(later := put(0, created=NOW + 1))  # takes no more room
    assert journal.figures()["disk_dropped"] == 8
    async with started(journal):
        pass
    values = await kept(tmp_path)
    assert len(values) == 7
    assert comparable(later) in values


async def test_too_many_bytes_are_dropped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAX_WAITING_BYTES", 5000)
    journal = disk_journal(tmp_path)
    for number in range(3):
        journal.append(put(number, body=bytes(3000)))
    assert journal.figures()["disk_dropped"] == 1
    async with started(journal):
        await until(lambda: is_written(journal))
        journal.append(put(4, body=bytes(3000)))
        assert journal.figures()["disk_dropped"] == 1


async def test_an_earlier_answer_that_waits_behind_a_later_one_is_left_out(tmp_path: Path) -> None:
    await keep(tmp_path, put(1, created=NOW), put(1, created=NOW - 5, body=b"earlier"))
    assert await kept(tmp_path) == [comparable(put(1))]


async def test_what_was_used_last_is_handed_over_last(tmp_path: Path) -> None:
    await keep(tmp_path, *(put(number) for number in range(600)))
    await keep(tmp_path, put(3, created=NOW + 1))
    journal = disk_journal(tmp_path)
    sizes: list[int] = []

    class Sizes(Heard):
        async def __call__(self, changes: Sequence[Change]) -> None:
            sizes.append(len(changes))
            await super().__call__(changes)

    heard = Sizes()
    await journal.start(heard)
    await journal.close()
    order = [number for number in range(600) if number != 3]
    expected = [put(number) for number in order] + [put(3, created=NOW + 1)]
    assert heard.values() == [comparable(one) for one in expected]
    assert max(sizes) <= 256


async def test_what_has_had_its_time_is_left_out(tmp_path: Path) -> None:
    await keep(tmp_path, put(1, ttl=100.0), put(2, ttl=5000.0), learnt(2, until=NOW + 5000))
    clock = FakeClock()
    clock.advance(100 + 599)
    assert len(await kept(tmp_path, clock=clock)) == 3  # stale, but for when the upstream fails
    clock.advance(2)
    values = await kept(tmp_path, clock=clock)
    assert values == [comparable(put(2, ttl=5000.0)), learnt(2, until=NOW + 5000)]


async def test_the_figures(tmp_path: Path) -> None:
    clock = FakeClock()
    journal = disk_journal(tmp_path, clock=clock)
    async with started(journal):
        journal.append(put(1))
        clock.advance(5)
        assert journal.figures()["disk_last_commit_timestamp_seconds"] <= clock.now()
        await until(lambda: is_written(journal))
        clock.advance(61)
        await until(lambda: journal.figures()["disk_rows"] == 1)
        figures = journal.figures()
        assert figures["disk_up"] == 1
        assert figures["disk_bytes"] > 0
        assert figures["disk_write_errors"] == figures["disk_unreadable"] == 0


async def test_a_take_in_that_fails_ends_neither_the_loop_nor_the_journal(tmp_path: Path) -> None:
    died: list[str] = []
    heard: list[Change] = []
    journal = DiskJournal(
        tmp_path,
        max_bytes=1 << 30,
        clock=FakeClock(),
        tasks=Tasks(lambda name, error: died.append(name)),
        log=Lines(),
    )

    async def fails_once(changes: Sequence[Change]) -> None:
        heard.extend(changes)
        if len(heard) == 1:
            raise ValueError

    await journal.start(fails_once)
    await keep(tmp_path, put(1))
    await until(lambda: died == ["disk"])
    await keep(tmp_path, put(2))
    await until(lambda: len(heard) == 2)
    await journal.close()


async def test_what_is_changed_during_a_long_load_is_written_meanwhile(tmp_path: Path) -> None:
    await keep(tmp_path, *(put(number) for number in range(600)))
    journal = disk_journal(tmp_path)
    pieces: list[int] = []

    async def take_in(changes: Sequence[Change]) -> None:
        journal.append(put(1000 + len(pieces)))
        pieces.append(len(changes))
        await until(lambda: is_written(journal))

    await journal.start(take_in)
    await journal.close()
    assert pieces == [256, 256, 88]
    assert len(await kept(tmp_path)) == 603


async def test_it_may_be_closed_while_it_loads(tmp_path: Path) -> None:
    await keep(tmp_path, *(put(number) for number in range(600)))
    journal = disk_journal(tmp_path)
    pieces: list[int] = []

    async def take_in(changes: Sequence[Change]) -> None:
        pieces.append(len(changes))
        await journal.close()

    await journal.start(take_in)
    assert pieces == [256]


async def test_a_purge_of_many_comes_to_its_end_beside_the_rest(tmp_path: Path) -> None:
    await keep(
        tmp_path,
        *(put(number, ttl=1e6, model="old" if number % 2 else "m") for number in range(900)),
    )
    clock = FakeClock()
    journal = disk_journal(tmp_path, clock=clock)
    async with started(journal):
        journal.append(Purged(Selector(model="old"), soft=False, at=NOW))
        await until(lambda: is_written(journal))
        clock.advance(61)  # a sweep counts the rows, and comes after purges
        await until(lambda: journal.figures()["disk_rows"] == 451)
    assert len(await kept(tmp_path)) == 451


async def test_a_change_that_is_none_keeps_nothing_else_from_the_file(tmp_path: Path) -> None:
    died: list[str] = []
    journal = DiskJournal(
        tmp_path,
        max_bytes=1 << 30,
        clock=FakeClock(),
        tasks=Tasks(lambda name, error: died.append(name)),
        log=Lines(),
    )
    async with started(journal):
        journal.append(put(1, model=5))
        journal.append(put(2, created="yesterday"))
        await until(lambda: died == ["disk"])
        journal.append(put(3))
        await until(lambda: is_written(journal))
    assert comparable(put(3)) in await kept(tmp_path)
