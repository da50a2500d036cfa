"""Vector sets in Redis' words: names, what is written, and what of an answer is believed."""

from typing import Any

import numpy as np
import pytest

from proxy.semantic.redis_commands import (
    Add,
    Discard,
    Element,
    Names,
    Prolong,
    Write,
    elements,
    end_of,
    is_unknown,
    key_of,
    search_command,
    vector_of,
    write_commands,
)

NAMES = Names("reprise", "model@digest", 2)
P, Q = b"p" * 32, b"q" * 32
ONE, TWO = b"1" * 32, b"2" * 32
VECTOR = np.array([0.6, 0.8], np.float32)


def test_every_encoder_and_size_has_names_of_its_own() -> None:
    names = [Names("reprise", "a", 2), Names("reprise", "a", 3), Names("reprise", "b", 2)]
    names += [Names("reprise", 'a",2', 2), Names("other", "a", 2)]
    assert len({name.vectors(P) for name in names}) == 5
    assert len({name.partitions for name in names}) == 5
    assert all(":vec:" in name.vectors(P) for name in names)


def test_a_partition_is_named_in_hex_only() -> None:
    hostile = b'" or 1 == 1\r\n{x}* '
    assert NAMES.vectors(hostile).endswith(":p:" + hostile.hex())
    assert NAMES.vectors(P) != NAMES.vectors(Q)


def test_writes_say_until_when_and_give_each_set_an_end() -> None:
    writes: list[Write] = [Add(P, ONE, b"v", 10.5), Prolong(P, TWO, 20.0), Discard(Q, ONE)]
    name = NAMES.vectors(P)
    assert list(write_commands(NAMES, writes)) == [
        ("VADD", name, "FP32", b"v", ONE.hex(), "NOQUANT", "SETATTR", b'{"u":11}'),
        ("VSETATTR", name, TWO.hex(), b'{"u":20}'),
        ("VREM", NAMES.vectors(Q), ONE.hex()),
        ("EXPIREAT", name, 20, "NX"),
        ("EXPIREAT", name, 20, "GT"),
        ("ZADD", NAMES.partitions, "GT", 20, P),
    ]


def test_what_has_no_end_ends_some_day() -> None:
    commands = list(write_commands(NAMES, [Add(P, ONE, b"v", float("inf"))]))
    assert commands[0][-1] == b'{"u":4000000000}'


def test_a_small_set_is_compared_whole_and_a_large_one_by_its_graph() -> None:
    assert "TRUTH" in search_command("s", VECTOR, 5, is_large=False)
    large = search_command("s", VECTOR, 5, is_large=True)
    assert large[large.index("EF") + 1] == 400
    assert search_command("s", VECTOR, 900, is_large=True)[-1] == 900


@pytest.mark.parametrize(
    "reply",
    [
        [TWO.hex().encode(), b"0.5", b'{"u":7}', ONE.hex().encode(), b"1", b'{"u":5}'],
        {ONE.hex().encode(): [1.0, b'{"u":5}'], TWO.hex().encode(): [0.5, b'{"u":7}']},
        {ONE.hex(): [1.00000001, '{"u":5}'], TWO.hex(): [0.5, '{"u":7}'], "x": [1.0, None]},
    ],
    ids=["RESP2", "RESP3", "text"],
)
def test_a_search_is_answered_in_the_shapes_of_both_protocols(reply: Any) -> None:
    assert elements(reply) == [Element(ONE, 1.0, 5.0), Element(TWO, 0.0, 7.0)]


def test_nothing_is_found_in_nothing() -> None:
    assert elements([]) == elements({}) == []


@pytest.mark.parametrize("name", [b"", b"foreign", b"00", b"\xff" * 64, b"ab" * 33])
def test_what_is_not_named_as_ours_is_none_of_ours(name: bytes) -> None:
    assert key_of(name) is None


@pytest.mark.parametrize("attribute", [None, b"", b"{", b"[]", b'"u"', b'{"u":null}', b"7", b"{}"])
def test_an_end_that_cannot_be_read_is_past(attribute: bytes | None) -> None:
    assert end_of(attribute) == 0.0


@pytest.mark.parametrize("reply", [None, [], [b"f32"], [b"f32", b"123", 1.0], b"x", [b"f32", 7]])
def test_what_is_no_vector_is_none(reply: Any) -> None:
    assert vector_of(reply, 2) is None


def test_a_vector_is_read() -> None:
    found = vector_of([b"f32", VECTOR.tobytes(), 1.0], 2)
    assert found is not None
    assert found.tolist() == VECTOR.tolist()


def test_a_server_without_vector_sets_is_known_by_its_word() -> None:
    assert is_unknown(ValueError("unknown command 'VSIM', with args beginning with: "))
    assert is_unknown(ValueError("ERR syntax error in VSIM command"))
    assert is_unknown(ValueError("User u has no permissions to run the 'VADD' command"))
    assert not is_unknown(ValueError("WRONGTYPE"))
    assert not is_unknown(b"unknown command")
