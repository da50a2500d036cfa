"""Where things are kept, and who is there alone."""

import threading
from pathlib import Path

import pytest

from proxy.store.directory import default_directory, locked, make


def test_it_is_in_the_data_directory_of_the_user() -> None:
    assert default_directory({"XDG_DATA_HOME": "/data"}) == Path("/data/reprise")


@pytest.mark.parametrize("environment", [{}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "data"}])
def test_without_an_absolute_one_it_is_in_the_home(environment: dict[str, str]) -> None:
    assert default_directory(environment) == Path.home() / ".local" / "share" / "reprise"


def test_a_new_one_is_for_its_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    make(directory)
    make(directory)
    assert directory.stat().st_mode & 0o777 == 0o700


def test_one_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        make(tmp_path / "file" / "data")


def test_one_at_a_time(tmp_path: Path) -> None:
    steps: list[str] = []
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with locked(tmp_path):
            entered.set()
            assert leave.wait(10)
            steps.append("first")

    def second() -> None:
        with locked(tmp_path):
            steps.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert steps == ["first", "second"]
