"""Callers that the upstream refuses."""

import pytest

from proxy.pipeline import acceptance as module
from proxy.pipeline.acceptance import Acceptance

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
    acceptance = Acceptance()
    for status in statuses:
        acceptance.learn(A, status)
    assert acceptance.is_refused(A) is is_refused
    assert acceptance.is_refused(B) is False


def test_callers_are_bounded_and_a_forgotten_one_must_be_accepted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CALLERS", 2)
    acceptance = Acceptance()
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
