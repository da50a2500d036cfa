"""Question after question, within bounds."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.cli.warm_client import Outcome, StopError, StoppedError, Told, WarmClient
from proxy.cli.warm_groups import Question
from proxy.cli.warm_input import Entry, LineError, Place
from proxy.cli.warm_run import FAILURES_IN_A_ROW, Bounds, Tally, Warming
from proxy.cli.warm_state import State

FREE = Bounds(1, None, None)
BOUNDED = {"messages": "x", "max_tokens": 5}


class Client(WarmClient):
    """Answers by a function in place of a proxy."""

    def __init__(self, answer: Callable[[int], Told]) -> None:
        super().__init__("http://127.0.0.1:9", [])
        self.asked: list[int] = []
        self.most = 0
        self._now = 0
        self._guard = threading.Lock()
        self._answer = answer

    def ask(self, entry: Entry) -> Told:
        number = int(entry.target)
        with self._guard:
            self.asked.append(number)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            return self._answer(number)
        finally:
            with self._guard:
                self._now -= 1


def questions(count: int) -> list[Question]:
    return [Question(b"%d" % n, Place(0, n, n), 1, b"", "") for n in range(count)]


def read(question: Question) -> Entry:
    return Entry(question.key.decode(), {"messages": "x"})


def warm(
    client: Client,
    path: Path,
    count: int,
    bounds: Bounds = FREE,
    read: Callable[[Question], Entry] = read,
) -> tuple[Tally, State]:
    seen: list[Tally] = []
    state = State(path / "state")
    warming = Warming(client=client, read=read, state=state, bounds=bounds, on_progress=seen.append)
    warming.run([one for one in questions(count) if not state.is_done(one.key)])
    return warming.tally, state


def test_every_outcome_is_counted(tmp_path: Path) -> None:
    told = [Told(outcome, 10) for outcome in (Outcome.STORED, Outcome.UNSTORED)]
    told += [Told(outcome) for outcome in (Outcome.HIT, Outcome.REFUSED, Outcome.FAILED)]
    tally, state = warm(Client(told.__getitem__), tmp_path, 5)
    assert tally == Tally(asked=2, hits=1, stored=1, failed=3, tokens=20)
    assert [state.is_done(one.key) for one in questions(5)] == [True] * 4 + [False]
    assert state.tokens == 20


def test_no_more_than_so_many_are_under_way(tmp_path: Path) -> None:
    barrier = threading.Barrier(3, timeout=5)

    def answer(number: int) -> Told:
        barrier.wait()
        return Told(Outcome.STORED, 1)

    client = Client(answer)
    tally, _ = warm(client, tmp_path, 9, Bounds(3, None, None))
    assert (tally.stored, client.most) == (9, 3)


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("cap", [1, 29, 30, 31, 95, 299])
def test_the_cap_is_not_passed(concurrency: int, cap: int, tmp_path: Path) -> None:
    client = Client(lambda number: Told(Outcome.STORED, 30))
    tally, _ = warm(client, tmp_path, 20, Bounds(concurrency, None, cap))
    # Nothing is known of answers before the first.
    assert tally.tokens <= max(cap, 30)
    assert tally.tokens >= cap - 30
    assert "--max-tokens" in tally.ended_by
    again, _ = warm(client, tmp_path, 20, Bounds(concurrency, None, cap))
    assert again.tokens == 0


def test_an_upstream_that_tells_no_usage_is_guessed(tmp_path: Path) -> None:
    tally, _ = warm(Client(lambda number: Told(Outcome.STORED)), tmp_path, 20, Bounds(2, None, 800))
    assert (tally.asked, 700 < tally.tokens <= 800) == (3, True)


def test_a_request_that_bounds_its_answer_is_expected_to_keep_to_it(tmp_path: Path) -> None:
    client = Client(lambda number: Told(Outcome.STORED, 90 if number == 0 else 6))

    def bounded(question: Question) -> Entry:
        return read(question)._replace(body=BOUNDED)

    tally, _ = warm(client, tmp_path, 3, Bounds(1, None, 110), bounded)
    assert (tally.asked, tally.tokens) == (3, 102)


def test_an_error_that_concerns_all_ends_it(tmp_path: Path) -> None:
    def answer(number: int) -> Told:
        if number == 2:
            raise StopError("the key")
        return Told(Outcome.STORED, 1)

    client = Client(answer)
    tally, state = warm(client, tmp_path, 9)
    assert (tally.stored, tally.ended_by, client.asked) == (2, "the key", [0, 1, 2])
    assert len(state.done) == 2


def test_an_upstream_that_never_answers_ends_it(tmp_path: Path) -> None:
    client = Client(lambda number: Told(Outcome.FAILED))
    tally, _ = warm(client, tmp_path, 20)
    assert (tally.failed, "does not answer" in tally.ended_by) == (FAILURES_IN_A_ROW, True)


def test_a_line_that_has_changed_since_fails_alone(tmp_path: Path) -> None:
    def changed(question: Question) -> Entry:
        if question.key == b"1":
            raise LineError("no")
        return read(question)

    client = Client(lambda number: Told(Outcome.STORED, 1))
    tally, _ = warm(client, tmp_path, 3, read=changed)
    assert (tally.stored, tally.failed, client.asked) == (2, 1, [0, 2])


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    def interrupted(question: Question) -> Entry:
        if question.key == b"3":
            raise KeyboardInterrupt
        return read(question)

    def answer(number: int) -> Told:
        if number == 2:
            client._stop.wait(5)
            raise StoppedError
        return Told(Outcome.STORED, 1)

    client = Client(answer)
    tally, state = warm(client, tmp_path, 9, Bounds(2, None, None), interrupted)
    assert (tally.stored, tally.ended_by) == (2, "interrupted")
    assert len(state.done) == 2


def test_a_mistake_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        warm(Client(lambda number: Told(Outcome.HIT, 1 // number)), tmp_path, 2)


def test_what_cannot_be_written_down_ends_it(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    client = Client(lambda number: Told(Outcome.STORED, 1))
    warming = Warming(
        client=client, read=read, state=state, bounds=FREE, on_progress=lambda tally: None
    )
    state.close(is_complete=False)
    warming.run(questions(3))
    assert "Bad file descriptor" in warming.tally.ended_by
    assert client.asked == [0]
