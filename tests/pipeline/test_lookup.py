"""Is there a stored response that may be served?"""

from proxy.core.cache.outcome import Hit, Miss, MissReason, Stale
from proxy.core.policy import Policy
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.lookup import lookup
from proxy.store.memory import MemoryStore
from tests.core.values import NOW, stored_response
from tests.pipeline.plans import plan


def memory() -> MemoryStore:
    return MemoryStore(max_bytes=1 << 20, max_entries=100, max_entry_bytes=1 << 20)


def test_nothing_stored_is_a_miss() -> None:
    outcome = lookup(plan(), memory(), Acceptance(), NOW)
    assert outcome == Miss(MissReason.ABSENT)


def test_what_is_fresh_is_a_hit() -> None:
    store = memory()
    stored = stored_response(key=plan().key.exact)
    store.put(stored)
    assert lookup(plan(), store, Acceptance(), NOW + 99) == Hit(stored)
    assert lookup(plan("other"), store, Acceptance(), NOW) == Miss(MissReason.ABSENT)


def test_what_is_stale_is_judged_by_the_policy() -> None:
    policy = Policy(stale_while_revalidate=10, stale_if_error=20)
    asked = plan(policy=policy)
    store = memory()
    stored = stored_response(key=asked.key.exact)
    store.put(stored)
    assert lookup(asked, store, Acceptance(), NOW + 105) == Stale(stored, refresh=True)
    assert lookup(asked, store, Acceptance(), NOW + 115) == Miss(MissReason.STALE, stored)
    assert lookup(asked, store, Acceptance(), NOW + 125) == Miss(MissReason.STALE)


def test_a_refused_caller_gets_nothing_not_even_a_fallback() -> None:
    store, acceptance = memory(), Acceptance()
    store.put(stored_response(key=plan().key.exact))
    acceptance.learn(plan().caller, 200)
    acceptance.learn(plan().caller, 401)
    for now in (NOW, NOW + 105):
        assert lookup(plan(), store, acceptance, now) == Miss(MissReason.CREDENTIAL)
