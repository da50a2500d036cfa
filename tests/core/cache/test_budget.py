"""Calls a minute, tokens an hour."""

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.budget import Budget


def test_calls_are_bounded_in_any_minute() -> None:
    budget = Budget(per_minute=2, tokens_per_hour=100)
    assert [budget.take(now, 1) for now in (0, 30, 59, 60, 61, 89, 90)] == [
        *(True, True, False),
        *(True, False, False, True),
    ]


def test_tokens_are_bounded_in_an_hour() -> None:
    budget = Budget(per_minute=100, tokens_per_hour=100)
    assert budget.take(0, 60)
    assert not budget.take(1, 41)
    assert budget.take(120, 40)
    assert not budget.take(3540, 1)
    assert budget.take(3600, 60)
    assert not budget.take(3610, 1)


def test_what_a_call_took_corrects_what_was_expected() -> None:
    budget = Budget(per_minute=100, tokens_per_hour=100)
    budget.take(0, 60)
    budget.correct(10, -50)
    assert budget.spent(10) == 10
    assert budget.take(10, 90)
    budget.correct(70, 500)
    assert not budget.take(3599, 0)


def test_bounds_of_a_reload_hold_at_once() -> None:
    budget = Budget(per_minute=0, tokens_per_hour=0)
    assert not budget.take(0, 0)
    budget.per_minute, budget.tokens_per_hour = 1, 5
    assert budget.take(0, 5)


@given(st.lists(st.tuples(st.floats(0, 400), st.integers(0, 50)), max_size=60))
def test_no_hour_gets_more_than_its_tokens(calls: list[tuple[float, int]]) -> None:
    budget, now, taken = Budget(per_minute=3, tokens_per_hour=200), 0.0, list[tuple[float, int]]()
    for pause, tokens in calls:
        now += pause
        if budget.take(now, tokens):
            taken.append((now, tokens))
    for end, _ in taken:
        assert sum(count for at, count in taken if end - 3540 < at <= end) <= 200
        assert sum(1 for at, _ in taken if end - 60 < at <= end) <= 3
