"""Plans of requests that hit are remembered, for as long as they are right."""

import pytest

from proxy.core.classify import Bypass, Lookup, Plan
from proxy.core.policy import Match, Policy, Route, Rules, ScopeKind
from proxy.pipeline import plans
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.plans import MEMO_BODY_BYTES, MEMO_HEAD_BYTES, MEMO_PLAN_BYTES, Plans
from tests.conftest import StartProxy
from tests.core.values import OPERATIONS, SECRET, question, request
from tests.fakes import client
from tests.pipeline.plans import POOL


def plans_of(policy: Policy | None = None, *routes: Route) -> tuple[Plans, Aliases]:
    """Plans by some rules, and the aliases that they go by."""
    aliases = Aliases()
    rules = Rules(1, (POOL,), policy or Policy(), routes)
    return Plans(rules=rules, operations=OPERATIONS, secret=SECRET, aliases=aliases), aliases


def hit(some: Plans, text: str = "Q", *fields: tuple[str, str]) -> bytes:
    """Let a request hit; what its plan is remembered under."""
    plan, fingerprint = some.find(request(question(text), *fields))
    assert isinstance(plan, Lookup)
    some.remember(fingerprint, plan)
    return fingerprint


def is_remembered(plan: Plan) -> bool:
    assert isinstance(plan, Lookup)
    return plan.is_remembered


def test_the_plan_of_a_hit_is_remembered_without_its_text() -> None:
    some, _ = plans_of()
    asked = request(question("Q"))
    first, _ = some.find(asked)
    assert not is_remembered(first)
    fingerprint = hit(some)
    again, same = some.find(asked)
    assert isinstance(first, Lookup)
    assert isinstance(again, Lookup)
    assert is_remembered(again)
    assert (again.text, again.key, same) == ("", first.key, fingerprint)
    whole = some.make(asked)
    assert whole == first


@pytest.mark.parametrize(
    "field", [("Authorization", "Bearer b"), ("Cache-Control", "no-cache"), ("x-app", "a")]
)
def test_what_decides_tells_requests_apart(field: tuple[str, str]) -> None:
    routes = (Route(Match(header="x-app", header_value="a"), Policy()),)
    some, _ = plans_of(None, *routes)
    hit(some)
    plan, _ = some.find(request(question("Q"), field))
    assert not is_remembered(plan)


def test_a_header_that_is_the_scope_decides_too() -> None:
    some, _ = plans_of(Policy(scope=ScopeKind.HEADER, scope_header="x-team"))
    hit(some, "Q", ("x-team", "a"))
    for team, known in (("a", True), ("b", False)):
        assert is_remembered(some.find(request(question("Q"), ("x-team", team)))[0]) is known


def test_any_other_field_does_not() -> None:
    some, _ = plans_of()
    fingerprint = hit(some)
    assert some.find(request(question("Q"), ("x-request-id", "7")))[1] == fingerprint


def test_all_is_planned_anew_when_a_conversation_may_be_no_more() -> None:
    some, aliases = plans_of()
    hit(some)
    aliases.put(b"a" * 32, Alias(b"t" * 32, 0.9, b"q" * 16, b"w" * 16))
    aliases.pop(b"a" * 32)
    plan, _ = some.find(request(question("Q")))
    assert not is_remembered(plan)


def test_what_is_long_is_not_remembered() -> None:
    some, _ = plans_of()
    plan, fingerprint = some.find(request(question("x" * MEMO_BODY_BYTES)))
    assert fingerprint == b""
    assert isinstance(plan, Lookup)
    some.remember(fingerprint, plan)
    long = request(question("Q", model="m" * MEMO_PLAN_BYTES + "m"))
    for _ in range(2):
        plan, fingerprint = some.find(long)
        assert not is_remembered(plan)
        assert isinstance(plan, Lookup)
        some.remember(fingerprint, plan)
    assert len(some._heads) == 1
    some.find(request(question("Q"), ("Authorization", "x" * MEMO_HEAD_BYTES)))
    assert len(some._heads) == 1


def test_what_goes_straight_to_the_upstream_is_planned_each_time() -> None:
    some, _ = plans_of()
    plan, fingerprint = some.find(request(question("Q"), ("Cache-Control", "no-store")))
    assert isinstance(plan, Bypass)
    assert fingerprint


async def test_more_questions_than_are_remembered_still_hit(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MEMO_ENTRIES", 3)
    async with proxy() as app:
        for round_ in range(3):
            for number in range(10):
                answer = await client.ask(
                    app.url, client.question(f"Q{number}"), fields=[("Origin", f"o{number}")]
                )
                assert (answer.text, answer.is_hit) == (f"answer {number + 1}", round_ > 0)
