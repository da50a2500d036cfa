import pytest

from proxy.core.meaning.frames import MOST_TERMS, Term
from proxy.core.meaning.frames_exchange import exchange, shared


def terms(keys: str) -> tuple[Term, ...]:
    return tuple(Term(key, place, place + 1) for place, key in enumerate(keys))


def shown(those: tuple[Term, ...]) -> str:
    return "".join(term.key for term in those)


@pytest.mark.parametrize(
    ("stored", "asked", "middle", "blocks"),
    [
        ("amb", "bma", ("amb", "bma"), (1, 1, 1)),
        ("ab", "ba", ("ab", "ba"), (1, 1, 0)),
        ("xambz", "xbmaz", ("amb", "bma"), (1, 1, 1)),
        ("acmb", "bmac", ("acmb", "bmac"), (2, 1, 1)),
        ("acmad", "admac", ("cmad", "dmac"), (1, 1, 2)),
        ("abc", "bca", ("abc", "bca"), (1, 2, 0)),
    ],
)
def test_two_blocks_have_exchanged_their_places(
    stored: str, asked: str, middle: tuple[str, str], blocks: tuple[int, int, int]
) -> None:
    found = exchange(terms(stored), terms(asked))
    assert found is not None
    assert (shown(found.stored), shown(found.asked)) == middle
    assert (found.first, found.last, found.apart) == blocks


def test_other_orders_are_no_exchange() -> None:
    assert exchange(terms("abcd"), terms("badc")) is None


def test_both_are_known_in_both_texts() -> None:
    found = exchange(terms("acmb"), terms("bmac"))
    assert found is not None
    assert [term.start for term in found.one] == [0, 2]
    assert [term.start for term in found.other] == [3, 0]
    assert found.has("c")
    assert not found.has("m")


def test_what_both_texts_have_is_kept_in_its_order() -> None:
    ours, theirs = shared(terms("axbca"), terms("cbad"))
    assert (shown(ours), shown(theirs)) == ("abc", "cba")


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("", ""), ("a", "a"), ("abcd", "ab"), ("abcd", "axyz"), ("a" * (MOST_TERMS + 1), "a" * 25)],
)
def test_texts_with_too_little_in_common_share_nothing(stored: str, asked: str) -> None:
    assert shared(terms(stored), terms(asked)) == ((), ())
