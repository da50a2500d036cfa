"""Exported sets: what is written is read again, and every flaw is told with its place."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.change import Change, Put, Renewed
from proxy.store.exported import (
    END,
    FORMAT,
    MAGIC,
    ExportFlaw,
    ExportReader,
    Head,
    begin,
    frame,
)
from tests.core.values import stored_response

HEAD = Head(2, "ab" * 16, ("centre", "中心"), 1.7e9)
PUT = Put(stored_response(key=b"k" * 32))
RENEWED = Renewed("m*", "e", 1.0, "me")
WHOLE = begin(HEAD) + frame(RENEWED) + frame(PUT) + END


async def read(data: bytes) -> tuple[Head, list[Change], str]:
    """The head, the changes, and the flaw."""
    source = asyncio.StreamReader()
    source.feed_data(data)
    source.feed_eof()
    reader = ExportReader(source)
    head = await reader.head()
    changes: list[Change] = []
    try:
        async for change in reader.changes():
            changes += [change]
    except ExportFlaw as flaw:
        return head, changes, str(flaw)
    return head, changes, ""


async def test_what_is_written_is_read_again() -> None:
    head, changes, flaw = await read(WHOLE)
    assert (head, flaw) == (HEAD, "")
    assert changes[0] == RENEWED
    assert isinstance(changes[1], Put)
    assert changes[1].stored.body == PUT.stored.body


@given(st.integers(len(begin(HEAD)), len(WHOLE) - 1))
def test_wherever_it_is_cut_what_came_before_is_there(length: int) -> None:
    _, changes, flaw = asyncio.run(read(WHOLE[:length]))
    assert "is cut" in flaw
    starts = [len(begin(HEAD)), len(begin(HEAD) + frame(RENEWED))]
    assert len(changes) == sum(length >= end for end in [*starts[1:], len(WHOLE) - len(END)])
    assert f"at byte {max(start for start in [*starts, len(WHOLE) - 4] if start <= length)}" in flaw


@given(st.integers(len(begin(HEAD)), len(WHOLE) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_no_change(place: int, flip: int) -> None:
    data = bytearray(WHOLE)
    data[place] ^= flip
    _, changes, flaw = asyncio.run(read(bytes(data)))
    assert flaw or len(changes) < 2 or place >= len(WHOLE) - 4
    assert all(change == RENEWED or isinstance(change, Put) for change in changes)


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (b"", "no exported set"),
        (b"PK\x03\x04 something else entirely", "no exported set"),
        (MAGIC, "is cut"),
        (MAGIC + b"\xff\xff\xff\xff", "would have 4294967295 bytes"),
        (MAGIC + b"\x00\x00\x00\x02[]", "no exported set"),
        (MAGIC + b"\x00\x00\x00\x02{{", "no exported set"),
        (MAGIC + b'\x00\x00\x00\x0c{"format":1}', "no exported set"),
        (MAGIC + b'\x00\x00\x00\x0c{"format":9}', f"format 9, and this version reads {FORMAT}"),
        (begin(HEAD).replace(b'"centre"', b"12345678"), "no exported set"),
    ],
)
async def test_what_is_no_set_is_refused(data: bytes, flaw: str) -> None:
    with pytest.raises(ExportFlaw, match=flaw):
        await read(data)


async def test_a_later_version_is_told() -> None:
    data = bytearray(WHOLE)
    data[len(begin(HEAD)) + 4 + 2] = 9  # the version in the envelope
    assert "a later version wrote it" in (await read(bytes(data)))[2]
