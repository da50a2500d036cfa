"""What disks and people do to the file: it is set aside once, or waited for; service goes on."""

import asyncio
import contextlib
import os
import pickle
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from proxy.core.cache.change import Change, Deleted
from proxy.store import disk_open
from proxy.store.disk import RETRY_SECONDS, DiskJournal
from tests.core.values import NOW
from tests.fakes.clock import FakeClock
from tests.store.changes import comparable, key, learnt, put
from tests.store.journals import Lines, disk_journal, keep, kept, started
from tests.watch import until

FILE = "entries.sqlite"
ASIDE = "what was kept on disk is set aside"
STOPPED = "nothing is kept on disk"
AGAIN = "kept on disk again"
MARK = b"a body that is easily found " * 4


def is_written(journal: DiskJournal) -> Callable[[], bool]:
    """Whether nothing waits."""
    return lambda: journal.figures()["disk_queue"] == 0


async def used(directory: Path, log: Lines | None = None) -> list[object]:
    """What a process is given, after it has kept one more answer."""
    journal = disk_journal(directory, log=log)
    async with started(journal) as heard:
        journal.append(put(77))
    return heard.values()


def in_file(path: Path, statement: str, *values: object) -> None:
    """Do something to the file, as somebody with another program would."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def aside(directory: Path) -> list[str]:
    """The files that were set aside, without those that belong to them."""
    names = sorted(os.listdir(directory))
    return [one for one in names if one.startswith(f"{FILE}.") and not one.endswith(("wal", "shm"))]


def ruin_beginning(path: Path) -> None:
    path.write_bytes(b"garbage" + path.read_bytes()[7:])


def ruin_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[16384:24576] = bytes(range(256)) * 32  # the second page only maps the others
    path.write_bytes(data)


def cut_tail(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 9 // 10 // 8192 * 8192)


def make_newer(path: Path) -> None:
    in_file(path, "PRAGMA user_version = 2")


def make_older(path: Path) -> None:
    in_file(path, "PRAGMA user_version = 0")


def add_trigger(path: Path) -> None:
    in_file(path, "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END")


def put_other_application(path: Path) -> None:
    path.unlink()
    in_file(path, "CREATE TABLE bookmarks (url TEXT)")


def put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_nothing(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("ruin", "why"),
    [
        (ruin_beginning, "damaged"),
        (ruin_page, "damaged"),
        (cut_tail, "damaged"),
        (make_newer, "newer"),
        (make_older, "damaged"),
        (add_trigger, "damaged"),
        (put_other_application, "foreign"),
        (put_directory, "foreign"),
    ],
)
async def test_a_file_that_is_of_no_use_is_set_aside_once(
    tmp_path: Path, ruin: Callable[[Path], None], why: str
) -> None:
    await keep(tmp_path, *(put(number, body=bytes(5000)) for number in range(40)))
    await asyncio.to_thread(ruin, tmp_path / FILE)
    log = Lines()
    await used(tmp_path, log)
    assert log.events == [ASIDE]
    _, _, told = log.told[0]
    assert told["why"] == why
    assert aside(tmp_path) == [Path(str(told["moved_to"])).name]
    assert aside(tmp_path)[0].endswith(f"-{why}")
    assert comparable(put(77)) in await used(tmp_path, log)
    assert len(log.told) == 1


async def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    await keep(tmp_path, put(1))
    await asyncio.to_thread(put_nothing, tmp_path / FILE)
    log = Lines()
    assert await used(tmp_path, log) == []
    assert log.told == []
    assert await kept(tmp_path) == [comparable(put(77))]


async def test_three_are_kept_aside(tmp_path: Path) -> None:
    for number in range(5):
        await asyncio.to_thread((tmp_path / FILE).write_bytes, b"garbage %d" % number * 1000)
        clock = FakeClock(NOW + number)
        async with started(disk_journal(tmp_path, clock=clock)):
            pass
    assert len(aside(tmp_path)) == 3
    contents = [await asyncio.to_thread((tmp_path / name).read_bytes) for name in aside(tmp_path)]
    assert [content[:9] for content in contents] == [b"garbage %d" % n for n in (2, 3, 4)]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(MARK) + 5] ^= 1
    path.write_bytes(data)


def plant_pickle(path: Path) -> None:
    in_file(path, "UPDATE record SET value = ? WHERE key = ?", pickle.dumps({"a": 1}), key(1))


def plant_text(path: Path) -> None:
    in_file(path, "UPDATE record SET value = 'text' WHERE key = ?", key(1))


def swap(path: Path) -> None:
    in_file(
        path,
        "UPDATE record SET value = (SELECT value FROM record WHERE key = ?) WHERE key = ?",
        key(2),
        key(1),
    )


@pytest.mark.parametrize("ruin", [flip, plant_pickle, plant_text, swap])
async def test_a_row_that_cannot_be_read_is_left_out_and_counted(
    tmp_path: Path, ruin: Callable[[Path], None]
) -> None:
    await keep(tmp_path, put(1, body=MARK), put(2), learnt(1), learnt(2))
    await asyncio.to_thread(ruin, tmp_path / FILE)
    log = Lines()
    journal = disk_journal(tmp_path, log=log)
    async with started(journal) as heard:
        assert journal.figures()["disk_unreadable"] == 1
    assert comparable(put(2)) in heard.values()
    assert not any(one == comparable(put(1, body=MARK)) for one in heard.values())
    assert log.told == []
    again = disk_journal(tmp_path)
    async with started(again):
        assert again.figures()["disk_unreadable"] == 0


async def test_a_planted_row_of_another_process_is_left_out_too(tmp_path: Path) -> None:
    journal = disk_journal(tmp_path)
    async with started(journal) as heard:
        await asyncio.to_thread(
            in_file,
            tmp_path / FILE,
            "INSERT INTO record (kind, key, writer, at, value) VALUES ('put', ?, 1, 1.0, ?)",
            key(1),
            pickle.dumps(1),
        )
        await until(lambda: journal.figures()["disk_unreadable"] == 1)
        assert heard.changes == []


async def test_damage_that_shows_later_costs_nothing_that_is_in_memory(tmp_path: Path) -> None:
    log, memory = Lines(), [put(number, body=bytes(9000)) for number in range(50)]
    await keep(tmp_path, *memory)
    journal = disk_journal(tmp_path, log=log, memory=lambda: memory)
    async with started(journal):
        await asyncio.to_thread(shutil.copy, tmp_path / FILE, tmp_path / "copy")
        await asyncio.to_thread(ruin_in_place, tmp_path / FILE)
        await keep_trying(journal, log, ASIDE)
        await until(is_written(journal))
    values = await kept(tmp_path)
    assert all(comparable(one) in values for one in memory)
    assert log.events == [ASIDE]


def ruin_in_place(path: Path) -> None:
    """Write over all but the first page, whoever has the file open."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(descriptor, b"\xff" * (path.stat().st_size - 8192), 8192)
    finally:
        os.close(descriptor)


