"""What is told of warming, to whoever waits for it."""

from pathlib import Path

import pytest

from proxy.cli.warm_groups import Question, Survey
from proxy.cli.warm_input import Entry, Log, Place
from proxy.cli.warm_run import Tally
from proxy.cli.warm_state import State
from proxy.cli.warm_told import SHOWN, tell_chosen, tell_end, tell_left_alone
from proxy.config import load
from tests.fakes.client import question


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_what_is_left_alone_is_told_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey(load(None, upstream="http://127.0.0.1:9", env={}), [])
    for number in range(2):
        survey.add(Entry("/v1/models", {}), Place(0, number, number + 1))
    tell_left_alone(survey)
    assert "2 of 2 requests are none that the cache looks up (path: 2)" in capsys.readouterr().err


def test_the_first_of_the_chosen_are_shown_in_one_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(question("Q") + b"\n")
    texts = ["many\nlines\x1b[31m", "long " * 30, *map(str, range(SHOWN))]
    chosen = [Question(b"k", Place(0, 0, 1), 1234, b"", text, 2) for text in texts]
    with Log([path], temperature=None) as log:
        tell_chosen(log, chosen, done=3, tokens=5000, share=0.5, of=2468)
    told = capsys.readouterr().err
    assert "many lines?[31m" in told
    assert f"{('long ' * 30)[:59]}…" in told
    assert told.count("1,234") == SHOWN
    assert "12 questions would be asked, 3 of them are done; they are 50.0% of 2,468" in told
    assert "some 5,000 tokens" in told


def test_a_run_that_ended_early_says_why_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = State(tmp_path / "state")
    tell_end(Tally(asked=2, stored=1, hits=3, failed=1, tokens=40, ended_by="the user"), 7, state)
    told = capsys.readouterr().err
    assert "2 asked, 1 of them stored; 3 were stored before; 1 failed; 40 tokens." in told
    assert "Ended by: the user." in told
    assert f"7 remain: the same command goes on from there ({tmp_path / 'state'})." in told
    tell_end(Tally(), 0, state)
    told = capsys.readouterr().err
    assert "Ended" not in told
    assert "remain" not in told
    state.close(is_complete=True)
