"""The store in memory: the contract, and bounds that are never exceeded (B42)."""

import gc
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from proxy.core.cache.value import StoredResponse
from proxy.core.model import Shape
from proxy.ports import Store
from proxy.store.memory import OVERHEAD_BYTES, MemoryStore
from tests.contracts.store import StoreContract, entry, ignore

LARGE = 1 << 30


def store_of(
    max_bytes: int = LARGE,
    max_entries: int = LARGE,
    max_entry_bytes: int = LARGE,
    on_gone: Callable[[bytes], None] = ignore,
) -> MemoryStore:
    return MemoryStore(
        max_bytes=max_bytes,
        max_entries=max_entries,
        max_entry_bytes=max_entry_bytes,
        on_gone=on_gone,
    )


def size_of(stored: StoredResponse) -> int:
    """What a store counts for it."""
    store = store_of()
    store.put(stored)
    return store.size_bytes


class TestContract(StoreContract):
    """Memory fulfils the port."""

    def make(self, on_gone: Callable[[bytes], None] = ignore) -> Store:
        return store_of(on_gone=on_gone)


def numbers(store: MemoryStore) -> list[int]:
    """The numbers of the entries in it, least recently used first."""
    return [int.from_bytes(stored.key, "big") for stored in store.scan()]


def test_the_least_recently_used_goes_first() -> None:
    store = store_of(max_entries=3)
    for number in range(3):
        store.put(entry(number))
    store.get(entry(0).key)
    store.put(entry(3))
    assert numbers(store) == [2, 0, 3]
    store.put(entry(2))
    store.put(entry(4))
    assert numbers(store) == [3, 2, 4]
    assert (len(store), store.evictions.total()) == (3, 2)


def test_what_goes_for_others_is_told() -> None:
    gone: list[bytes] = []
    store = store_of(max_entries=2, on_gone=gone.append)
    for number in range(3):
        store.put(entry(number))
    assert gone == [entry(0).key]
    store.resize(max_bytes=LARGE, max_entries=1, max_entry_bytes=LARGE)
    assert gone == [entry(0).key, entry(1).key]
    store.resize(max_bytes=LARGE, max_entries=1, max_entry_bytes=1)
    assert gone == [entry(number).key for number in range(3)]
    assert len(store) == 0


def test_who_wants_to_know_is_told_what_was_evicted_and_what_was_deleted() -> None:
    gone: list[bytes] = []
    evicted: list[bytes] = []
    store = MemoryStore(
        max_bytes=LARGE,
        max_entries=2,
        max_entry_bytes=LARGE,
        on_gone=gone.append,
        on_evicted=evicted.append,
    )
    for number in range(3):
        store.put(entry(number))
    store.delete(entry(1).key)
    assert (evicted, gone) == ([entry(0).key], [entry(1).key])
    store.resize(max_bytes=LARGE, max_entries=2, max_entry_bytes=1)
    assert evicted == [entry(0).key, entry(2).key]


def test_what_cannot_be_replaced_is_gone() -> None:
    gone: list[bytes] = []
    store = store_of(max_entry_bytes=10, on_gone=gone.append)
    assert not store.put(entry(1, body=b"x" * 11))
    assert gone == []
    store.put(entry(1))
    assert not store.put(entry(1, body=b"x" * 11))
    assert gone == [entry(1).key]


def test_what_has_no_room_at_all_is_told_to_be_gone() -> None:
    gone: list[bytes] = []
    assert not store_of(max_entries=0, on_gone=gone.append).put(entry(1))
    assert gone == [entry(1).key]


def test_as_many_go_as_are_needed_for_a_large_one() -> None:
    large = entry(9, body=b"x" * 2000)
    store = store_of(max_bytes=size_of(large) + size_of(entry(0)))
    for number in range(3):
        store.put(entry(number))
    assert store.put(large)
    assert numbers(store) == [2, 9]
    assert store.evictions.total() == 2


def test_an_entry_over_the_bounds_is_refused_and_disturbs_nobody() -> None:
    store = store_of(max_bytes=10_000, max_entry_bytes=100)
    store.put(entry(0))
    assert store.put(entry(1, body=b"x" * 100))
    assert not store.put(entry(2, body=b"x" * 101))
    assert not store.put(entry(3, head=b"x" * 20_000))
    assert numbers(store) == [0, 1]
    assert store.evictions.total() == 0


def test_a_later_answer_over_the_bounds_still_ends_the_earlier_one() -> None:
    store = store_of(max_entry_bytes=100)
    store.put(entry(1))
    assert not store.put(entry(1, body=b"x" * 101))
    assert numbers(store) == []
    assert store.size_bytes == 0


def test_a_store_without_room_keeps_nothing() -> None:
    assert not store_of(max_entries=0).put(entry(0))
    assert not store_of(max_bytes=0).put(entry(0))


def test_derived_bodies_count_once_they_are_put_again() -> None:
    store, one = store_of(), entry(1)
    store.put(one)
    before = store.size_bytes
    one.derived = {(Shape.SSE, False): b"x" * 500, (Shape.SSE, True): b""}
    assert store.size_bytes == before
    store.put(one)
    assert store.size_bytes == before + 500
    store.delete(one.key)
    assert store.size_bytes == 0


def test_a_derived_body_makes_room_for_itself() -> None:
    one = entry(1)
    store = store_of(max_bytes=size_of(entry(0)) + size_of(one) + 400)
    store.put(entry(0))
    store.put(one)
    one.derived = {(Shape.SSE, False): b"x" * 500}
    assert store.put(one)
    assert numbers(store) == [1]


