"""Is there a stored response that may be served?"""

import re
from dataclasses import replace

import pytest

from proxy.core.cache.outcome import Hit, Miss, MissReason, Stale
from proxy.core.classify import Lookup
from proxy.core.exchange import Level
from proxy.core.meaning.outcome import Meant, NoMatch
from proxy.core.policy import Policy, SemanticRules
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.lookup import lookup
from proxy.store.memory import MemoryStore
from tests.core.values import NOW, stored_response
from tests.fakes.clock import FakeClock
from tests.pipeline.plans import plan

TARGET = b"T" * 32


def memory() -> MemoryStore:
    return MemoryStore(max_bytes=1 << 20, max_entries=100, max_entry_bytes=1 << 20)


def exactly(asked: Lookup, store: MemoryStore, now: float = NOW) -> Hit | Stale | Miss:
    """The outcome in a proxy that compares nothing."""
    return lookup(asked, store, Acceptance(FakeClock()), Aliases(), None, now)


def test_nothing_stored_is_a_miss() -> None:
    assert exactly(plan(), memory()) == Miss(MissReason.ABSENT)


def test_what_is_fresh_is_a_hit() -> None:
    store = memory()
    stored = stored_response(key=plan().key.exact)
    store.put(stored)
    assert exactly(plan(), store, NOW + 99) == Hit(stored)
    assert exactly(plan("other"), store) == Miss(MissReason.ABSENT)


def test_what_is_stale_is_judged_by_the_policy() -> None:
    policy = Policy(stale_while_revalidate=10, stale_if_error=20)
    asked = plan(policy=policy)
    store = memory()
    stored = stored_response(key=asked.key.exact)
    store.put(stored)
    assert exactly(asked, store, NOW + 105) == Stale(stored, refresh=True)
    assert exactly(asked, store, NOW + 115) == Miss(MissReason.STALE, stored)
    assert exactly(asked, store, NOW + 125) == Miss(MissReason.STALE)


def test_a_refused_caller_gets_nothing_not_even_a_fallback() -> None:
    store, acceptance = memory(), Acceptance(FakeClock())
    store.put(stored_response(key=plan().key.exact))
    acceptance.learn(plan().caller, 200)
    acceptance.learn(plan().caller, 401)
    for now in (NOW, NOW + 105):
        outcome = lookup(plan(), store, acceptance, Aliases(), None, now)
        assert outcome == Miss(MissReason.CREDENTIAL)


class FakeSemantic:
    """Fulfils proxy.ports.Semantic: nothing is near, and all may be found for a while."""

    def __init__(self, left: float = 50.0) -> None:
        self.left = left
        self.wrong: tuple[bytes, bytes] | None = None

    async def find(self, plan: Lookup) -> Meant:
        """Nothing."""
        return NoMatch("absent")

    def remaining(self, key: bytes, plan: Lookup, now: float) -> float:
        """As told."""
        assert key == TARGET
        return self.left

    def is_wrong(self, target: bytes, asked: bytes) -> bool:
        """As told."""
        return self.wrong == (target, asked)


class Answered:
    """A question, with similarity 0.9, was given what is stored for another one."""

    def __init__(self, asked: Lookup) -> None:
        self.store = memory()
        self.target = stored_response(key=TARGET)
        self.store.put(self.target)
        self.acceptance = Acceptance(FakeClock())
        self.semantic = FakeSemantic()
        self.aliases = Aliases()
        self.aliases.put(asked.key.exact, Alias(TARGET, 0.9, b"D", b""))

    def outcome(self, asked: Lookup) -> Hit | Stale | Miss:
        """Of asking it again."""
        return lookup(asked, self.store, self.acceptance, self.aliases, self.semantic, NOW)


def test_a_question_that_was_answered_by_meaning_is_answered_so_again() -> None:
    answered = Answered(plan())
    assert answered.outcome(plan()) == Hit(answered.target, Level.ALIAS, 0.9, 50.0)
    assert answered.outcome(plan("other")) == Miss(MissReason.ABSENT)


def test_what_was_stored_for_the_question_itself_comes_first() -> None:
    answered = Answered(plan())
    own = stored_response(key=plan().key.exact)
    answered.store.put(own)
    assert answered.outcome(plan()) == Hit(own)


def test_an_alias_ends_with_its_entry() -> None:
    answered = Answered(plan())
    answered.semantic.left = 0.0
    assert answered.outcome(plan()) == Miss(MissReason.ABSENT)
    answered.semantic.left = 50.0
    answered.store.delete(TARGET)
    assert answered.outcome(plan()) == Miss(MissReason.ABSENT)


@pytest.mark.parametrize(
    ("threshold", "is_hit"), [("0.9", True), ("0.5", True), ("0.91", False), ("1", False)]
)
def test_a_client_may_ask_for_more_than_the_similarity_it_had(
    threshold: str, *, is_hit: bool
) -> None:
    asked = plan("Q", ("x-cache-threshold", threshold))
    assert isinstance(Answered(asked).outcome(asked), Hit) is is_hit


@pytest.mark.parametrize(
    ("rules", "is_hit"),
    [
        (SemanticRules(min_similarity=0.9), True),
        (SemanticRules(min_similarity=0.95), False),
        (SemanticRules(enabled=False), False),
        (SemanticRules(max_temperature=-1.0), False),
        (SemanticRules(keywords=("Q",)), False),
        (SemanticRules(patterns=(re.compile("^Q$"),)), False),
    ],
)
def test_rules_that_a_reload_brought_hold_for_what_was_answered_before(
    rules: SemanticRules, *, is_hit: bool
) -> None:
    asked = plan(policy=Policy(semantic=rules))
    assert isinstance(Answered(asked).outcome(asked), Hit) is is_hit


def test_a_plan_without_its_text_is_answered_too() -> None:
    remembered = plan()._replace(text="", uncompared=None)
    assert remembered.is_remembered
    assert isinstance(Answered(remembered).outcome(remembered), Hit)


def test_a_client_that_wants_a_fresh_answer_gets_none_of_another_question() -> None:
    asked = plan("Q", ("Cache-Control", "no-cache"))
    assert Answered(asked).outcome(asked) == Miss(MissReason.ABSENT)


def test_a_caller_who_was_refused_gets_no_alias() -> None:
    answered = Answered(plan())
    for status in (200, 401):
        answered.acceptance.learn(plan().caller, status)
    assert answered.outcome(plan()) == Miss(MissReason.CREDENTIAL)


def test_a_stale_answer_of_its_own_is_not_replaced_by_another() -> None:
    asked = plan(policy=replace(Policy(), stale_while_revalidate=10.0))
    answered = Answered(asked)
    own = stored_response(key=asked.key.exact, created=NOW - 105)
    answered.store.put(own)
    assert answered.outcome(asked) == Stale(own, refresh=True)