async def keep_trying(journal: DiskJournal, log: Lines, event: str) -> None:
    """Append until something is told."""
    for number in range(1000, 1100):
        journal.append(put(number, body=bytes(9000)))
        await until(is_written(journal))
        if event in log.events:
            return
    raise AssertionError(log.told)


async def test_a_file_that_was_removed_is_made_anew_with_all_that_is_in_memory(
    tmp_path: Path,
) -> None:
    memory = [put(1), put(2)]
    log = Lines()
    journal = disk_journal(tmp_path, log=log, memory=lambda: memory)
    async with started(journal):
        journal.append(put(1))
        await until(is_written(journal))
        await asyncio.to_thread((tmp_path / FILE).unlink)
        journal.append(put(3))
        await until((tmp_path / FILE).exists)
        await until(is_written(journal))
    values = await kept(tmp_path)
    assert sorted(map(repr, values)) == sorted(repr(comparable(put(n))) for n in (1, 2, 3))
    assert log.told == []


def remount(directory: Path, options: str) -> None:
    """Change a file system while it is in use."""
    command = ["mount", "-o", f"remount,{options}", str(directory)]
    subprocess.run(command, check=True)  # noqa: S603 - ours


async def test_a_full_disk_stops_persistence_and_not_service(small: Path) -> None:
    clock, log = FakeClock(), Lines()
    memory: list[Change] = [put(number, body=bytes(20_000)) for number in range(60)]
    journal = disk_journal(small, clock=clock, log=log, memory=lambda: memory)
    async with started(journal):
        for change in memory:
            journal.append(change)
        await until(lambda: log.events == [STOPPED])
        figures = journal.figures()
        assert figures["disk_up"] == 0
        assert figures["disk_write_errors"] == 1
        journal.append(Deleted(key(0), NOW))  # it is not lost
        clock.advance(RETRY_SECONDS + 1)
        await until(lambda: journal.figures()["disk_write_errors"] == 2)
        assert log.events == [STOPPED]
        await asyncio.to_thread(remount, small, "size=8m")
        clock.advance(RETRY_SECONDS + 1)
        await until(lambda: log.events == [STOPPED, AGAIN])
        await until(is_written(journal))
        assert journal.figures()["disk_up"] == 1
        values = await kept(small)
    assert comparable(memory[0]) not in values
    assert all(comparable(one) in values for one in memory[1:])
    assert "full" in str(log.told[0][2]["why"])


