"""Children tell where they are, and end with their block."""

import os
import sys

import pytest

from proxy.cli import children
from proxy.cli.children import StartError, find_model, run_child

TALKER = "import os, sys; print('hello'); print('pid', os.getpid(), flush=True); sys.stdin.read()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + TALKER


def pid_of(line: str) -> str:
    """What this child tells of itself."""
    return line.removeprefix("pid ").strip() if line.startswith("pid ") else ""


def is_alive(pid: str) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_lives_as_long_as_the_block() -> None:
    with run_child([sys.executable, "-c", TALKER], pid_of) as pid:
        assert is_alive(pid)
    assert not is_alive(pid)


def test_a_child_ends_though_the_block_fails() -> None:
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _interrupted(told)
    assert not is_alive(told[0])


def _interrupted(told: list[str]) -> None:
    with run_child([sys.executable, "-c", TALKER], pid_of) as pid:
        told.append(pid)
        raise KeyboardInterrupt


def test_a_child_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "ENDS_WITHIN", 0.05)
    deaf = STUBBORN.replace("sys.stdin.read()", "signal.pause()")
    with run_child([sys.executable, "-c", deaf], pid_of) as pid:
        assert is_alive(pid)
    assert not is_alive(pid)


def test_a_child_that_dies_is_told_with_what_it_said() -> None:
    with (
        pytest.raises(StartError, match="no such thing"),
        run_child([sys.executable, "-c", "import sys; sys.exit('no such thing')"], pid_of),
    ):
        pass


def test_a_child_that_says_nothing_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STARTS_WITHIN", 0.2)
    silent = "import sys; sys.stdin.read()"
    with pytest.raises(StartError), run_child([sys.executable, "-c", silent], pid_of):
        pass


def test_the_model_is_found_where_its_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model = find_model()
    assert model is not None
    assert model.name.startswith("SmolLM2")
    monkeypatch.setattr(children, "MODEL_PACKAGE", "no_such_package")
    assert find_model() is None
