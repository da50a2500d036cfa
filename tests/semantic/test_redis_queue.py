"""What waits for Redis: order, the last word on a key, and bounds."""

from proxy.semantic.redis_commands import Add, Discard, Prolong
from proxy.semantic.redis_queue import Waiting

P = b"p" * 32


def add(number: int, until: float = 1.0, *, is_offer: bool = False) -> Add:
    return Add(P, b"%d" % number, b"v", until, is_offer)


def test_the_oldest_come_first() -> None:
    waiting = Waiting(10)
    for number in range(3):
        waiting.put(add(number))
    assert waiting.take(2) == [add(0), add(1)]
    assert len(waiting) == 3
    waiting.done()
    assert waiting.take(2) == [add(2)]
    waiting.done()
    assert len(waiting) == 0


def test_the_last_word_on_a_key_counts() -> None:
    waiting = Waiting(10)
    waiting.put(add(1))
    waiting.put(Prolong(P, b"1", 5.0))
    assert waiting.take(9) == [add(1, 5.0)]
    waiting.done()
    waiting.put(Prolong(P, b"1", 6.0))
    waiting.put(Discard(P, b"1"))
    assert waiting.is_discarded(b"1")
    waiting.put(Prolong(P, b"1", 7.0))
    assert waiting.take(9) == [Discard(P, b"1")]
    assert waiting.is_discarded(b"1")
    waiting.put(add(1))
    assert not waiting.is_discarded(b"1")


def test_an_offer_does_not_take_the_place_of_what_is_new() -> None:
    waiting = Waiting(10)
    waiting.put(add(1, 1.0))
    waiting.put(add(1, 2.0, is_offer=True))
    assert waiting.take(9) == [add(1, 1.0)]
    waiting.done()
    waiting.put(Discard(P, b"1"))
    waiting.put(add(1, 2.0, is_offer=True))
    assert waiting.take(9) == [add(1, 2.0, is_offer=True)]


def test_what_failed_waits_again_in_its_order_but_for_what_has_changed() -> None:
    waiting = Waiting(10)
    for number in range(4):
        waiting.put(add(number))
    waiting.take(3)
    waiting.put(Discard(P, b"1"))
    waiting.put_back()
    assert waiting.take(9) == [add(0), add(2), add(3), Discard(P, b"1")]


def test_over_the_bound_the_oldest_are_left_out() -> None:
    waiting = Waiting(2)
    for number in range(3):
        waiting.put(add(number))
    assert waiting.left_out == 1
    assert waiting.take(2) == [add(1), add(2)]
    waiting.put(add(3))
    waiting.put_back()
    assert (waiting.left_out, len(waiting)) == (2, 2)
    waiting.take(2)
    waiting.leave_out()
    assert (waiting.left_out, len(waiting)) == (4, 0)


def test_an_offer_drives_nothing_out() -> None:
    waiting = Waiting(1)
    waiting.put(add(1))
    waiting.put(add(2, is_offer=True))
    assert (waiting.take(9), waiting.left_out) == ([add(1)], 1)
