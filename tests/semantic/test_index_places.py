"""Where entries are: what was said last, of any place in any partition."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.semantic.index_places import Places
from tests.contracts.vector_index import key

NUMBERS = st.integers(0, 2**28)
PLACES = st.integers(-(2**31), 2**31 - 1)


@given(st.dictionaries(st.integers(0, 99), st.tuples(NUMBERS, PLACES)))
def test_every_key_is_where_it_was_put(put: dict[int, tuple[int, int]]) -> None:
    places = Places()
    for number, (partition, place) in put.items():
        places.put(key(number), partition, place)
    assert len(places) == len(put)
    assert places.keys() == {key(number) for number in put}
    for number, (partition, place) in put.items():
        assert key(number) in places
        assert places.partition(key(number)) == partition
        assert places.place(key(number)) == place
        places.discard(key(number))
    assert len(places) == 0


def test_what_is_said_last_holds() -> None:
    places = Places()
    places.put(key(1), 3, 7)
    places.put(key(1), 2, ~0)
    assert (places.partition(key(1)), places.place(key(1))) == (2, -1)


def test_a_key_that_is_not_there_has_no_place() -> None:
    places = Places()
    places.put(key(1), 0, 0)
    places.discard(key(1))
    assert key(1) not in places
    for ask in (places.partition, places.place, places.discard):
        with pytest.raises(KeyError):
            ask(key(1))


def test_a_place_takes_one_small_number() -> None:
    places = Places()
    places.put(key(1), 2**27, 2**31 - 1)
    (packed,) = places._packed.values()
    assert sys.getsizeof(packed) <= 32
