"""What comes back from disk or from others: the same, or refused."""

import hashlib
import pickle
from dataclasses import replace
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.change import Change, Deleted, Purged, Put, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.core.model import Shape
from proxy.store.codec import Flaw, Unreadable, decode, encode, key_of
from tests.core.values import NOW, stored_response
from tests.store.changes import aliased, changes, comparable, key, learnt, put

EVERY_KIND: list[Change] = [
    put(1),
    Deleted(key(1), NOW),
    learnt(1),
    aliased(1, 2),
    Rejected(key(1), NOW, ((b"a" * 16, b"b" * 16),)),
    Purged(Selector(model="m*"), soft=True, at=NOW, by="admin"),
    Renewed("m*", "2", NOW, "admin"),
]
LONE_SURROGATE = "\ud800x\udcff"


def sealed(payload: bytes, kind: int = 1, version: int = 1) -> bytes:
    """A payload in an envelope whose checksum is right: what only an attacker makes."""
    marks = bytes((version, kind))
    return b"Rp" + marks + hashlib.blake2b(marks + payload, digest_size=8).digest() + payload


def members_of(change: Change) -> tuple[int, list[Any]]:
    """The kind and the members that an encoded change is made of."""
    data = encode(change)
    return data[3], msgpack.unpackb(data[12:], unicode_errors="surrogatepass")


def refusal(data: bytes) -> Flaw:
    """Why it cannot be read."""
    with pytest.raises(Unreadable) as caught:
        decode(data)
    return caught.value.reason


@given(changes)
def test_what_was_encoded_comes_back(change: Change) -> None:
    assert comparable(decode(encode(change))) == comparable(change)


@pytest.mark.parametrize("change", EVERY_KIND, ids=lambda change: type(change).__name__)
def test_every_flipped_byte_is_noticed(change: Change) -> None:
    data = encode(change)
    for place in range(len(data)):
        for mask in (1, 0x80, 0xFF):
            refusal(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])


@pytest.mark.parametrize("change", EVERY_KIND, ids=lambda change: type(change).__name__)
def test_every_cut_tail_is_noticed(change: Change) -> None:
    data = encode(change)
    for length in range(len(data)):
        refusal(data[:length])
    assert refusal(data + b"\0") is Flaw.CHECKSUM


@given(st.binary(max_size=100))
def test_random_bytes_are_refused(data: bytes) -> None:
    refusal(data)


@given(st.binary(max_size=100), st.integers(0, 9))
def test_random_bytes_with_a_right_checksum_are_refused_or_valid(data: bytes, kind: int) -> None:
    _refused_or_valid(sealed(data, kind))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats()
        | st.binary()
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
    st.integers(0, 9),
)
def test_any_value_with_a_right_checksum_is_refused_or_valid(value: object, kind: int) -> None:
    _refused_or_valid(sealed(msgpack.packb(value), kind))


@given(changes, st.data())
def test_any_member_may_be_anything_and_is_checked(change: Change, data: st.DataObject) -> None:
    kind, members = members_of(change)
    anything = (
        st.none() | st.booleans() | st.integers(-5, 2**64 - 1) | st.floats() | st.binary()
    ) | st.lists(st.integers(0, 5), max_size=3)
    members[data.draw(st.integers(0, len(members) - 1))] = data.draw(anything)
    _refused_or_valid(
        sealed(msgpack.packb(members, unicode_errors="surrogatepass"), kind),
    )


def _refused_or_valid(data: bytes) -> None:
    try:
        change = decode(data)
    except Unreadable:
        return
    # What is valid can be encoded, and is the same then.
    assert comparable(decode(encode(change))) == comparable(change)


@pytest.mark.parametrize("change", EVERY_KIND, ids=lambda change: type(change).__name__)
def test_a_member_more_or_less_is_refused(change: Change) -> None:
    kind, members = members_of(change)
    for wrong in ([*members, 1], members[:-1], []):
        assert refusal(sealed(msgpack.packb(wrong), kind)) is Flaw.VALUE


def test_a_newer_format_is_told_apart() -> None:
    data = encode(put(1))
    assert refusal(data[:2] + b"\x02" + data[3:]) is Flaw.NEWER
    assert refusal(data[:2] + b"\x00" + data[3:]) is Flaw.FORMAT


