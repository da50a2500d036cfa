"""Purges hold for answers that come back after them."""

from proxy.core.cache.change import Purged
from proxy.core.cache.purges import MAX_PURGES, Effect, Purges
from proxy.core.cache.selector import Selector
from tests.core.values import NOW, stored_response


def test_what_was_stored_before_a_purge_is_gone_or_stale() -> None:
    purges = Purges()
    assert purges.effect(stored_response()) is Effect.NONE
    purges.add(Purged(Selector(model="m*"), soft=True, at=NOW))
    assert purges.effect(stored_response(created=NOW)) is Effect.STALE
    purges.add(Purged(Selector(tag="a"), soft=False, at=NOW))
    assert purges.effect(stored_response(created=NOW)) is Effect.STALE
    assert purges.effect(stored_response(created=NOW, tags=("a",))) is Effect.GONE


def test_what_is_stored_later_or_is_another_stays() -> None:
    purges = Purges()
    purges.add(Purged(Selector(model="m1"), soft=False, at=NOW))
    assert purges.effect(stored_response(created=NOW + 0.001)) is Effect.NONE
    assert purges.effect(stored_response(created=NOW, model="m2")) is Effect.NONE


def test_what_was_on_its_way_is_older_than_the_purge() -> None:
    purges = Purges()
    purges.add(Purged(Selector(), soft=False, at=NOW))
    assert purges.effect(stored_response(created=NOW + 5, duration=6.0)) is Effect.GONE
    assert purges.effect(stored_response(created=NOW + 5, duration=4.0)) is Effect.NONE


def test_a_purge_counts_once_and_the_latest_are_told() -> None:
    purges = Purges()
    first, second = (Purged(Selector(), soft=False, at=NOW + number) for number in range(2))
    assert purges.add(first)
    assert not purges.add(Purged(Selector(), soft=False, at=NOW))
    assert purges.add(second)
    assert (len(purges), purges.latest(1), purges.latest(5)) == (2, [second], [second, first])


def test_what_a_forgotten_purge_was_about_counts_as_gone() -> None:
    purges = Purges()
    for number in range(MAX_PURGES + 1):
        purges.add(Purged(Selector(tag="t"), soft=True, at=NOW + number))
    assert len(purges) == MAX_PURGES
    assert purges.effect(stored_response(created=NOW)) is Effect.GONE
    assert purges.effect(stored_response(created=NOW + 0.5)) is Effect.NONE
