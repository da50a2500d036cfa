"""The refusals that are kept: bounded, the oldest go first. What is served is in e2e."""

import pytest

from proxy.core.cache.selector import Selector
from proxy.core.model import Response
from proxy.core.policy import Policy
from proxy.pipeline import refusals as module
from proxy.pipeline.refusals import Refusals
from tests.pipeline.plans import plan

POLICY = Policy(error_ttl=60.0)
BODY = b'{"error": {"message": "no such model"}}'
VALUES = {b"content-type": b"application/json"}


def note(refusals: Refusals, text: str, *, body: bytes = BODY, status: int = 400) -> None:
    """The upstream refuses a question."""
    refusals.note(
        plan(text, policy=POLICY),
        Response(status, b"No", b"", body, len(body)),
        VALUES,
        body,
        began=1000.0,
        ended=1001.0,
        purges=(),
    )


def is_there(refusals: Refusals, text: str) -> bool:
    """Whether a question's refusal is repeated."""
    return refusals.find(plan(text, policy=POLICY), 1002.0) is not None


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REFUSALS", 3)
    refusals = Refusals()
    for number in range(5):
        note(refusals, f"Q{number}")
    assert [number for number in range(5) if is_there(refusals, f"Q{number}")] == [2, 3, 4]


def test_their_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 4000)
    refusals = Refusals()
    for number in range(20):
        note(refusals, f"Q{number}")
        note(refusals, "Q0")
    assert 2 <= len(refusals) <= 8
    assert is_there(refusals, "Q0")
    count = len(refusals)
    assert refusals.purge(Selector(model="m*")) == count
    assert len(refusals) == 0


def test_what_is_said_instead_takes_it_out() -> None:
    refusals = Refusals()
    note(refusals, "Q")
    note(refusals, "Q", status=503)
    assert not is_there(refusals, "Q")
    note(refusals, "Q")
    refusals.discard(plan("Q", policy=POLICY))
    assert not is_there(refusals, "Q")