def test_an_unknown_kind_is_told_apart() -> None:
    assert refusal(sealed(b"\x90", kind=99)) is Flaw.KIND


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_run(protocol: int, capsys: pytest.CaptureFixture[str]) -> None:
    class Planted:
        def __reduce__(self) -> tuple[Any, ...]:
            return print, ("it ran",)

    planted = pickle.dumps(Planted(), protocol)
    assert refusal(planted) is Flaw.FORMAT
    refusal(sealed(planted))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "members",
    [
        {"key": b"short"},
        {"tenant": b""},
        {"created": float("nan")},
        {"created": float("inf")},
        {"created": 1e300},
        {"ttl": -1.0},
        {"duration": float("-inf")},
        {"prompt_tokens": -1},
        {"tags": ("t",) * 17},
        {"head": b""},
        {"head": b"content-type: a/b"},
        {"head": b"x-a: 1\r\ncontent-type: a/b\r\n"},
        {"head": b"content-type: a/b\r\n\r\n<script>"},
        {"head": b"content-type: a/b\r\nContent-Length: 3\r\n"},
        {"head": b"content-type: a/b\r\nset-cookie: a=b\r\n"},
        {"head": b"content-type: a\nb: c\r\n"},
    ],
    ids=str,
)
def test_a_stored_response_is_valid_as_a_whole(members: dict[str, Any]) -> None:
    assert refusal(encode(Put(stored_response(**members)))) is Flaw.VALUE


@pytest.mark.parametrize(
    "change",
    [
        learnt(1, vector=b""),
        learnt(1, vector=b"12345"),
        learnt(1, vector=bytes((4 << 16) + 4)),
        learnt(1, until=float("nan")),
        replace(aliased(1, 2), similarity=2.0),
        replace(aliased(1, 2), answer=b"short"),
        Rejected(key(1), NOW, ((b"a" * 16, b"b" * 15),)),
        Deleted(key(1), float("inf")),
    ],
    ids=str,
)
def test_the_others_are_too(change: Change) -> None:
    assert refusal(encode(change)) is Flaw.VALUE


def test_many_arrays_in_arrays_are_refused() -> None:
    assert refusal(sealed(b"\x91" * 100_000 + b"\x90")) is Flaw.VALUE
    assert refusal(sealed(b"\xdd\xff\xff\xff\xff" * 1000)) is Flaw.VALUE
    assert refusal(sealed(b"\x81\xc4\x01a\x01")) is Flaw.VALUE
    assert refusal(sealed(b"\xd6\xff\x00\x00\x00\x00")) is Flaw.VALUE


def test_bytes_and_text_are_not_the_same() -> None:
    kind, members = members_of(put(1))
    assert members[3] == "m1"
    members[3] = b"m1"
    assert refusal(sealed(msgpack.packb(members), kind)) is Flaw.VALUE


def test_lone_surrogates_survive() -> None:
    stored = stored_response(model=LONE_SURROGATE)
    put_again = decode(encode(Put(stored)))
    assert isinstance(put_again, Put)
    assert put_again.stored.model == LONE_SURROGATE
    assert decode(encode(learnt(1, text=LONE_SURROGATE))) == learnt(1, text=LONE_SURROGATE)


def test_what_was_derived_is_not_kept() -> None:
    stored = stored_response(derived={(Shape.SSE, True): b"data: x\n\n"}, charged=700)
    again = decode(encode(Put(stored)))
    assert isinstance(again, Put)
    assert again.stored.derived is None
    assert again.stored.charged == 0


def test_numbers_that_are_too_large_or_whole_are_kept_as_they_can_be() -> None:
    again = decode(encode(Put(stored_response(prompt_tokens=2**70, created=5, ttl=7))))
    assert isinstance(again, Put)
    assert again.stored.prompt_tokens == 2**63 - 1
    assert (again.stored.created, again.stored.ttl) == (5.0, 7.0)


def test_a_later_change_of_the_same_thing_has_the_same_key() -> None:
    assert key_of(put(1)) == key_of(put(1, body=b"later")) == ("put", key(1))
    assert key_of(Deleted(key(1), NOW)) == ("deleted", key(1))
    assert key_of(learnt(1)) == ("learnt", key(1))
    assert key_of(aliased(1, 2)) == key_of(aliased(1, 3)) == ("aliased", key(1))
    assert key_of(Renewed("m*", "1", 1.0)) == key_of(Renewed("m*", "2", 2.0)) == ("renewed", b"m*")


def test_rejections_and_purges_do_not_displace_each_other() -> None:
    one = Rejected(key(1), NOW, ((b"a" * 16, b"b" * 16),))
    other = Rejected(key(1), NOW, ((b"a" * 16, b"c" * 16),))
    assert key_of(one) != key_of(other)
    assert key_of(one) == key_of(replace(one, at=NOW + 1))
    purge = Purged(Selector(model="m"), soft=False, at=NOW)
    assert key_of(purge) != key_of(replace(purge, at=NOW + 1))
    assert key_of(purge) != key_of(replace(purge, soft=True))
    assert key_of(purge) == key_of(replace(purge, by="somebody"))
