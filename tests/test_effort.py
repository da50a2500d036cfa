"""What tells linear from quadratic work does."""

import gc

from tests.effort import grows_linearly, is_cheaper


def steps(count: int) -> int:
    return sum(number & 1 for number in range(count))


def test_linear_work_grows_linearly() -> None:
    assert grows_linearly(lambda size: steps(size * 1000), 10)


def test_work_that_grows_with_the_square_does_not() -> None:
    assert not grows_linearly(lambda size: steps(size * size), 60)


def test_one_may_be_cheaper_than_a_share_of_another() -> None:
    assert is_cheaper(lambda: steps(1000), 0.5, lambda: steps(10_000))
    assert not is_cheaper(lambda: steps(10_000), 0.5, lambda: steps(1000))


def test_garbage_is_collected_again_afterwards() -> None:
    assert is_cheaper(lambda: None, 1000, lambda: steps(1000))
    assert gc.isenabled()
    gc.disable()
    try:
        assert is_cheaper(lambda: None, 1000, lambda: steps(1000))
        assert not gc.isenabled()
    finally:
        gc.enable()
