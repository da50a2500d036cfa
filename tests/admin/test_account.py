"""What would happen to a request, as the operator is told of it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from proxy.admin.account import account
from proxy.core.cache.outcome import Hit, Miss, MissReason, Outcome, Stale
from proxy.core.classify import Bypass, BypassReason
from proxy.core.exchange import Fwd, Level
from proxy.core.meaning.gate import Candidate, Finding, Reason
from proxy.core.meaning.text import Objection, Text
from proxy.core.policy import Policy
from proxy.pipeline.explain import Account, Elsewhere, Explained, Near
from tests.core.values import NOW, stored_response
from tests.pipeline.plans import POOL, plan

ASKED = plan("Is it 5 km?")
STORED = stored_response(key=ASKED.key.exact, created=NOW - 30)
OTHER = stored_response(key=b"o" * 32, model="m2", created=NOW - 60)
FINDING = Finding(
    Candidate(OTHER.key, 0.98765, Text("Is it 5 miles?")),
    (Objection("numbers", "5 miles", "5 km"),),
    0.123456,
    0.9,
    Reason.GUARD,
)
MISSED = Account(
    plan=ASKED,
    outcome=Miss(MissReason.ABSENT),
    stored=None,
    left=0.0,
    encoder="e",
    refusal="",
    nearest=(Near(OTHER, FINDING, is_negative=False, left=40.0),),
    elsewhere=(Elsewhere(OTHER, 0.55558, "settings"),),
)


def tell(explained: Explained, *, tells_content: bool = True) -> Any:
    """The account, which must be JSON."""

    def question_of(key: bytes) -> str | None:
        return "Where?" if tells_content else None

    told = account(explained, NOW, questions=question_of, tells_content=tells_content)
    assert json.loads(json.dumps(told)) == told
    return told


def test_a_bypass_tells_its_reason() -> None:
    told = tell(Bypass(BypassReason.NO_STORE, Fwd.REQUEST, Policy(), POOL, "chat", "m1"))
    assert told == {
        "outcome": "bypass",
        "reason": "no-store",
        "operation": "chat",
        "model": "m1",
        "upstream": "u",
    }


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Miss(MissReason.STALE), {"outcome": "miss", "reason": "stale", "level": None}),
        (Stale(STORED, refresh=True), {"outcome": "stale", "entry": STORED.id}),
        (Hit(STORED), {"outcome": "hit", "level": "exact", "entry": STORED.id}),
        (
            Hit(OTHER, Level.SEMANTIC, 0.98765, 40.5),
            {"level": "semantic", "similarity": 0.9877, "ttl": 40, "entry": OTHER.id},
        ),
        (Hit(OTHER, Level.ALIAS, 0.5, 9.0), {"level": "alias", "similarity": 0.5, "ttl": 9}),
    ],
)
def test_the_outcome_tells_what_would_be_given(outcome: Outcome, expected: dict[str, Any]) -> None:
    told = tell(replace(MISSED, outcome=outcome))
    assert told | expected == told


def test_of_each_part_of_the_key_only_the_beginning_is_told() -> None:
    told = tell(MISSED)["key"]
    assert list(told) == ["scope", "settings", "history", "exact"]
    assert told["exact"] == ASKED.key.exact[:10].hex()


def test_what_is_stored_under_the_key_is_told() -> None:
    told = tell(replace(MISSED, stored=STORED, left=-5.5))
    assert told["stored"] == {"entry": STORED.id, "age": 30, "ttl": -5}


def test_a_near_answer_tells_what_each_part_of_the_gate_says() -> None:
    told = tell(MISSED)["meaning"]
    assert (told["encoder"], told["reason"], told["threshold"]) == ("e", "guard", 0.9)
    assert told["nearest"] == [
        {
            "entry": OTHER.id,
            "age": 60,
            "ttl": 40,
            "may_serve": False,
            "similarity": 0.9877,
            "probability": 0.1235,
            "threshold": 0.9,
            "reason": "guard",
            "negative": False,
            "guards": [{"guard": "numbers", "stored": "5 miles", "asked": "5 km"}],
            "question": "Is it 5 miles?",
        }
    ]


def test_a_pair_told_to_be_wrong_says_so_whatever_the_gate_says() -> None:
    finding = FINDING._replace(objections=(), reason=Reason.NONE)
    near = Near(OTHER, finding, is_negative=True, left=40.0)
    told = tell(replace(MISSED, nearest=(near,)))["meaning"]
    assert told["reason"] == told["nearest"][0]["reason"] == "feedback"
    assert (told["nearest"][0]["negative"], told["nearest"][0]["may_serve"]) == (True, False)


def test_an_answer_elsewhere_tells_whose_it_is() -> None:
    (told,) = tell(MISSED)["meaning"]["elsewhere"]
    assert told == {
        "entry": OTHER.id,
        "age": 60,
        "ttl": 40,
        "model": "m2",
        "tenant": "747474747474",
        "similarity": 0.5556,
        "differs": "settings",
        "question": "Where?",
    }


def test_without_content_a_guard_tells_its_name_alone() -> None:
    told = tell(MISSED, tells_content=False)
    assert told["meaning"]["nearest"][0]["guards"] == [{"guard": "numbers"}]
    assert not any(word in json.dumps(told) for word in ("question", "miles", "km", "Where"))


def test_what_is_not_compared_has_nothing_near() -> None:
    told = tell(replace(MISSED, encoder="", refusal="seed", nearest=(), elsewhere=()))
    assert told["meaning"] == {
        "encoder": "",
        "reason": "seed",
        "threshold": None,
        "nearest": [],
        "elsewhere": [],
    }
