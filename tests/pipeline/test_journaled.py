"""A journaled store tells what is to be forgotten everywhere."""

from collections.abc import Callable

from proxy.core.cache.change import Change, Deleted
from proxy.pipeline.journaled import JournaledStore
from proxy.store.memory import MemoryStore
from tests.contracts.store import StoreContract, ignore
from tests.core.values import NOW, stored_response
from tests.fakes.clock import FakeClock


def journaled(
    noted: list[Change],
    *,
    max_entries: int = 1000,
    on_gone: Callable[[bytes], None] = ignore,
) -> JournaledStore:
    memory = MemoryStore(
        max_bytes=1 << 20, max_entries=max_entries, max_entry_bytes=100, on_gone=on_gone
    )
    return JournaledStore(memory, note=noted.append, clock=FakeClock())


class TestJournaledStore(StoreContract):
    """It is a store."""

    def make(self, on_gone: Callable[[bytes], None] = ignore) -> JournaledStore:
        """An empty one."""
        return journaled([], on_gone=on_gone)


def test_what_is_deleted_is_told_with_the_time() -> None:
    noted: list[Change] = []
    store = journaled(noted)
    store.put(stored_response(key=b"a" * 32, created=NOW - 5))
    assert store.delete(b"a" * 32)
    assert not store.delete(b"b" * 32)
    now = FakeClock().now()
    assert noted == [Deleted(b"a" * 32, now), Deleted(b"b" * 32, now)]


def test_an_answer_of_a_clock_that_is_ahead_is_covered_too() -> None:
    noted: list[Change] = []
    store = journaled(noted)
    later = FakeClock().now() + 30
    store.put(stored_response(created=later))
    store.delete(b"k" * 32)
    assert noted == [Deleted(b"k" * 32, later)]


def test_what_does_not_fit_has_replaced_what_was_there() -> None:
    noted: list[Change] = []
    store = journaled(noted)
    store.put(stored_response(created=NOW))
    assert not store.put(stored_response(created=NOW + 1, body=bytes(101)))
    assert noted == [Deleted(b"k" * 32, NOW + 1)]


def test_what_memory_has_no_room_for_is_not_told() -> None:
    noted: list[Change] = []
    store = journaled(noted, max_entries=1)
    store.put(stored_response(key=b"a" * 32))
    store.put(stored_response(key=b"b" * 32))
    assert (len(list(store.scan())), noted) == (1, [])
