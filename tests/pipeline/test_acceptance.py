"""Callers that the upstream refuses."""

import pytest

from proxy.core.cache.change import Barred
from proxy.pipeline import acceptance as module
from proxy.pipeline.acceptance import Acceptance
from tests.fakes.clock import FakeClock

A = b"a" * 32
B = b"b" * 32


@pytest.mark.parametrize(
    ("statuses", "is_refused"),
    [
        ([], False),
        ([200], False),
        ([401], False),
        ([200, 401], True),
        ([200, 403], True),
        ([201, 401], True),
        ([200, 401, 200], False),
        ([200, 401, 204, 403], True),
        ([200, 400, 404, 429, 500, 307], False),
        ([200, 401, 500, 429, 404], True),
        ([401, 403, 500], False),
        ([500, 401], False),
    ],
)
def test_the_last_word_on_an_accepted_caller_counts(
    statuses: list[int], *, is_refused: bool
) -> None:
    acceptance = Acceptance(FakeClock())
    for status in statuses:
        acceptance.learn(A, status)
    assert acceptance.is_refused(A) is is_refused
    assert acceptance.is_refused(B) is False


def test_callers_are_bounded_and_a_forgotten_one_must_be_accepted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CALLERS", 2)
    acceptance = Acceptance(FakeClock())
    acceptance.learn(A, 200)
    acceptance.learn(A, 401)
    for number in range(2):
        acceptance.learn(b"%d" % number, 200)
    assert acceptance.is_refused(A)
    assert acceptance.is_refused(B)
    assert not acceptance.is_refused(b"1")
    acceptance.learn(A, 200)
    assert not acceptance.is_refused(A)
    acceptance.learn(B, 403)
    assert acceptance.is_refused(B)


def test_only_changes_of_mind_are_told() -> None:
    told: list[Barred] = []
    clock = FakeClock()
    acceptance = Acceptance(clock, told.append)
    for status in (200, 200, 401, 403, 500, 200, 200):
        acceptance.learn(A, status)
        clock.advance(1.0)
    now = FakeClock().now()
    assert told == [Barred(A, True, now + 2), Barred(A, False, now + 5)]


def test_what_was_told_holds_elsewhere_and_the_last_word_counts() -> None:
    acceptance = Acceptance(FakeClock())
    refused = Barred(A, True, 5.0)
    for told in (refused, Barred(A, False, 4.0), refused):
        acceptance.take_in(told)
    assert acceptance.is_refused(A)
    assert acceptance.barred() == [refused]
    acceptance.take_in(Barred(A, False, 6.0))
    assert not acceptance.is_refused(A)
    acceptance.take_in(Barred(B, False, 6.0))
    assert acceptance.barred() == []


def test_with_a_past_the_refusal_of_an_unknown_caller_counts() -> None:
    acceptance = Acceptance(FakeClock())
    acceptance.has_past = True
    assert not acceptance.is_refused(A)
    acceptance.learn(A, 401)
    assert acceptance.is_refused(A)
