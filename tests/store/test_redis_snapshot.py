"""A reader finds a whole snapshot or an earlier one, whatever happened to who wrote (case B39)."""

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from proxy.core.cache.change import Change, Learnt
from proxy.redis_link.link import RedisLink
from proxy.store.codec import decode
from proxy.store.redis_names import digest_of
from proxy.store.redis_snapshot import Snapshots
from proxy.store.snapshot_format import Kind, Pointer, encode_pointer, items
from tests.fakes.lines import Lines
from tests.fakes.redis import RedisServer, running_redis
from tests.store.changes import aliased, key, learnt
from tests.store.redis_replicas import replica

NOW = 1_760_000_000.0


@pytest.fixture
def lines() -> Lines:
    """What was logged."""
    return Lines()


@pytest.fixture
def snapshots(redis_link: RedisLink, redis_prefix: str, lines: Lines) -> Snapshots:
    """Those of this test."""
    return Snapshots(redis_link, redis_prefix, lines)


async def batches(*changes: Change) -> AsyncIterator[Sequence[Change]]:
    """Changes as the cache gives them."""
    for change in changes:
        yield [change]


async def digests(*numbers: int) -> AsyncIterator[Sequence[bytes]]:
    """Digests as a scan gives them."""
    yield [digest_of(key(number)) for number in numbers]


def big(text: str, count: int = 25) -> list[Learnt]:
    """Changes for several chunks that are of one snapshot."""
    return [learnt(number, text=text, vector=bytes(100_000)) for number in range(count)]


async def write(snapshots: Snapshots, *changes: Change, token: int | None = None) -> Pointer | None:
    """Write one."""
    token = token or await snapshots.claim()
    assert token is not None
    try:
        return await snapshots.write(
            token, digests(1, 2), batches(*changes), position="5-0", now=NOW
        )
    finally:
        await snapshots.give_up(token)


async def found(snapshots: Snapshots) -> set[str]:
    """The texts in the newest that is whole."""
    newest = await snapshots.newest()
    if newest is None:
        return set()
    changes = [decode(item.data) for chunk in newest.chunks for item in items(chunk) if item.data]
    return {change.text for change in changes if isinstance(change, Learnt)}


async def test_one_that_was_written_is_read(snapshots: Snapshots) -> None:
    assert await snapshots.newest() is None
    pointer = await write(snapshots, learnt(1), aliased(3, 1))
    newest = await snapshots.newest()
    assert newest is not None
    assert newest.pointer == pointer
    assert (newest.pointer.position, newest.pointer.encoders) == ("5-0", ("minilm@1",))
    [chunk] = newest.chunks
    assert [item.kind for item in items(chunk)] == [
        *(Kind.ENTRY, Kind.ENTRY),
        *(Kind.LEARNT, Kind.OTHER),
    ]


async def test_only_one_writes_at_a_time(snapshots: Snapshots) -> None:
    first = await snapshots.claim()
    assert first is not None
    assert await snapshots.claim() is None
    await snapshots.give_up(first)
    second = await snapshots.claim()
    assert second is not None
    assert second > first


async def test_who_was_overtaken_switches_nothing(
    snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str
) -> None:
    slow = await snapshots.claim()
    assert slow is not None
    await redis_server.command("DEL", f"{redis_prefix}:{{snap}}:lease")  # it has run out
    assert await write(snapshots, *big("fast")) is not None
    # It believes that it still holds the lease, and has all chunks in place.
    await redis_server.command("SET", f"{redis_prefix}:{{snap}}:lease", slow, "PX", 20_000)
    assert await write(snapshots, *big("slow"), token=slow) is None
    assert await found(snapshots) == {"fast"}
    assert await redis_server.command("KEYS", f"{redis_prefix}:snap:{slow}:*") == []


async def test_who_lost_the_lease_stops(
    snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str
) -> None:
    token = await snapshots.claim()
    assert token is not None
    async with redis_server.client() as client:
        await client.ping()

        async def interrupted() -> AsyncIterator[Sequence[Change]]:
            yield big("a")
            await client.delete(f"{redis_prefix}:{{snap}}:lease")
            yield big("b")

        pointer = await snapshots.write(token, digests(), interrupted(), position="5-0", now=NOW)
    assert pointer is None
    assert await snapshots.newest() is None