def test_a_derived_body_over_the_bounds_costs_the_entry() -> None:
    one = entry(1)
    store = store_of(max_bytes=size_of(one) + 400)
    store.put(one)
    one.derived = {(Shape.SSE, False): b"x" * 500}
    assert not store.put(one)
    assert (len(store), store.size_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ({"max_entries": 2}, [1, 2]),
        ({"max_entries": 0}, []),
        ({"max_bytes": 0}, []),
        ({"max_entry_bytes": 9}, [0, 1]),
        ({}, [0, 1, 2]),
    ],
)
def test_narrower_bounds_hold_at_once(bounds: dict[str, int], left: list[int]) -> None:
    store = store_of()
    for number, size in enumerate((5, 9, 10)):
        store.put(entry(number, body=b"x" * size))
    usual = {"max_bytes": LARGE, "max_entries": LARGE, "max_entry_bytes": LARGE}
    store.resize(**(usual | bounds))
    assert numbers(store) == left
    assert store.evictions.total() == 3 - len(left)
    assert store.size_bytes == sum(size_of(stored) for stored in store.scan())


def test_wider_bounds_take_more() -> None:
    store = store_of(max_entries=1)
    store.resize(max_bytes=LARGE, max_entries=2, max_entry_bytes=LARGE)
    store.put(entry(0))
    store.put(entry(1))
    assert numbers(store) == [0, 1]


@pytest.mark.parametrize(
    "members",
    [
        {"model": "m" * 10_000},
        {"namespace": "名" * 10_000},
        {"stream_options": b"x" * 10_000},
        {"tags": ("t" * 5000, "u" * 5000)},
    ],
)
def test_what_a_client_can_make_large_is_counted(members: dict[str, object]) -> None:
    assert size_of(entry(1, **members)) > size_of(entry(1)) + 9000


def test_no_more_memory_is_taken_than_is_counted() -> None:
    store, count = store_of(), 2000
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(count):
        store.put(
            entry(
                number,
                tenant=bytes([number % 256]) * 32,
                model=f"model-{number}",
                body=b"b" * (200 + number % 7),
                head=b"h" * (100 + number % 5),
                created=1e9 + number,
                ttl=1.5 * number,
                prompt_tokens=1000 + number,
                completion_tokens=2000 + number,
            )
        )
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.5 * store.size_bytes < taken < store.size_bytes


class Bounded(RuleBasedStateMachine):
    """Any sequence of calls, beside a model that is a list."""

    MAX_BYTES = 4 * OVERHEAD_BYTES
    keys = st.integers(0, 7)
    sizes = st.integers(0, 2 * OVERHEAD_BYTES)

    def __init__(self) -> None:
        super().__init__()
        self.bounds = {"max_bytes": self.MAX_BYTES, "max_entries": 5, "max_entry_bytes": 1000}
        self.gone: list[bytes] = []
        self.known: set[bytes] = set()
        self.store = MemoryStore(on_gone=self.gone.append, on_evicted=None, **self.bounds)
        self.used: OrderedDict[bytes, StoredResponse] = OrderedDict()

    @rule(number=keys, size=sizes)
    def put(self, number: int, size: int) -> None:
        one = entry(number, body=b"x" * size)
        if self.store.put(one):
            assert size <= self.bounds["max_entry_bytes"]
            self.used[one.key] = one
            self.used.move_to_end(one.key)
        self._forget_evicted(one.key)

    @rule(number=keys)
    def get(self, number: int) -> None:
        key = entry(number).key
        assert self.store.get(key) is self.used.get(key)
        if key in self.used:
            self.used.move_to_end(key)

    @rule(number=keys)
    def delete(self, number: int) -> None:
        key = entry(number).key
        assert self.store.delete(key) == (self.used.pop(key, None) is not None)

    @precondition(lambda self: self.used)
    @rule(data=st.data(), size=sizes)
    def derive(self, data: st.DataObject, size: int) -> None:
        one = self.used[data.draw(st.sampled_from(list(self.used)))]
        one.derived = {(Shape.SSE, False): b"x" * size}
        self.store.put(one)
        self.used.move_to_end(one.key)
        self._forget_evicted(one.key)

    @rule(max_bytes=st.integers(0, MAX_BYTES), max_entries=st.integers(0, 5), size=sizes)
    def resize(self, max_bytes: int, max_entries: int, size: int) -> None:
        self.bounds = {
            "max_bytes": max_bytes,
            "max_entries": max_entries,
            "max_entry_bytes": size,
        }
        self.store.resize(**self.bounds)
        self.used = OrderedDict((stored.key, stored) for stored in self.store.scan())

    def _forget_evicted(self, changed: bytes) -> None:
        left = list(self.store.scan())
        expected = [stored for stored in self.used.values() if stored in left]
        assert left == expected
        # Only the least recently used may have gone, besides the one that was put.
        gone = [key for key in self.used if self.used[key] not in left and key != changed]
        assert gone == [key for key in self.used if key != changed][: len(gone)]
        self.used = OrderedDict((stored.key, stored) for stored in left)

    @invariant()
    def bounds_hold(self) -> None:
        assert len(self.store) <= self.bounds["max_entries"]
        assert self.store.size_bytes <= self.bounds["max_bytes"]
        assert self.store.size_bytes == sum(map(size_of_again, self.store.scan()))

    @invariant()
    def all_that_went_was_told(self) -> None:
        self.known |= {stored.key for stored in self.store.scan()}
        self.known -= {key for key in self.gone if self.store.peek(key) is None}
        self.gone.clear()
        assert self.known == {stored.key for stored in self.store.scan()}

    @invariant()
    def entries_are_those_of_the_model(self) -> None:
        assert list(self.store.scan()) == list(self.used.values())


def size_of_again(stored: StoredResponse) -> int:
    """What was counted for it when it was put last."""
    return stored.charged


TestBounded = Bounded.TestCase
TestBounded.settings = settings(max_examples=40, stateful_step_count=30)
