"""The file as its thread uses it: who sees what, and how it is kept small."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.core.cache.change import Change, Purged, Renewed
from proxy.core.cache.selector import Selector
from proxy.store.disk_file import SWEEP_SECONDS, DiskFile, DiskTrouble
from tests.core.values import NOW
from tests.fakes.clock import FakeClock
from tests.store.changes import aliased, comparable, learnt, put
from tests.store.journals import Lines


class Files:
    """Files of several processes, on one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = FakeClock()
        self.log = Lines()
        self.opened: list[DiskFile] = []

    def open(self, *, max_bytes: int = 1 << 30) -> DiskFile:
        """One more."""
        file = DiskFile(
            self.path,
            max_bytes=max_bytes,
            writer=len(self.opened),
            clock=self.clock,
            log=self.log,
        )
        self.opened.append(file)
        return file


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    """On a new path."""
    files = Files(tmp_path / "entries.sqlite")
    yield files
    for file in files.opened:
        file.close()


def values(changes: list[Change]) -> list[object]:
    return [comparable(change) for change in changes]


def loaded(file: DiskFile) -> list[object]:
    """All that is handed over at the start."""
    return [value for rows in file.listing() for value in values(file.read(rows))]


def test_each_is_told_what_the_others_have_changed(files: Files) -> None:
    one, other = files.open(), files.open()
    assert loaded(one) == loaded(other) == []
    assert one.exchange([put(1)]) == []
    assert values(other.exchange([put(2)])) == [comparable(put(1))]
    assert values(one.exchange([])) == [comparable(put(2))]
    assert one.exchange([]) == other.exchange([]) == []
    assert one.exchange([put(3)]) == []
    assert values(other.exchange([put(4)])) == [comparable(put(3))]


def test_much_comes_in_pieces(files: Files) -> None:
    one, other = files.open(), files.open()
    loaded(other)
    sent = [aliased(number, 1) for number in range(2500)]
    one.exchange(sent)
    heard = [other.exchange([]) for _ in range(4)]
    assert [len(piece) for piece in heard] == [1024, 1024, 452, 0]
    assert [one for piece in heard for one in piece] == sent


def test_what_the_rest_is_judged_by_comes_first(files: Files) -> None:
    one = files.open()
    renewed, purged = Renewed("m", "1", NOW), Purged(Selector(model="x"), soft=False, at=NOW)
    assert one.exchange([]) == []
    one.exchange([aliased(2, 1), learnt(1), put(1), purged, renewed])
    expected = [renewed, purged, aliased(2, 1), comparable(put(1)), learnt(1)]
    assert loaded(files.open()) == expected
    assert files.opened[1].rows == 5


def test_a_purge_by_another_process_holds_here_at_once(files: Files) -> None:
    one, other = files.open(), files.open()
    loaded(one)
    loaded(other)
    one.exchange([put(1, model="old")])
    one.exchange([Purged(Selector(model="old"), soft=False, at=NOW)])
    other.exchange([put(2, model="old")])
    while one.purge():
        pass
    assert not other.purge()
    assert loaded(files.open())[1:] == []


def test_a_purge_that_was_cut_short_is_finished_later(files: Files) -> None:
    one = files.open()
    one.exchange([put(number) for number in range(600)])
    one.exchange([Purged(Selector(model="*"), soft=False, at=NOW)])
    assert one.purge()
    one.close()
    after = files.open()
    while after.purge():
        pass
    assert len(loaded(after)) == 1


def test_several_purges_are_done_one_after_another(files: Files) -> None:
    one = files.open()
    one.exchange([put(1, model="a"), put(2, model="b"), put(3, model="c")])
    one.exchange([Purged(Selector(model=name), soft=False, at=NOW) for name in "ab"])
    assert one.purge()
    assert not one.purge()
    assert loaded(one)[2:] == [comparable(put(3, model="c"))]


def test_a_sweep_takes_what_has_had_its_time_and_makes_the_file_smaller(files: Files) -> None:
    one = files.open()
    one.exchange([put(number, body=bytes(20_000)) for number in range(600)])
    one.exchange([put(1000, ttl=1e6)])
    assert not one.upkeep()
    one.close()
    full = files.path.stat().st_size
    files.clock.advance(1000)
    while one.upkeep():
        pass
    assert one.rows == 1
    assert loaded(one) == [comparable(put(1000, ttl=1e6))]
    one.close()
    assert files.path.stat().st_size < full / 3


def test_a_sweep_is_once_a_minute(files: Files) -> None:
    one = files.open()
    one.exchange([put(1, ttl=-600.0 + SWEEP_SECONDS / 2)])
    assert not one.upkeep()
    files.clock.advance(SWEEP_SECONDS - 1)
    assert not one.upkeep()
    assert one.rows == 1
    files.clock.advance(2)
    assert one.upkeep()
    assert not one.upkeep()
    assert one.rows == 0


def test_over_its_size_the_oldest_go(files: Files) -> None:
    one = files.open(max_bytes=1_000_000)
    for number in range(200):
        one.exchange([put(number, body=bytes(10_000))])
    assert one.size_bytes > 1_500_000
    while one.upkeep():
        pass
    left = loaded(one)
    assert 20 < len(left) < 130
    assert left[-1] == comparable(put(199, body=bytes(10_000)))
    one.exchange([])
    assert one.size_bytes <= 1_000_000


def test_rows_that_grow_old_while_they_are_listed_are_left_out(files: Files) -> None:
    one = files.open()
    one.exchange([put(1), put(2, ttl=1e6)])
    (rows,) = one.listing()
    files.clock.advance(5000)
    assert values(one.read(rows)) == [comparable(put(2, ttl=1e6))]


def test_trouble_says_why_and_is_over_when_it_is_over(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")
    files = Files(tmp_path / "data" / "entries.sqlite")
    one = files.open()
    with pytest.raises(DiskTrouble, match="exists"):
        one.exchange([put(1)])
    (tmp_path / "data").unlink()
    one.exchange([put(1)])
    assert not one.is_another
    assert loaded(one) == [comparable(put(1))]
    one.close()


def test_a_file_that_is_another_is_told(files: Files) -> None:
    one = files.open()
    one.exchange([put(1)])
    assert not one.is_another
    files.path.unlink()
    one.exchange([put(2)])
    assert files.opened[0].is_another
    assert loaded(files.open()) == [comparable(put(2))]