async def test_all_others_but_the_one_before_are_deleted(
    snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str
) -> None:
    pointers = [await write(snapshots, *big(str(number))) for number in range(4)]
    names = await redis_server.command("KEYS", f"{redis_prefix}:snap:*")
    kept = {name.split(b":")[2] for name in names}
    assert kept == {b"%d" % pointer.generation for pointer in pointers[2:] if pointer is not None}
    for name in names:
        assert await redis_server.command("TTL", name) > 3600


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "newer", "swapped", "other type"])
async def test_a_damaged_one_gives_way_to_the_one_before(
    damage: str, snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str, lines: Lines
) -> None:
    await write(snapshots, *big("before"))
    pointer = await write(snapshots, *big("now"))
    assert pointer is not None
    name = f"{redis_prefix}:snap:{pointer.generation}:1"
    chunk = await redis_server.command("GET", name)
    await redis_server.command("DEL", name)
    damaged = {
        "cut": chunk[: len(chunk) * 9 // 10],
        "flipped": chunk[:5000] + bytes([chunk[5000] ^ 1]) + chunk[5001:],
        "newer": chunk[:2] + b"\x02" + chunk[3:],
        "swapped": await redis_server.command("GET", name[:-1] + "0"),
    }
    if damage in damaged:
        await redis_server.command("SET", name, damaged[damage])
    elif damage == "other type":
        await redis_server.command("RPUSH", name, chunk)
    assert await found(snapshots) == {"before"}
    assert await found(snapshots) == {"before"}
    assert snapshots.broken == 2
    assert len(lines.lines) == 1


async def test_without_any_that_is_whole_there_is_none(
    snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str
) -> None:
    for text in ("before", "now"):
        pointer = await write(snapshots, *big(text))
        assert pointer is not None
        await redis_server.command("DEL", f"{redis_prefix}:snap:{pointer.generation}:0")
    assert await snapshots.newest() is None


async def test_one_of_a_larger_number_that_is_older_does_not_stay_in_the_way(
    snapshots: Snapshots, redis_server: RedisServer, redis_prefix: str
) -> None:
    pointer = await write(snapshots, *big("old"))
    assert pointer is not None
    future = Pointer(2**52, 400, 9, "1-0", NOW, (), "00")
    for name in ("current", "fence"):
        await redis_server.command("SET", f"{redis_prefix}:{{snap}}:{name}", encode_pointer(future))
    later = await write(snapshots, *big("new"))
    assert later is not None
    assert later.generation > 2**52
    assert await found(snapshots) == {"new"}


async def test_two_replicas_that_write_at_once_leave_one_whole(redis_prefix: str) -> None:
    async with (
        running_redis() as server,
        replica(server.url, redis_prefix, snapshot_every=0.02) as one,
        replica(server.url, redis_prefix, snapshot_every=0.02) as other,
    ):
        for number in range(60):
            (one, other)[number % 2].append(learnt(number, until=4e9, text="x" * 30_000))
            await asyncio.sleep(0.01)
        await one.until(lambda: len(one.meanings) == len(other.meanings) == 60)
        written = one.figure("snapshots_written") + other.figure("snapshots_written")
        assert written > 1
        assert one.figure("snapshots_broken") + other.figure("snapshots_broken") == 0
        newest = await one.journal._snapshots.newest()
        assert newest is not None


async def test_a_writer_that_is_killed_leaves_one_whole(redis_prefix: str) -> None:
    """Thirty times, at any moment."""
    chance = random.Random(4)
    async with (
        running_redis() as server,
        replica(server.url, redis_prefix) as reader,
        writers(server.url, redis_prefix, "300") as start,
    ):
        generations = []
        for _ in range(30):
            await server.command("DEL", f"{redis_prefix}:{{snap}}:lease")
            process = await start()
            await asyncio.sleep(chance.uniform(0.0, 0.05))
            os.kill(process, signal.SIGKILL)
            newest = await reader.journal._snapshots.newest()
            assert newest is not None
            assert reader.journal._snapshots.broken == 0
            generations.append(newest.pointer.generation)
            learnts = [item for chunk in newest.chunks for item in items(chunk) if item.data]
            assert len(learnts) == 300
        assert generations == sorted(set(generations))


@contextlib.asynccontextmanager
async def writers(*arguments: str) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Starts processes that write snapshots; each has written one when its id is returned."""
    nursery = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.store.redis_child", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    commands, words = nursery.stdin, nursery.stdout

    earlier: set[int] = set()

    async def start() -> int:
        commands.write(b"go\n")
        async with asyncio.timeout(20):
            while (process := int(await words.readline())) in earlier:
                pass  # what it had said before it was killed
        earlier.add(process)
        return process

    try:
        yield start
    finally:
        # All of them: whoever holds its output would be waited for.
        os.killpg(nursery.pid, signal.SIGKILL)
        await nursery.wait()
