"""Whoever comes for the second time is admitted."""

from proxy.pipeline.doorkeeper import Doorkeeper
from tests.core.cache.test_bloom import digest


def test_the_second_time_is_admitted() -> None:
    door = Doorkeeper(capacity=100)
    assert [door.admits(digest(1)) for _ in range(3)] == [False, True, True]
    assert not door.admits(digest(2))


def test_it_is_bounded_and_what_came_long_ago_is_new_again() -> None:
    door = Doorkeeper(capacity=100)
    door.admits(digest(0))
    for number in range(1, 150):
        door.admits(digest(number))
    assert door.admits(digest(60))
    for number in range(1000, 1300):
        door.admits(digest(number))
    assert sum(door.admits(digest(number)) for number in range(50)) <= 3
