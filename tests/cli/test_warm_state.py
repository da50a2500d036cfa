"""What is done is written down."""

import stat
from pathlib import Path

import pytest

from proxy.cli.warm_state import Done, State, default_path

KEY, OTHER = b"k" * 32, b"o" * 32


def test_what_was_done_is_known_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "warm.state"
    state = State(path)
    state.note(KEY, Done("stored", 12))
    # it is killed here
    again = State(path)
    assert (again.is_done(KEY), again.is_done(OTHER), again.tokens) == (True, False, 12)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again.close(is_complete=False)
    assert path.exists()
    state.close(is_complete=True)
    assert not path.exists()


def test_a_line_that_was_broken_off_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "warm.state"
    first = State(path)
    first.note(KEY, Done("hit", 0))
    first.close(is_complete=False)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        state = State(path)
        assert not state.is_done(KEY)
        state.note(OTHER, Done("stored", 5))
        state.close(is_complete=False)
        again = State(path)
        assert (again.is_done(OTHER), again.tokens) == (True, 5)
        again.close(is_complete=False)


def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"model": "m"}\n')
    with pytest.raises(ValueError, match="no state"):
        State(path)
    assert path.read_text() == '{"model": "m"}\n'


def test_each_proxy_and_each_log_has_its_own(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    places = {
        default_path([Path("a")], "http://h:1", environment),
        default_path([Path("b")], "http://h:1", environment),
        default_path([Path("a")], "http://h:2", environment),
    }
    assert len(places) == 3
    assert all(place.parent == tmp_path / "reprise" for place in places)
    assert "/.local/state/reprise/" in str(default_path([Path("a")], "http://h:1", {}))
