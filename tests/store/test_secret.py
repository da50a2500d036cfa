"""The key of credentials: the same after a restart and in all processes."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proxy.store.secret import FILE, load_or_make, restore
from tests.store.journals import Lines

LOST = "the key of credentials cannot be kept"


def test_it_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    log = Lines()
    secret = load_or_make(tmp_path / "data", log)
    assert len(secret) == 32
    assert load_or_make(tmp_path / "data", log) == secret
    assert (tmp_path / "data" / FILE).stat().st_mode & 0o777 == 0o600
    assert log.told == []
    assert sorted(one.name for one in (tmp_path / "data").iterdir()) == ["lock", FILE]


def test_elsewhere_it_is_another(tmp_path: Path) -> None:
    log = Lines()
    assert load_or_make(tmp_path / "a", log) != load_or_make(tmp_path / "b", log)


def test_who_starts_together_gets_the_same(tmp_path: Path) -> None:
    log = Lines()
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: load_or_make(tmp_path, log), range(16)))) == 1


def test_one_that_others_may_read_is_used_and_told_of(tmp_path: Path) -> None:
    log = Lines()
    secret = load_or_make(tmp_path, log)
    (tmp_path / FILE).chmod(0o644)
    assert load_or_make(tmp_path, log) == secret
    assert log.events == ["others may read the key of credentials"]
    assert "chmod 600" in str(log.told[0][2]["remedy"])


def test_one_that_is_damaged_is_not_used_and_let_be(tmp_path: Path) -> None:
    for content in (b"", b"short", bytes(33)):
        (tmp_path / FILE).write_bytes(content)
        log = Lines()
        one, other = load_or_make(tmp_path, log), load_or_make(tmp_path, log)
        assert one != other
        assert len(one) == len(other) == 32
        assert log.events == [LOST, LOST]
        assert (tmp_path / FILE).read_bytes() == content


def test_where_it_cannot_be_kept_there_is_one_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    log = Lines()
    assert len(load_or_make(tmp_path / "file" / "data", log)) == 32
    assert log.events == [LOST]
    (tmp_path / "directory" / FILE).mkdir(parents=True)
    assert len(load_or_make(tmp_path / "directory", log)) == 32
    assert log.events == [LOST, LOST]


def test_a_half_made_one_leaves_nothing(small: Path) -> None:
    (small / "lock").touch()
    with contextlib.suppress(OSError), (small / "full").open("wb") as file:
        while True:
            file.write(bytes(4096))
    log = Lines()
    assert len(load_or_make(small, log)) == 32
    assert log.events == [LOST]
    assert sorted(one.name for one in small.iterdir()) == ["full", "lock"]


def test_a_secret_whose_file_has_gone_is_written_again(tmp_path: Path) -> None:
    made = load_or_make(tmp_path / "kept", Lines())
    restore(tmp_path / "kept", b"x" * 32)
    assert (tmp_path / "kept" / FILE).read_bytes() == made
    (tmp_path / "kept" / FILE).unlink()
    restore(tmp_path / "kept", made)
    assert load_or_make(tmp_path / "kept", Lines()) == made
    restore(tmp_path / "nowhere", made)
    assert not (tmp_path / "nowhere").exists()
