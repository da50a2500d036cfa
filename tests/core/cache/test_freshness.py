import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.freshness import age, freshness_lifetime, is_ending, made_at, remaining
from proxy.core.policy import Policy
from tests.core.values import NOW, stored_response

chances = st.floats(0, 1, exclude_max=True)
seconds = st.floats(0, 1e9)


@given(seconds, st.floats(0, 1), chances)
def test_jitter_spreads_to_both_sides_within_its_bounds(
    ttl: float, jitter: float, chance: float
) -> None:
    lifetime = freshness_lifetime(Policy(ttl=ttl, ttl_jitter=jitter), None, chance)
    assert ttl * (1 - jitter) <= lifetime <= ttl * (1 + jitter)
    assert lifetime >= 0


@pytest.mark.parametrize(("chance", "lifetime"), [(0.0, 90), (0.5, 100), (0.75, 105)])
def test_jitter_is_even(chance: float, lifetime: float) -> None:
    policy = Policy(ttl=100, ttl_jitter=0.1)
    assert freshness_lifetime(policy, None, chance) == pytest.approx(lifetime)


@given(seconds, chances)
def test_the_client_can_only_shorten_a_lifetime(asked: float, chance: float) -> None:
    policy = Policy(ttl=3600, ttl_jitter=0.1)
    lifetime = freshness_lifetime(policy, asked, chance)
    assert lifetime <= asked
    assert lifetime <= freshness_lifetime(policy, None, chance)


@pytest.mark.parametrize(
    ("elapsed", "expected"), [(0, 0), (0.25, 0.25), (90, 90), (-5, 0), (-1e9, 0)]
)
def test_age_is_never_negative_whatever_the_clock_did(elapsed: float, expected: float) -> None:
    assert age(stored_response(), NOW + elapsed) == expected


@pytest.mark.parametrize(
    ("ttl", "policy_ttl", "elapsed", "left"),
    [
        (100, 3600, 40, 60),
        (100, 3600, 100, 0),
        (100, 3600, 130, -30),
        (100, 3600, -50, 100),
        (100, 10, 4, 7),
        (100, 10, 40, -29),
        (0, 3600, 0, 0),
        (100, 0, 0, 0),
    ],
)
def test_a_policy_that_became_shorter_holds_for_what_is_stored(
    ttl: float, policy_ttl: float, elapsed: float, left: float
) -> None:
    policy = Policy(ttl=policy_ttl, ttl_jitter=0.1)
    assert remaining(stored_response(ttl=ttl), policy, NOW + elapsed) == pytest.approx(left)


@given(seconds, chances)
def test_a_lifetime_that_was_just_given_is_what_remains(ttl: float, chance: float) -> None:
    policy = Policy(ttl=ttl, ttl_jitter=0.1)
    lifetime = freshness_lifetime(policy, None, chance)
    assert remaining(stored_response(ttl=lifetime), policy, NOW) == lifetime


@pytest.mark.parametrize(
    ("share", "ttl", "elapsed", "expected"),
    [
        (0.1, 100, 89, False),
        (0.1, 100, 91, True),
        (0.0, 100, 99, False),
        (0.1, 50, 44, False),
        (0.1, 50, 46, True),
    ],
)
def test_the_end_of_a_lifetime_is_a_share_of_it(
    share: float, ttl: float, elapsed: float, expected: bool
) -> None:
    policy = Policy(ttl=ttl, ttl_jitter=0, refresh_ahead=share)
    assert is_ending(stored_response(ttl=100.0), policy, NOW + elapsed) is expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (None, 1010.0),
        (b"0", 1000.0),
        (b"60", 940.0),
        (b" 60 ", 940.0),
        (b"60, 70", 940.0),
        (b"", 1010.0),
        (b"-1", 1010.0),
        (b"1.5", 1010.0),
        (b"9" * 30, 1000.0 - 2**31),
    ],
)
def test_an_answer_is_as_old_as_its_age_and_its_way_say(
    told: bytes | None, expected: float
) -> None:
    values = {} if told is None else {b"age": told}
    assert made_at(values, began=1000.0, ended=1010.0) == expected


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 100)), min_size=1, max_size=5))
def test_age_adds_up_along_a_chain(hops: list[tuple[int, int]]) -> None:
    """Each cache keeps the answer for a while and hands it on, which takes a moment."""
    now, told, truth = 1e9, None, 1e9
    for kept, way in hops:
        began, now = now, now + way
        created = made_at({} if told is None else {b"age": told}, began=began, ended=now)
        truth = now if told is None else truth  # it was whole when the first had it
        assert created <= truth
        now += kept
        told = b"%d" % age(stored_response(created=created), now)
