"""Plans of look-ups, as core/classify.py makes them."""

from typing import Any

from proxy.core.classify import Lookup, classify
from proxy.core.policy import Policy, Pool, Rules
from tests.core.values import OPERATIONS, SECRET, question, request

POOL = Pool("u", "http://127.0.0.1:9")


def plan(
    text: str = "Q", *fields: tuple[str, str], policy: Policy | None = None, **members: Any
) -> Lookup:
    """The plan of a chat question; members override those of its body."""
    rules = Rules(1, (POOL,), policy or Policy())
    found = classify(request(question(text, **members), *fields), rules, OPERATIONS, SECRET)
    assert isinstance(found, Lookup), found
    return found
