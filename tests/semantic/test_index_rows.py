"""Rows of matrices: compared exactly, without gaps, and no larger than need be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.semantic.index_rows import BLOCK_ROWS, Rows
from tests.contracts.vector_index import DIMENSIONS, key, vector


def rows_of(*numbers: int) -> Rows:
    rows = Rows()
    for number in numbers:
        rows.extend([key(number)], vector(number)[np.newaxis])
    return rows


def many(count: int) -> Rows:
    """Rows that came together."""
    rows = Rows()
    vectors = np.stack([vector(number) for number in range(count)])
    assert rows.extend([key(number) for number in range(count)], vectors) == 0
    return rows


def room(rows: Rows) -> int:
    """How many vectors it has memory for."""
    return sum(map(len, rows._blocks))


def test_empty_rows_find_nothing() -> None:
    rows = Rows()
    assert rows.search(vector(1), 3) == []
    assert rows.extend([], np.empty((0, DIMENSIONS), np.float32)) == 0
    assert (len(rows), rows.dimensions) == (0, 0)


def test_the_nearest_come_first() -> None:
    rows = many(300)
    similarities = {key(number): float(vector(number) @ vector(7)) for number in range(300)}
    found = rows.search(vector(7), 9)
    assert [one for _, one in found] == sorted(similarities, key=lambda k: -similarities[k])[:9]
    assert len(rows.search(vector(7), 1000)) == 300


def test_the_last_row_takes_the_place_of_one_that_is_removed() -> None:
    rows = rows_of(1, 2, 3)
    assert rows.remove(0) == key(3)
    assert rows.keys == [key(3), key(2)]
    assert rows.remove(1) is None
    assert np.array_equal(rows.vectors([0]), vector(3)[np.newaxis])
    assert rows.remove(0) is None
    assert room(rows) == 0


def test_two_rows_change_places_with_their_vectors() -> None:
    rows = many(BLOCK_ROWS + 5)
    rows.exchange(3, BLOCK_ROWS + 2)
    assert (rows.keys[3], rows.keys[BLOCK_ROWS + 2]) == (key(BLOCK_ROWS + 2), key(3))
    expected = np.stack([vector(BLOCK_ROWS + 2), vector(3)])
    assert np.array_equal(rows.vectors([3, BLOCK_ROWS + 2]), expected)
    rows.exchange(3, 3)
    assert np.array_equal(rows.vectors([3]), expected[:1])


def test_there_is_little_room_that_is_not_used() -> None:
    assert room(rows_of(1)) == 1
    assert room(rows_of(*range(40))) <= 42
    assert room(rows_of(*range(1000))) == room(many(1000)) == 4 * BLOCK_ROWS
    rows = many(1000)
    for _ in range(980):
        rows.remove(0)
    assert room(rows) <= 24


def test_rows_that_come_together_fill_one_block_after_the_other() -> None:
    rows = rows_of(*range(3))
    vectors = np.stack([vector(number) for number in range(3, 3 + 2 * BLOCK_ROWS)])
    assert rows.extend([key(number) for number in range(3, 3 + len(vectors))], vectors) == 3
    numbers = [0, 2, 3, BLOCK_ROWS, BLOCK_ROWS + 2, 2 * BLOCK_ROWS + 2]
    expected = np.stack([vector(number) for number in numbers])
    assert np.array_equal(rows.vectors(numbers), expected)
    assert rows.keys == [key(number) for number in range(len(rows))]


@settings(max_examples=60)
@given(st.lists(st.one_of(st.integers(0, 60), st.just(-1)), max_size=200))
def test_any_changes_leave_what_should_be_there(steps: list[int]) -> None:
    rows, model = Rows(), list[int]()
    for step in steps:
        if step >= 0:
            assert rows.extend([key(step)], vector(step)[np.newaxis]) == len(model)
            model.append(step)
        elif model:
            row = len(model) // 2
            last = model.pop()
            moved = rows.remove(row)
            if row < len(model):
                model[row] = last
                assert moved == key(last)
            else:
                assert moved is None
    assert rows.keys == [key(number) for number in model]
    if model:
        expected = np.stack([vector(number) for number in model])
        assert np.array_equal(rows.vectors(range(len(model))), expected)
