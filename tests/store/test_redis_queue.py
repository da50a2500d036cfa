"""What waits for Redis is bounded, and what takes an answer back is never lost."""

import asyncio

from proxy.core.cache.change import Change, Deleted, Purged, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.store.redis_queue import ChangeQueue
from tests.store.changes import aliased, comparable, key, learnt, put


def queue(*changes: Change, max_changes: int = 100, max_bytes: int = 1 << 20) -> ChangeQueue:
    made = ChangeQueue(max_changes=max_changes, max_bytes=max_bytes)
    for change in changes:
        made.add(change)
    return made


def everything(waiting: ChangeQueue) -> list[object]:
    return the_same(*waiting.take(1000, 1 << 30))


def the_same(*changes: Change) -> list[object]:
    return [comparable(change) for change in changes]


def test_changes_come_out_in_the_order_in_which_they_were_made() -> None:
    changes: list[Change] = [put(1), learnt(1), put(2), aliased(3, 2)]
    assert everything(queue(*changes)) == the_same(*changes)


def test_what_takes_back_goes_first_where_many_wait() -> None:
    deleted = Deleted(key(1), 5.0)
    waiting = queue(put(1), put(2), deleted)
    assert the_same(*waiting.take(2, 1 << 20)) == the_same(deleted, put(1))
    waiting = queue(put(1), put(2), deleted)
    assert the_same(*waiting.take(3, 1 << 20)) == the_same(put(1), put(2), deleted)


def test_a_later_change_takes_the_place_of_an_earlier_one() -> None:
    first, second = put(1, body=b"old"), put(1, body=b"new")
    waiting = queue(first, second, Deleted(key(2), 9.0), Deleted(key(2), 5.0))
    assert everything(waiting) == the_same(second, Deleted(key(2), 9.0))
    assert waiting.size_bytes == 0


def test_purges_of_the_same_selector_become_one() -> None:
    selector = Selector(model="m")
    waiting = queue(*(Purged(selector, soft=False, at=float(at)) for at in range(5)))
    assert everything(waiting) == [Purged(selector, soft=False, at=4.0)]


def test_the_longest_waiting_are_dropped_over_the_count() -> None:
    waiting = queue(*(put(number) for number in range(5)), max_changes=3)
    assert everything(waiting) == the_same(put(2), put(3), put(4))
    assert waiting.dropped == 2


def test_the_longest_waiting_are_dropped_over_the_bytes() -> None:
    waiting = queue(put(1, body=b"x" * 5000), put(2, body=b"x" * 5000), max_bytes=8000)
    assert (len(waiting), waiting.dropped) == (1, 1)
    assert 5000 < waiting.size_bytes < 8000


def test_too_many_that_take_back_become_a_purge_of_everything() -> None:
    epoch = Renewed("m", "2", 3.0)
    waiting = queue(epoch, *(Deleted(key(at), float(at)) for at in range(10)), max_changes=10)
    assert everything(waiting) == [Purged(Selector(), soft=False, at=9.0), epoch]
    assert waiting.dropped == 10


def test_too_many_epochs_are_bounded_too() -> None:
    waiting = queue(*(Renewed(f"m{at}", "2", float(at)) for at in range(50)), max_changes=10)
    assert len(waiting) <= 10


def test_verdicts_on_one_answer_are_all_kept() -> None:
    pairs = [(bytes([at]) * 16, b"o" * 16) for at in range(3)]
    verdicts = [Rejected(key(1), 5.0, (pair,)) for pair in pairs]
    assert everything(queue(*verdicts)) == the_same(*verdicts)


def test_a_batch_ends_at_its_bounds_but_has_something() -> None:
    waiting = queue(put(1, body=b"x" * 5000), put(2), put(3), learnt(3))
    assert the_same(*waiting.take(10, 100)) == the_same(put(1, body=b"x" * 5000))
    assert len(waiting.take(2, 1 << 20)) == 2
    assert len(waiting) == 1


def test_what_could_not_be_written_is_first_again() -> None:
    waiting = queue(put(1), Deleted(key(9), 1.0), put(2))
    taken = waiting.take(3, 1 << 20)
    waiting.add(Deleted(key(8), 2.0))
    waiting.give_back(taken)
    again = waiting.take(2, 1 << 20)
    waiting.give_back(again)
    assert everything(waiting) == the_same(
        Deleted(key(9), 1.0), Deleted(key(8), 2.0), put(1), put(2)
    )


def test_a_later_one_is_not_replaced_by_what_is_given_back() -> None:
    waiting = queue(put(1, body=b"old"))
    taken = waiting.take(1, 1 << 20)
    waiting.add(put(1, body=b"new"))
    waiting.give_back(taken)
    assert everything(waiting) == the_same(put(1, body=b"new"))


async def test_who_waits_is_woken() -> None:
    waiting = queue()
    async with asyncio.TaskGroup() as group:
        group.create_task(waiting.wait())
        waiting.add(learnt(1))
    assert everything(waiting) == [learnt(1)]
