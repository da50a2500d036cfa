"""The Bloom filter: forgets nothing, and errs rarely."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.bloom import Bloom


def digest(number: int) -> bytes:
    """Evenly distributed, as keys are."""
    return hashlib.sha256(b"%d" % number).digest()


@given(st.sets(st.binary(min_size=16, max_size=32), max_size=50))
def test_what_was_added_is_in(digests: set[bytes]) -> None:
    bloom = Bloom(50)
    for one in digests:
        bloom.add(one)
    assert all(one in bloom for one in digests)


def test_it_errs_for_one_in_a_hundred_at_its_capacity() -> None:
    bloom = Bloom(10_000)
    for number in range(10_000):
        bloom.add(digest(number))
    wrong = sum(digest(number) in bloom for number in range(10_000, 30_000))
    assert wrong < 400  # 2 %
