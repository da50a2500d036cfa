"""A flight and its readers, without a socket."""

import asyncio

import pytest

from proxy.core.errors import UpstreamBroken
from proxy.core.model import Response
from proxy.pipeline.collapse import WINDOW_BYTES, Flight, Reader, SlowReader
from tests.fakes.body import SilentBody

KEEP = 100
PIECE = b"x" * (WINDOW_BYTES // 2)


class Alone:
    """Counts how often a flight lost its last reader."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, flight: Flight) -> None:
        self.times += 1


def flight(keep_bytes: int = KEEP, on_alone: Alone | None = None) -> Flight:
    return Flight(keep_bytes=keep_bytes, on_alone=on_alone or Alone())


def response(length: int | None = None) -> Response:
    return Response(200, b"OK", b"X: 1\r\n", SilentBody(), length)


async def rest(reader: Reader) -> bytes:
    return b"".join([piece async for piece in reader])


def has_ended(reader: Reader) -> bool:
    return reader.at_end


async def settle() -> None:
    """Let every task that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_readers_wait_for_the_head_and_get_themselves_as_the_body() -> None:
    one = flight()
    reader = one.attach()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(reader.response())
        await settle()
        assert not waiting.done()
        one.begin(response(7))
    head = waiting.result()
    assert head.body is reader
    assert (head.status, head.head, head.length) == (200, b"X: 1\r\n", 7)


async def test_every_reader_gets_every_byte_from_the_first() -> None:
    one = flight()
    early = one.attach()
    one.begin(response())
    await one.append(b"ab")
    assert early.ready() == b"ab"
    await one.append(b"c")
    late = one.attach()
    async with asyncio.TaskGroup() as group:
        texts = [group.create_task(rest(reader)) for reader in (early, late)]
        await settle()
        await one.append("d光".encode())
        one.finish()
    assert [task.result() for task in texts] == ["cd光".encode(), "abcd光".encode()]
    assert one.body() == "abcd光".encode()
    assert one.tail() == "d光".encode()


async def test_the_end_is_known_once_all_was_taken() -> None:
    one = flight()
    reader = one.attach()
    await one.append(b"ab")
    assert reader.ready() == b"ab"
    assert reader.ready() == b""
    assert not has_ended(reader)
    one.finish()
    assert has_ended(reader)
    assert not has_ended(one.attach())


async def test_a_failure_before_the_head_is_everybodys() -> None:
    one = flight()
    readers = [one.attach(), one.attach()]
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(_failure(reader)) for reader in readers]
        await settle()
        one.finish(UpstreamBroken("gone"))
    assert [task.result() for task in waiting] == ["gone", "gone"]


async def _failure(reader: Reader) -> str:
    with pytest.raises(UpstreamBroken) as caught:
        await reader.response()
    return caught.value.message


async def test_a_failure_after_the_head_comes_behind_the_bytes() -> None:
    one = flight()
    reader = one.attach()
    one.begin(response())
    await one.append(b"ab")
    one.finish(UpstreamBroken("cut"))
    assert await anext(reader) == b"ab"
    assert not reader.at_end
    with pytest.raises(UpstreamBroken, match="cut"):
        await anext(reader)


async def test_closing_releases_all_who_wait() -> None:
    one = flight()
    reader = one.attach()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_failure(reader))
        changed = group.create_task(one.changed())
        await settle()
        assert not changed.done()
        one.close()
    assert "given up" in waiting.result()
    assert one.is_settled


async def test_an_end_is_not_changed_by_a_later_one() -> None:
    one = flight()
    one.finish()
    one.finish(UpstreamBroken("late"))
    one.close()
    assert one.error is None


async def test_the_last_reader_to_leave_is_told_of() -> None:
    alone = Alone()
    one = flight(on_alone=alone)
    first, second = one.attach(), one.attach()
    await first.aclose()
    await first.aclose()
    assert (alone.times, one.is_read) == (0, True)
    await second.aclose()
    assert (alone.times, one.is_read) == (1, False)
    third = one.attach()
    one.finish()
    await third.aclose()
    assert alone.times == 1


async def test_a_log_over_its_bound_is_no_longer_whole() -> None:
    one = flight(keep_bytes=5)
    one.attach()
    await one.append(b"12345")
    assert (one.is_whole, one.is_settled) == (True, False)
    await one.append(b"6")
    assert (one.is_whole, one.is_settled) == (False, True)


async def test_without_readers_nothing_holds_the_upstream_back() -> None:
    one = flight()
    for _ in range(10):
        await one.append(PIECE)


async def test_the_upstream_waits_for_the_fastest_reader() -> None:
    one = flight()
    reader = one.attach()
    async with asyncio.TaskGroup() as group:
        feeding = group.create_task(_feed(one, 8))
        taken = 0
        for _ in range(8):
            await settle()
            ahead = sum(map(len, one._log))
            assert ahead <= WINDOW_BYTES + len(PIECE)
            taken += len(reader.ready())
        await settle()
        assert feeding.done()
    assert taken + len(reader.ready()) == 8 * len(PIECE)


async def _feed(one: Flight, pieces: int) -> None:
    for _ in range(pieces):
        await one.append(PIECE)


async def test_a_reader_that_leaves_lets_the_upstream_go_on() -> None:
    one = flight()
    reader = one.attach()
    async with asyncio.TaskGroup() as group:
        feeding = group.create_task(_feed(one, 8))
        await settle()
        assert not feeding.done()
        await reader.aclose()
    assert feeding.done()


async def test_a_slow_reader_is_left_behind_and_the_log_moves_on() -> None:
    one = flight()
    fast, slow = one.attach(), one.attach()
    for _ in range(8):
        await one.append(PIECE)
        assert fast.ready() == PIECE
    assert slow.is_detached
    assert sum(map(len, one._log)) <= WINDOW_BYTES + 2 * len(PIECE)
    assert slow.ready() == b""
    assert not slow.at_end
    with pytest.raises(SlowReader):
        await anext(slow)
    one.finish()
    assert fast.at_end
    assert not slow.at_end


async def test_a_slow_reader_within_the_window_loses_nothing() -> None:
    one = flight()
    fast, slow = one.attach(), one.attach()
    pieces = [bytes([number]) * (WINDOW_BYTES // 4) for number in range(12)]
    seen = b""
    for number, piece in enumerate(pieces):
        await one.append(piece)
        assert fast.ready() == piece
        if number % 3 == 2:
            seen += slow.ready()
    one.finish()
    assert seen + await rest(slow) == b"".join(pieces)


async def test_a_kept_log_is_never_shed_and_holds_nobody_back() -> None:
    one = flight(keep_bytes=100 * len(PIECE))
    slow = one.attach()
    for _ in range(10):
        await one.append(PIECE)
    one.finish()
    assert len(await rest(slow)) == 10 * len(PIECE)
    assert one.is_whole
