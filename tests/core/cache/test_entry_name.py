"""The names of answers that went through several caches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.entry_name import (
    MAX_CHARACTERS,
    is_name,
    joined,
    own_part,
    told_name,
    upstream_part,
)
from proxy.core.cache.value import entry_id

OWN = b"00ff-18c"


@given(st.lists(st.binary(min_size=10, max_size=32), min_size=2, max_size=5))
def test_each_cache_takes_its_part_off(keys: list[bytes]) -> None:
    names = [entry_id(key.ljust(10, b"\0"), 1.7e9) for key in keys]
    told: bytes | None = None
    for name in reversed(names):
        told = joined(name.encode(), told)
    rest = (told or b"").decode()
    for name in names:
        assert is_name(rest)
        assert own_part(rest) == name
        rest = upstream_part(rest)
    assert rest == ""


@pytest.mark.parametrize(
    "told",
    [None, b"", b".", b"a..b", b"A", b"a b", b"a\r\nx: y", b"\xff", b"a" * (MAX_CHARACTERS + 1)],
)
def test_what_is_no_name_is_left_out(told: bytes | None) -> None:
    assert joined(OWN, told) == OWN


def test_the_name_is_read_from_a_stored_head() -> None:
    head = b"content-type: application/json\r\nvary: Origin\r\nx-cache-entry: 00ff-18c.aa-1\r\n"
    assert told_name(head) == "00ff-18c.aa-1"
    assert told_name(b"content-type: application/json\r\n") == ""
