"""Plans of look-ups, as core/classify.py makes them."""

from typing import Any

from proxy.core.cache.thread import NO_THREADS, Threads
from proxy.core.classify import Lookup, classify
from proxy.core.policy import Policy, Pool, Rules
from tests.core.values import OPERATIONS, SECRET, question, request

POOL = Pool("u", "http://127.0.0.1:9")


def plan(
    text: str = "Q",
    *fields: tuple[str, str],
    policy: Policy | None = None,
    threads: Threads = NO_THREADS,
    **members: Any,
) -> Lookup:
    """The plan of a chat question; members override those of its body."""
    rules = Rules(1, (POOL,), policy or Policy())
    asked = request(question(text, **members), *fields)
    found = classify(asked, rules, OPERATIONS, SECRET, threads)
    assert isinstance(found, Lookup), found
    return found
