"""What every Store must do. An adapter's test file subclasses it and says how one is made."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.core.cache.value import StoredResponse
from proxy.ports import Store
from tests.core.values import stored_response


def entry(number: int, **members: object) -> StoredResponse:
    """A stored response under the key of a number."""
    return stored_response(key=number.to_bytes(32, "big"), **members)


def ignore(key: bytes) -> None:
    """For who need not know what is gone."""


class StoreContract:
    """The Store port's suite."""

    def make(self, on_gone: Callable[[bytes], None] = ignore) -> Store:
        """An empty store with room for a hundred small entries or more.

        `on_gone` is told each key under which nothing is stored any longer.
        """
        raise NotImplementedError

    def test_an_empty_store_has_nothing(self) -> None:
        store = self.make()
        assert store.get(entry(1).key) is None
        assert list(store.scan()) == []

    def test_what_was_put_is_got(self) -> None:
        store, one, other = self.make(), entry(1), entry(2)
        assert store.put(one)
        assert store.put(other)
        assert store.get(one.key) is one
        assert store.get(other.key) is other

    def test_stale_entries_are_got_too(self) -> None:
        store, stale = self.make(), entry(1, ttl=0.0, created=0.0)
        store.put(stale)
        assert store.get(stale.key) is stale

    def test_a_later_answer_takes_the_place_of_an_earlier_one(self) -> None:
        store, earlier, later = self.make(), entry(1), entry(1, body=b"later")
        store.put(earlier)
        assert store.put(later)
        assert store.get(later.key) is later
        assert list(store.scan()) == [later]

    def test_the_same_answer_may_be_put_again(self) -> None:
        store, one = self.make(), entry(1)
        store.put(one)
        assert store.put(one)
        assert list(store.scan()) == [one]

    def test_what_was_deleted_is_gone(self) -> None:
        store, one, other = self.make(), entry(1), entry(2)
        store.put(one)
        store.put(other)
        assert store.delete(one.key)
        assert store.get(one.key) is None
        assert store.get(other.key) is other

    def test_deleting_nothing_says_so(self) -> None:
        store, one = self.make(), entry(1)
        assert not store.delete(one.key)
        store.put(one)
        assert store.delete(one.key)
        assert not store.delete(one.key)

    def test_a_scan_is_in_the_order_of_use(self) -> None:
        store, entries = self.make(), [entry(number) for number in range(4)]
        for one in entries:
            store.put(one)
        store.get(entries[0].key)
        store.put(entries[1])
        assert list(store.scan()) == [entries[2], entries[3], entries[0], entries[1]]

    def test_a_peek_is_no_use(self) -> None:
        store, entries = self.make(), [entry(number) for number in range(2)]
        assert store.peek(entries[0].key) is None
        for one in entries:
            store.put(one)
        assert store.peek(entries[0].key) is entries[0]
        assert list(store.scan()) == entries

    def test_it_tells_once_what_is_gone(self) -> None:
        gone: list[bytes] = []
        store, one, other = self.make(gone.append), entry(1), entry(2)
        store.put(one)
        store.put(other)
        assert gone == []
        store.delete(one.key)
        store.delete(one.key)
        store.delete(entry(3).key)
        assert gone == [one.key]
        store.put(one)
        store.delete(one.key)
        assert gone == [one.key, one.key]

    def test_what_is_replaced_is_not_gone(self) -> None:
        gone: list[bytes] = []
        store = self.make(gone.append)
        for body in (b"earlier", b"later"):
            store.put(entry(1, body=body))
        assert gone == []

    def test_what_is_gone_is_not_there_when_it_is_told(self) -> None:
        found: list[StoredResponse | None] = []
        store = self.make(lambda key: found.append(store.peek(key)))
        store.put(entry(1))
        store.delete(entry(1).key)
        assert found == [None]

    def test_a_scan_does_not_mind_changes(self) -> None:
        store = self.make()
        for number in range(4):
            store.put(entry(number))
        seen = []
        for one in store.scan():
            seen.append(one)
            store.delete(one.key)
            store.put(entry(9))
        assert len(seen) == 4
        assert len(list(store.scan())) == 1

    # Several adapters are held to it.
    @settings(max_examples=50, suppress_health_check=[HealthCheck.differing_executors])
    @given(st.lists(st.tuples(st.sampled_from(["put", "get", "delete"]), st.integers(0, 5))))
    def test_it_behaves_like_a_dictionary(self, steps: list[tuple[str, int]]) -> None:
        store, model = self.make(), dict[bytes, StoredResponse]()
        for action, number in steps:
            one = entry(number)
            match action:
                case "put":
                    assert store.put(one)
                    model.pop(one.key, None)
                    model[one.key] = one
                case "delete":
                    assert store.delete(one.key) == (model.pop(one.key, None) is not None)
                case _:
                    expected = model.pop(one.key, None)
                    assert store.get(one.key) is expected
                    if expected is not None:
                        model[one.key] = expected
        assert list(store.scan()) == list(model.values())
