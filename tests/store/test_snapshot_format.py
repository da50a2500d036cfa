"""A snapshot is read whole, or refused."""

import pickle
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.change import Change
from proxy.store.codec import Flaw, Unreadable, decode
from proxy.store.redis_names import digest_of
from proxy.store.snapshot_format import (
    CHUNK_BYTES,
    ChunkCutter,
    ChunkReader,
    Item,
    Kind,
    Pointer,
    decode_pointer,
    encode_pointer,
    is_position,
    items,
)
from tests.store.changes import aliased, key, learnt, put

GENERATION = 1_760_000_000_000_000


def cut(*changes: Change, generation: int = GENERATION) -> tuple[list[bytes], Pointer]:
    """Chunks and pointer."""
    cutter = ChunkCutter(generation)
    full = cutter.add(changes)
    rest, pointer = cutter.finish("17-4", 5.0)
    return full + rest, pointer


def read(chunks: list[bytes], pointer: Pointer) -> list[Item]:
    """Check all, then take all."""
    reader = ChunkReader(pointer)
    checked = [reader.check(chunk) for chunk in chunks]
    reader.finish()
    return [item for chunk in checked for item in items(chunk)]


def big(count: int = 40) -> list[Change]:
    """Changes for more than one chunk."""
    return [learnt(number, vector=bytes(100_000), encoder="e") for number in range(count)]


def test_what_was_cut_is_read_again() -> None:
    found = read(*cut(put(1), learnt(1), aliased(2, 1)))
    assert found[0] == (Kind.ENTRY, digest_of(key(1)), b"")
    assert [(item.kind, decode(item.data)) for item in found[1:]] == [
        (Kind.LEARNT, learnt(1)),
        (Kind.OTHER, aliased(2, 1)),
    ]
    assert [item.digest for item in found] == [digest_of(key(1)), digest_of(key(1)), bytes(16)]


def test_chunks_are_of_a_bounded_size() -> None:
    chunks, pointer = cut(*big())
    assert pointer.chunks == len(chunks) > 3
    assert max(map(len, chunks)) < 1.2 * CHUNK_BYTES
    assert (pointer.count, pointer.encoders) == (40, ("e",))
    assert [decode(item.data) for item in read(chunks, pointer)] == big()


def test_digests_alone_are_chunks_too() -> None:
    cutter = ChunkCutter(GENERATION)
    digests = [digest_of(key(number)) for number in range(60_000)]
    full = cutter.add_digests(digests)
    rest, pointer = cutter.finish("0-0", 5.0)
    assert [item.digest for item in read(full + rest, pointer)] == digests
    assert len(full) > 1
    assert max(map(len, full)) < CHUNK_BYTES + 100


def test_nothing_is_a_snapshot_too() -> None:
    chunks, pointer = cut()
    assert (chunks, read(chunks, pointer)) == ([], [])


def test_a_pointer_comes_back() -> None:
    _, pointer = cut(learnt(1))
    assert decode_pointer(encode_pointer(pointer)) == pointer


def test_every_flipped_byte_of_a_chunk_is_noticed() -> None:
    [chunk], pointer = cut(put(1), learnt(1))
    for place in range(len(chunk)):
        with pytest.raises(Unreadable):
            read([chunk[:place] + bytes([chunk[place] ^ 0x80]) + chunk[place + 1 :]], pointer)


def test_every_cut_tail_of_a_chunk_is_noticed() -> None:
    [chunk], pointer = cut(put(1), learnt(1))
    for length in range(len(chunk)):
        with pytest.raises(Unreadable):
            read([chunk[:length]], pointer)


def test_every_flipped_byte_of_a_pointer_is_noticed() -> None:
    chunks, pointer = cut(put(1), learnt(1))
    data = encode_pointer(pointer)
    for place in range(len(data)):
        flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(Unreadable):
            read(chunks, decode_pointer(flipped))


def test_missing_swapped_and_foreign_chunks_are_noticed() -> None:
    chunks, pointer = cut(*big())
    others, _ = cut(*big(), generation=GENERATION + 1)
    damaged: list[list[bytes]] = [
        chunks[:-1],
        [*chunks, chunks[0]],
        [chunks[1], chunks[0], *chunks[2:]],
        [*others[:1], *chunks[1:]],
    ]
    for wrong in damaged:
        with pytest.raises(Unreadable):
            read(wrong, pointer)
    with pytest.raises(Unreadable):
        ChunkReader(pointer).check(None)


def test_a_newer_format_says_so() -> None:
    [chunk], pointer = cut(put(1))
    with pytest.raises(Unreadable) as caught:
        read([chunk[:2] + b"\x02" + chunk[3:]], pointer)
    assert caught.value.reason is Flaw.NEWER
    _, _, text = encode_pointer(pointer).partition(b"|")
    newer = orjson.dumps(orjson.loads(text) | {"version": 2})
    with pytest.raises(Unreadable) as caught:
        decode_pointer(b"%d|%s" % (GENERATION, newer))
    assert caught.value.reason is Flaw.NEWER


@pytest.mark.parametrize(
    "members",
    [
        {"generation": -1},
        {"generation": 2**60},
        {"chunks": 2**40},
        {"count": -1},
        {"position": "17"},
        {"position": "17-x"},
        {"encoders": [1]},
        {"digest": None},
        {"version": "1"},
        {"version": 0},
    ],
)
def test_a_pointer_of_wrong_values_is_refused(members: dict[str, object]) -> None:
    _, pointer = cut(put(1))
    number, _, text = encode_pointer(pointer).partition(b"|")
    with pytest.raises(Unreadable):
        decode_pointer(number + b"|" + orjson.dumps(orjson.loads(text) | members))


def test_the_number_before_a_pointer_is_its_own() -> None:
    _, pointer = cut(put(1))
    _, _, text = encode_pointer(pointer).partition(b"|")
    with pytest.raises(Unreadable):
        decode_pointer(b"5|" + text)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda tail: b"17|" + tail))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decode_pointer(data)
    with pytest.raises(Unreadable):
        ChunkReader(Pointer(1, 1, 1, "0-0", 1.0, ())).check(data)


def test_a_pickle_is_never_loaded() -> None:
    planted = pickle.dumps(replace(cut()[1]))
    with pytest.raises(Unreadable):
        decode_pointer(planted)
    with pytest.raises(Unreadable):
        ChunkReader(cut()[1]).check(planted)


def test_items_that_do_not_add_up_are_refused() -> None:
    [chunk], _ = cut(put(1), learnt(1))
    header = len(b"Rs\x01") + 32
    for wrong in (chunk[:-1], chunk[: header + 3], chunk[:header] + b"x" + chunk[header + 1 :]):
        with pytest.raises(Unreadable):
            list(items(wrong))


def test_positions_are_told_from_other_text() -> None:
    assert is_position("17-4")
    for wrong in ("17", "17-", "-4", "a-b", "17-4-4", "١-1", "1" * 30 + "-1"):
        assert not is_position(wrong)
