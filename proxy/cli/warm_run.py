"""Asks question after question within bounds, and writes down what is done (mission E1)."""

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import NamedTuple

from proxy.cli.warm_client import Outcome, StopError, StoppedError, Told, WarmClient
from proxy.cli.warm_groups import Question
from proxy.cli.warm_input import Entry, LineError, expected_tokens
from proxy.cli.warm_state import Done, State

CAP = "the cap of --max-tokens"
FAILURES_IN_A_ROW = 5
"""After so many there is no point in going on."""
_DONE = frozenset({Outcome.HIT, Outcome.STORED, Outcome.UNSTORED, Outcome.REFUSED})


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be asked."""

    concurrency: int
    rate: float | None
    """Questions a minute that the upstream has to answer."""
    max_tokens: int | None
    """Of this and all earlier runs of the same state."""


@dataclass(slots=True)
class Tally:
    """What has come of it so far."""

    asked: int = 0
    """Answered by the upstream, for this run."""
    hits: int = 0
    stored: int = 0
    failed: int = 0
    """No answer, or one that may not be stored."""
    tokens: int = 0
    ended_by: str = ""
    """Why it ended before all was asked; empty if all was."""

    def add(self, told: Told) -> None:
        """Count one question."""
        self.hits += told.outcome is Outcome.HIT
        self.asked += told.outcome in (Outcome.STORED, Outcome.UNSTORED)
        self.stored += told.outcome is Outcome.STORED
        unserved = (Outcome.UNSTORED, Outcome.REFUSED, Outcome.FAILED)
        self.failed += told.outcome in unserved
        self.tokens += told.tokens


class _Pending(NamedTuple):
    """A question under way."""

    question: Question
    tokens: int
    """What it is expected to take."""
    guess: int
    """What it is taken to have taken where the upstream does not tell."""


class Warming:
    """One run. `tally` may be looked at while it goes on."""

    def __init__(
        self,
        *,
        client: WarmClient,
        read: Callable[[Question], Entry],
        state: State,
        bounds: Bounds,
        on_progress: Callable[[Tally], None],
    ) -> None:
        """`read` gives the request of a question, or raises LineError or OSError."""
        self.tally = Tally()
        self._client = client
        self._read = read
        self._state = state
        self._bounds = bounds
        self._on_progress = on_progress
        self._pending: dict[Future[Told], _Pending] = {}
        self._spent = state.tokens
        self._longest_answer = state.longest
        self._next_at = 0.0
        self._failures = 0

    def run(self, questions: Sequence[Question]) -> None:
        """Ask all, in order. Ends early at a bound, by an error that concerns all, or by Ctrl-C."""
        with ThreadPoolExecutor(self._bounds.concurrency) as pool:
            try:
                for question in questions:
                    if not self._begin(pool, question):
                        break
                while self._pending:
                    self._take_in(None)
            except StopError as error:
                self.tally.ended_by = str(error)
            except KeyboardInterrupt:
                self.tally.ended_by = "interrupted"
            except OSError as error:
                self.tally.ended_by = f"{self._state.path}: {error.strerror}"
            finally:
                self._client.stop()
                pool.shutdown(cancel_futures=True)
                with contextlib.suppress(OSError):  # told already
                    self._take_in_last()

    def _begin(self, pool: ThreadPoolExecutor, question: Question) -> bool:
        """Ask as soon as there is room; False where a bound is reached."""
        while len(self._pending) >= self._bounds.concurrency:
            self._take_in(None)
        while (pause := self._next_at - time.monotonic()) > 0:
            self._take_in(pause)
        try:
            entry = self._read(question)
        except LineError:
            self._count(question, Told(Outcome.FAILED))
            return True
        tokens = self._expected(entry)
        while not self._fits(tokens):
            if not self._pending:
                self.tally.ended_by = CAP
                return False
            self._take_in(None)
            tokens = self._expected(entry)
        if self._bounds.rate is not None:
            self._next_at = max(self._next_at, time.monotonic()) + 60 / self._bounds.rate
        pending = _Pending(question, tokens, sum(expected_tokens(entry)))
        self._pending[pool.submit(self._client.ask, entry)] = pending
        return True

    def _expected(self, entry: Entry) -> int:
        # The longest answer so far is what the next one may be, unless its request bounds it.
        asked, answered = expected_tokens(entry)
        if self._longest_answer is None:
            return asked
        return max(asked, min(self._longest_answer, asked + answered))

    def _fits(self, tokens: int) -> bool:
        if self._bounds.max_tokens is None:
            return True
        if self._pending and self._longest_answer is None:
            return False  # nothing is known yet: one at a time
        expected = sum(pending.tokens for pending in self._pending.values())
        return self._spent + expected + tokens <= self._bounds.max_tokens

    def _take_in(self, seconds: float | None) -> None:
        """Wait for answers, `seconds` at most, and write them down."""
        if not self._pending:
            time.sleep(seconds or 0.0)
            return
        done, _ = wait(self._pending, timeout=seconds, return_when=FIRST_COMPLETED)
        for future in done:
            pending = self._pending.pop(future)
            self._count(pending.question, _guessed(future.result(), pending.guess))
        if self._failures >= FAILURES_IN_A_ROW:
            raise StopError("the upstream does not answer; see the proxy's log")

    def _take_in_last(self) -> None:
        """Write down what came while it was being ended."""
        for future, pending in self._pending.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._count(pending.question, _guessed(future.result(), pending.guess))
            elif future.done() and not future.cancelled():
                error = future.exception()
                if not isinstance(error, StopError | StoppedError):
                    raise error or AssertionError
        self._pending.clear()

    def _count(self, question: Question, told: Told) -> None:
        self.tally.add(told)
        self._spent += told.tokens
        if told.outcome is Outcome.HIT and self._bounds.rate is not None:
            self._next_at -= 60 / self._bounds.rate  # it cost the upstream nothing
        if told.tokens:
            self._longest_answer = max(self._longest_answer or 0, told.tokens)
        self._failures = self._failures + 1 if told.outcome is Outcome.FAILED else 0
        if told.outcome in _DONE:
            self._state.note(question.key, Done(told.outcome, told.tokens))
        self._on_progress(self.tally)


def _guessed(told: Told, guess: int) -> Told:
    # An upstream without usage shall not make the cap void.
    is_answered = told.outcome in (Outcome.STORED, Outcome.UNSTORED)
    return told._replace(tokens=guess) if is_answered and not told.tokens else told