async def test_a_disk_that_became_read_only_is_waited_for(small: Path) -> None:
    clock, log = FakeClock(), Lines()
    await keep(small, put(1))
    await asyncio.to_thread(remount, small, "ro")
    journal = disk_journal(small, clock=clock, log=log)
    async with started(journal) as heard:
        assert log.events == [STOPPED]
        journal.append(put(2))
        await asyncio.to_thread(remount, small, "rw")
        clock.advance(RETRY_SECONDS + 1)
        await until(lambda: log.events == [STOPPED, AGAIN])
        await until(is_written(journal))
        await until(lambda: comparable(put(1)) in heard.values())
        assert len(await kept(small)) == 2


async def test_a_directory_that_cannot_be_made_is_waited_for(tmp_path: Path) -> None:
    clock, log = FakeClock(), Lines()
    blocker = tmp_path / "blocker"
    await asyncio.to_thread(blocker.write_bytes, b"")
    memory: list[Change] = [put(1)]
    journal = disk_journal(blocker / "data", clock=clock, log=log, memory=lambda: memory)
    async with started(journal) as heard:
        journal.append(put(2))
        assert heard.changes == []
        assert log.events == [STOPPED]
        await asyncio.to_thread(blocker.unlink)
        clock.advance(RETRY_SECONDS + 1)
        await until(lambda: log.events == [STOPPED, AGAIN])
        await until(is_written(journal))
        assert len(await kept(blocker / "data")) == 2
    log = Lines()
    closed = disk_journal(Path("/proc/nothing"), log=log)
    async with started(closed):
        closed.append(put(1))
    assert log.events == [STOPPED]


@contextlib.asynccontextmanager
async def held(path: Path) -> AsyncIterator[None]:
    """Another program is in the midst of writing."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


async def test_a_file_that_others_hold_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_open, "BUSY_SECONDS", 0.01)
    log, clock = Lines(), FakeClock()
    journal = disk_journal(tmp_path, log=log, clock=clock)
    async with started(journal):
        async with held(tmp_path / FILE):
            journal.append(put(1))
            await until(lambda: journal.figures()["disk_write_errors"] > 1)
            assert journal.figures()["disk_up"] == 1
            assert log.told == []
            # Somebody hangs: that is to be known.
            clock.advance(RETRY_SECONDS + 1)
            await until(lambda: log.events == [STOPPED])
        clock.advance(RETRY_SECONDS + 1)
        await until(lambda: log.events == [STOPPED, AGAIN])
        await until(is_written(journal))
    assert await kept(tmp_path) == [comparable(put(1))]


async def test_what_cannot_be_written_at_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_open, "BUSY_SECONDS", 0.01)
    log = Lines()
    journal = disk_journal(tmp_path, log=log)
    async with started(journal), held(tmp_path / FILE):
        journal.append(put(1))
        await journal.close()
    assert log.events == ["not all was kept on disk"]


async def test_a_file_that_is_damaged_while_it_is_loaded_is_written_anew(tmp_path: Path) -> None:
    sent = [put(number, body=MARK if number == 400 else bytes(1000)) for number in range(600)]
    await keep(tmp_path, *sent)
    await asyncio.to_thread(ruin_marked_page, tmp_path / FILE)
    log = Lines()
    memory: list[Change] = []
    journal = disk_journal(tmp_path, log=log, memory=lambda: list(memory))

    async def take_in(changes: Sequence[Change]) -> None:
        memory.extend(changes)

    await journal.start(take_in)
    await journal.close()
    assert log.events == [ASIDE]
    assert 0 < len(memory) < 600
    assert await kept(tmp_path) == [comparable(change) for change in memory]


def ruin_marked_page(path: Path) -> None:
    """Write over the page of one row, and what else is on it."""
    data = bytearray(path.read_bytes())
    start = data.index(MARK) // 8192 * 8192
    data[start : start + 8192] = b"\xff" * 8192
    path.write_bytes(data)
