"""What is not in the filter is surely absent."""

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.bloom import ERROR_RATE, Bloom, KnownKeys


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


@given(st.lists(st.binary(max_size=32), max_size=50))
def test_what_was_added_is_there(keys: list[bytes]) -> None:
    bloom = Bloom(50)
    for key in keys:
        bloom.add(key)
    assert all(key in bloom for key in keys)


def test_little_else_seems_to_be_there() -> None:
    bloom = Bloom(10_000)
    for number in range(10_000):
        bloom.add(digest(number))
    wrong = sum(digest(number) in bloom for number in range(10_000, 30_000))
    assert wrong / 20_000 < 1.5 * ERROR_RATE
    assert 0.45 < bloom.fill < 0.55
    assert 9_800 < len(bloom) < 10_200


def test_an_empty_one_has_nothing() -> None:
    assert digest(1) not in Bloom(10)
    assert len(Bloom(10)) == 0


def test_an_overfull_one_still_never_denies() -> None:
    bloom = Bloom(1)
    for number in range(1000):
        bloom.add(digest(number))
    assert all(digest(number) in bloom for number in range(1000))
    assert bloom.fill <= 1.0
    assert len(bloom) > 0


def test_absence_means_nothing_until_all_was_added() -> None:
    known = KnownKeys(100)
    known.add(digest(1))
    assert not known.complete()
    known.finish()
    assert known.complete()
    assert digest(1) in known
    assert digest(2) not in known
    known.doubt()
    assert not known.complete()


def test_what_is_gone_is_left_out_by_a_rebuild() -> None:
    known = KnownKeys(100)
    for number in range(50):
        known.add(digest(number))
    known.finish()
    known.rebuild()
    assert known.complete()  # the one in use still is
    known.add(digest(1))
    assert digest(2) in known
    known.finish()
    assert digest(1) in known
    assert digest(2) not in known
    assert known.figures()["redis_known_keys"] == 1
