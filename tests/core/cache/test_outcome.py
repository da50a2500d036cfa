"""Hit, Stale or Miss, by every combination of age, policy and wishes."""

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from proxy.core.cache.directives import Directives
from proxy.core.cache.outcome import Hit, Miss, MissReason, Outcome, Stale, judge
from proxy.core.policy import Policy
from tests.core.values import NOW, stored_response

STORED = stored_response(ttl=100.0)
PLAIN = Directives()
Expected: TypeAlias = tuple[str, bool] | str


def told(outcome: Outcome) -> Expected:
    """The outcome in short: hit, stale (and whether refreshed), miss (and whether a fallback)."""
    match outcome:
        case Hit(stored):
            assert stored is STORED
            return "hit"
        case Stale(stored, refresh):
            assert stored is STORED
            return "stale", refresh
        case Miss(reason, fallback):
            assert fallback in (None, STORED)
            return f"miss {reason}", fallback is not None


def at(elapsed: float, wishes: Directives = PLAIN, policy: Policy | None = None) -> Expected:
    policy = policy or Policy(stale_while_revalidate=30, stale_if_error=600)
    return told(judge(STORED, wishes, policy, NOW + elapsed))


HIT = "hit"
AS_IT_IS, REFRESHED = ("stale", False), ("stale", True)
INSISTED = ("miss request", False)
STALE, GONE = ("miss stale", True), ("miss stale", False)


@pytest.mark.parametrize(
    ("elapsed", "expected"),
    [
        (-1000, HIT),
        (0, HIT),
        (99.9, HIT),
        (100, REFRESHED),
        (129.9, REFRESHED),
        (130, STALE),
        (699.9, STALE),
        (700, GONE),
        (1e9, GONE),
    ],
)
def test_without_wishes_the_policy_decides(elapsed: float, expected: Expected) -> None:
    assert at(elapsed) == expected


@pytest.mark.parametrize(
    ("wishes", "at_50", "at_110", "at_200", "at_900"),
    [
        (Directives(no_cache=True), INSISTED, INSISTED, INSISTED, INSISTED),
        (Directives(no_cache=True, max_stale=1e9), INSISTED, INSISTED, INSISTED, INSISTED),
        (Directives(max_age=0), INSISTED, GONE, GONE, GONE),
        (Directives(max_age=50), HIT, GONE, GONE, GONE),
        (Directives(max_age=49.9), INSISTED, GONE, GONE, GONE),
        (Directives(max_age=110), HIT, REFRESHED, GONE, GONE),
        (Directives(min_fresh=0), HIT, GONE, GONE, GONE),
        (Directives(min_fresh=50), HIT, GONE, GONE, GONE),
        (Directives(min_fresh=51), INSISTED, GONE, GONE, GONE),
        (Directives(min_fresh=float("inf")), INSISTED, GONE, GONE, GONE),
        (Directives(max_stale=0), HIT, REFRESHED, STALE, GONE),
        (Directives(max_stale=10), HIT, AS_IT_IS, STALE, GONE),
        (Directives(max_stale=100), HIT, AS_IT_IS, AS_IT_IS, GONE),
        (Directives(max_stale=float("inf")), HIT, AS_IT_IS, AS_IT_IS, AS_IT_IS),
        (Directives(max_stale=1000, max_age=150), HIT, AS_IT_IS, GONE, GONE),
        (Directives(max_stale=1000, min_fresh=10), HIT, GONE, GONE, GONE),
        (Directives(max_stale=1000, min_fresh=60), INSISTED, GONE, GONE, GONE),
        (Directives(only_if_cached=True, ttl=1, tags=("a",)), HIT, REFRESHED, STALE, GONE),
    ],
)
def test_the_client_can_tighten_and_accept_staleness(
    wishes: Directives, at_50: Expected, at_110: Expected, at_200: Expected, at_900: Expected
) -> None:
    assert [at(elapsed, wishes) for elapsed in (50, 110, 200, 900)] == [
        at_50,
        at_110,
        at_200,
        at_900,
    ]


def test_nothing_stored_is_a_miss() -> None:
    assert judge(None, Directives(no_cache=True), Policy(), NOW) == Miss(MissReason.ABSENT)


@pytest.mark.parametrize("elapsed", [0, -100])
def test_what_was_made_stale_is_not_served_though_no_time_has_passed(elapsed: float) -> None:
    purged = stored_response(ttl=0.0)
    outcome = judge(purged, PLAIN, Policy(stale_while_revalidate=0), NOW + elapsed)
    assert outcome == Miss(MissReason.STALE, fallback=purged)


def test_without_stale_if_error_there_is_no_fallback() -> None:
    assert at(100, policy=Policy(stale_if_error=0)) == GONE
    assert at(99, policy=Policy(stale_if_error=0)) == HIT


def test_a_shorter_policy_makes_stale_what_was_stored_before() -> None:
    assert at(50, policy=Policy(ttl=20, ttl_jitter=0)) == STALE


@dataclass(frozen=True)
class Case:
    """One place in the table of all combinations."""

    elapsed: float
    wishes: Directives
    policy: Policy


CASES = [
    Case(
        elapsed,
        Directives(no_cache=no_cache, max_age=max_age, min_fresh=min_fresh, max_stale=max_stale),
        Policy(stale_while_revalidate=while_revalidate, stale_if_error=if_error),
    )
    for elapsed, no_cache, max_age, min_fresh, max_stale, while_revalidate, if_error in (
        itertools.product(
            (-5, 0, 99, 100, 101, 150),
            (False, True),
            (None, 0, 100, 1000),
            (None, 0, 1, 1000),
            (None, 0, 1, float("inf")),
            (0, 1, 1000),
            (0, 1, 1000),
        )
    )
]


def test_no_combination_serves_what_the_client_or_the_policy_forbids() -> None:
    for case in CASES:
        wishes, age = case.wishes, max(0.0, case.elapsed)
        match judge(STORED, wishes, case.policy, NOW + case.elapsed):
            case Hit():
                assert age < 100, case
                assert 100 - age >= (wishes.min_fresh or 0), case
                assert wishes.max_age is None or age <= wishes.max_age, case
                assert not wishes.no_cache, case
            case Stale(refresh=refresh):
                allowed = case.policy.stale_while_revalidate if refresh else wishes.max_stale
                assert allowed is not None, case
                assert 0 <= age - 100 <= allowed, case
                assert wishes.max_age is None or age <= wishes.max_age, case
                assert wishes.min_fresh is None, case
                assert not wishes.no_cache, case
            case Miss(reason, fallback):
                is_fresh = age < 100
                assert (reason is MissReason.REQUEST) == (is_fresh or wishes.no_cache), case
                assert fallback is None or age - 100 < case.policy.stale_if_error, case
