"""What would happen to a request, as the operator is told of it."""

from collections.abc import Callable
from typing import Any, TypeAlias

from proxy.core.cache.freshness import age
from proxy.core.cache.outcome import Hit, Miss, Outcome, Stale
from proxy.core.cache.value import StoredResponse, tenant_name
from proxy.core.classify import Bypass
from proxy.core.exchange import Level
from proxy.pipeline.explain import Account, Elsewhere, Explained, Near

Json: TypeAlias = dict[str, Any]
Questions: TypeAlias = Callable[[bytes], str | None]
"""The question of an entry, by its exact key; None where that is not told."""

_SHOWN_BYTES = 10
"""Of each part of a key: as much as x-cache-entry tells. Keys stay private."""


def account(explained: Explained, now: float, *, questions: Questions, tells_content: bool) -> Json:
    """The account as JSON. Without `tells_content` it has no word of any question."""
    if isinstance(explained, Bypass):
        return {
            "outcome": "bypass",
            "reason": explained.reason,
            "operation": explained.operation,
            "model": explained.model,
            "upstream": explained.pool.name,
        }
    plan, stored = explained.plan, explained.stored
    return {
        **_outcome(explained.outcome, now),
        "operation": plan.operation.name,
        "model": plan.model,
        "upstream": plan.pool.name,
        "tenant": tenant_name(plan.tenant),
        "key": {
            name: getattr(plan.key, name)[:_SHOWN_BYTES].hex()
            for name in ("scope", "settings", "history", "exact")
        },
        "followed": len(plan.key.followed),
        "stored": None if stored is None else _entry(stored, explained.left, now),
        "meaning": _meaning(explained, now, questions, tells_content=tells_content),
    }


def _outcome(outcome: Outcome, now: float) -> Json:
    match outcome:
        case Hit(stored, level, similarity, left):
            told: Json = {"outcome": "hit", "level": level, "reason": "", "entry": stored.id}
            if level is not Level.EXACT:
                told |= {"similarity": _digits(similarity), "ttl": int(left or 0)}
            return told
        case Stale(stored):
            return {"outcome": "stale", "level": Level.EXACT, "reason": "", "entry": stored.id}
        case Miss(reason):
            return {"outcome": "miss", "level": None, "reason": reason, "entry": None}


def _meaning(explained: Account, now: float, questions: Questions, *, tells_content: bool) -> Json:
    nearest = explained.nearest
    return {
        "encoder": explained.encoder,
        "reason": explained.objection,
        "threshold": _digits(nearest[0].finding.threshold) if nearest else None,
        "nearest": [_near(near, now, tells_content=tells_content) for near in nearest],
        "elsewhere": [_elsewhere(other, now, questions) for other in explained.elsewhere],
    }


def _near(near: Near, now: float, *, tells_content: bool) -> Json:
    finding = near.finding
    told = {
        **_entry(near.stored, near.left, now),
        "may_serve": near.may_serve,
        "similarity": _digits(finding.candidate.similarity),
        "probability": _digits(finding.probability),
        "threshold": _digits(finding.threshold),
        "reason": "feedback" if near.is_negative else finding.reason,
        "negative": near.is_negative,
        "guards": [
            objection._asdict() if tells_content else {"guard": objection.guard}
            for objection in finding.objections
        ],
    }
    return told | ({"question": finding.candidate.text.original} if tells_content else {})


def _elsewhere(other: Elsewhere, now: float, questions: Questions) -> Json:
    stored = other.stored
    told = {
        **_entry(stored, stored.ttl - age(stored, now), now),
        "model": stored.model,
        "tenant": tenant_name(stored.tenant),
        "similarity": _digits(other.similarity),
        "differs": other.differs,
    }
    question = questions(stored.key)
    return told if question is None else {**told, "question": question}


def _entry(stored: StoredResponse, left: float, now: float) -> Json:
    return {"entry": stored.id, "age": int(age(stored, now)), "ttl": int(left)}


def _digits(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
