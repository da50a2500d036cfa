"""Vectors in Redis: the contract on a real server, isolation, expiry, and what breaks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import numpy as np
import pytest

from proxy.clock import SystemClock
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.ports import VectorIndex
from proxy.redis_link.breaker import FAILURES
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_batch import NoVectorSets
from proxy.semantic.redis_index import RedisIndex
from proxy.tasks import Tasks
from tests.contracts.vector_index import (
    HERE,
    THERE,
    VectorIndexContract,
    key,
    keys,
    vector,
)
from tests.fakes.redis import RedisServer, running_cluster, running_redis
from tests.fakes.redis import until as redis_until

PREFIX = "test"
PATIENT = 5.0
"""Seconds; this machine may be busy."""
LASTS = 30.0
"""Seconds after which a test has failed."""


class Lines:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Fulfils proxy.telemetry.log.Log."""
        self.events.append(f"{level}: {event}")


def ignore(name: str, error: BaseException) -> None:
    raise AssertionError(name) from error


@asynccontextmanager
async def index_at(
    url: str,
    *,
    identity: str = "a model and its digest",
    scan_below: int = 4096,
    deadline: float = PATIENT,
    max_waiting: int = 10_000,
    log: Lines | None = None,
) -> AsyncIterator[RedisIndex]:
    """An index at a server that runs."""
    clock, tasks, log = SystemClock(), Tasks(ignore), log or Lines()
    link = RedisLink(
        url,
        max_connections=8,
        deadline=PATIENT,
        prefix=PREFIX,
        clock=clock,
        tasks=tasks,
        log=log,
    )
    index = RedisIndex(
        link,
        prefix=PREFIX,
        name="small",
        identity=lambda: identity,
        scan_below=scan_below,
        clock=clock,
        tasks=tasks,
        log=log,
        deadline=deadline,
        max_waiting=max_waiting,
    )
    try:
        yield index
    finally:
        await index.close()
        await tasks.drain(1.0)
        await link.close()


@pytest.fixture(scope="module")
def running() -> Iterator[RedisServer]:
    """One server for all that leave it running."""
    server = RedisServer()
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


@pytest.fixture
async def server(running: RedisServer) -> RedisServer:
    """The same, empty."""
    await running.command("FLUSHALL")
    return running


class RedisContract(VectorIndexContract):
    """What memory does at once, Redis does soon."""

    scan_below = 4096

    @pytest.fixture(autouse=True)
    def at(self, server: RedisServer) -> None:
        self.url = server.url

    def make(self) -> AbstractAsyncContextManager[VectorIndex]:
        return index_at(self.url, scan_below=self.scan_below)

    async def settle(self, index: VectorIndex) -> None:
        assert isinstance(index, RedisIndex)
        await index.written()
        await index.counts()

    async def test_an_entry_can_move_to_another_partition(self) -> None:
        """It cannot: an exact key is a digest of what makes the partition, and of the text."""


class TestContract(RedisContract):
    """Redis fulfils the port."""


class TestContractOfAGraph(RedisContract):
    """It does so too where no partition is compared whole."""

    scan_below = 0


async def settled(index: RedisIndex) -> None:
    await index.written()
    await index.counts()


def partition(number: int) -> bytes:
    return number.to_bytes(32, "little")


@pytest.mark.parametrize("scan_below", [0, 4096], ids=["graph", "scan"])
async def test_no_search_of_any_size_leaves_its_partition(
    server: RedisServer, scan_below: int
) -> None:
    sizes = (1, 2, 5, 100)
    async with index_at(server.url, scan_below=scan_below) as index:
        # The same vectors in all of them: only the partition keeps them apart.
        for number, size in enumerate(sizes):
            for turn in range(size):
                index.add(partition(1 + number), key(1000 * number + turn), vector(turn))
        await settled(index)
        for number, size in enumerate(sizes):
            for limit in (1, 2, 3, 5, 50, 100, 250, 1000):
                found = keys(await index.search(partition(1 + number), vector(0), limit))
                assert len(set(found)) == min(limit, size)
                assert {int.from_bytes(one, "big") // 1000 for one in found} == {number}
        assert len(await index.search_all(vector(0), 1000)) == sum(sizes)
        for unknown in (partition(99), b"", bytes(32), b"*", HERE[:-1], HERE + b"h"):
            assert await index.search(unknown, vector(0), 1000) == []


async def test_replicas_find_what_others_have_added(server: RedisServer) -> None:
    async with index_at(server.url) as one, index_at(server.url) as other:
        one.add(HERE, key(1), vector(1))
        await one.written()
        assert keys(await other.search(HERE, vector(1), 5)) == [key(1)]
        other.discard(HERE, key(1))
        await other.written()
        assert await one.search(HERE, vector(1), 5) == []


async def test_an_encoder_never_meets_the_vectors_of_another(server: RedisServer) -> None:
    async with index_at(server.url) as before:
        before.add(HERE, key(1), vector(1))
        await before.written()
    async with index_at(server.url, identity="another model") as changed:
        assert await changed.search(HERE, vector(1), 5) == []
        assert await changed.search_all(vector(1), 5) == []
    async with index_at(server.url) as wider:
        assert await wider.search(HERE, vector(1, dimensions=32), 5) == []
    async with index_at(server.url) as again:
        assert keys(await again.search(HERE, vector(1), 5)) == [key(1)]


async def test_an_encoder_that_is_not_loaded_has_no_vectors_yet(server: RedisServer) -> None:
    async with index_at(server.url, identity="") as index:
        with pytest.raises(NotCompared, match=Uncompared.LOADING):
            await index.search(HERE, vector(1), 5)
        assert await index.sweep() == 0
        assert await index.counts() == {}


async def test_what_has_expired_is_not_found_and_goes(server: RedisServer) -> None:
    now = SystemClock().now()
    async with index_at(server.url) as index:
        for number in range(300):
            # Whoever is to end has ended before it comes to Redis.
            index.add(HERE, key(number), vector(number), until=now + (3600 if number % 3 else -1))
        index.add(THERE, key(1000), vector(1000), until=now - 1)
        await settled(index)
        found = keys(await index.search(HERE, vector(0), 300))
        assert found
        assert all(int.from_bytes(one, "big") % 3 for one in found)
        assert await index.search(THERE, vector(1000), 5) == []
        await server.command("DEL", *await server.command("KEYS", "*:swept"))
        await index.sweep()
        await index.written()
        # What is left of a few are fewer than make another turn worth while.
        assert 200 <= sum((await index.counts()).values()) < 300
        assert len(index) < 300


async def test_a_set_ends_with_its_last_entry(server: RedisServer) -> None:
    now = SystemClock().now()
    async with index_at(server.url) as index:
        index.add(HERE, key(1), vector(1), until=now + 500)
        index.add(HERE, key(2), vector(2), until=now + 100)
        await index.written()
        (name,) = await server.command("KEYS", f"{PREFIX}:vec:*:p:{HERE.hex()}")
        assert 490 < await server.command("TTL", name) <= 501
        index.prolong(HERE, key(2), now + 900)
        index.prolong(HERE, key(3), now + 900)  # unknown
        await index.written()
        assert 890 < await server.command("TTL", name) <= 901
        assert await server.command("VCARD", name) == 2


async def test_one_replica_sweeps_for_all(server: RedisServer) -> None:
    async with index_at(server.url) as one, index_at(server.url) as other:
        for number in range(5):
            one.add(HERE, key(number), vector(number))
        await one.written()
        await server.command("DEL", *await server.command("KEYS", "*:swept") or ["none"])
        await one.sweep()
        assert len(one) == 5
        await other.search(HERE, vector(1), 1)  # it knows the dimensions now
        assert await other.sweep() == 0
        assert len(other) == 5


async def test_only_keys_of_our_prefix_are_touched(server: RedisServer) -> None:
    await server.command("SET", "theirs", "1")
    async with index_at(server.url) as index:
        index.add(HERE, key(1), vector(1))
        await settled(index)
        await index.sweep()
    names = {name.decode() for name in await server.command("KEYS", "*")}
    assert "theirs" in names
    assert all(name.startswith(f"{PREFIX}:vec:") for name in names - {"theirs"})


async def test_a_frozen_redis_costs_no_more_than_the_deadline() -> None:
    log = Lines()
    async with running_redis() as server, index_at(server.url, deadline=0.2, log=log) as index:
        index.add(HERE, key(1), vector(1))
        await index.written()
        server.pause()
        reasons = []
        for _ in range(6):
            async with asyncio.timeout(LASTS):
                with pytest.raises(NotCompared) as caught:
                    await index.search(HERE, vector(1), 5)
            reasons.append(caught.value.reason)
        # The breaker spares the others the wait.
        assert reasons[0] is Uncompared.DEADLINE
        assert reasons[-1] is Uncompared.BROKEN
        assert reasons.count(Uncompared.DEADLINE) <= FAILURES
        index.add(HERE, key(2), vector(2))
        server.resume()
        await index.written(within=15.0)

        async def finds() -> bool:
            try:
                return keys(await index.search(HERE, vector(2), 5)) == [key(2), key(1)]
            except NotCompared:
                return False

        await redis_until(finds)
    assert len(log.events) <= 4


async def test_a_redis_that_comes_back_empty_takes_new_entries() -> None:
    async with running_redis() as server, index_at(server.url) as index:
        index.add(HERE, key(1), vector(1))
        await index.written()
        await server.restart()

        async def answers() -> bool:
            try:
                return await index.search(HERE, vector(1), 5) == []
            except NotCompared:
                return False

        await redis_until(answers)
        index.prolong(HERE, key(1), SystemClock().now() + 100)
        index.add(HERE, key(2), vector(2))
        await index.written(within=15.0)
        assert keys(await index.search(HERE, vector(1), 5)) == [key(2)]


async def test_while_redis_is_gone_so_much_waits_and_no_more() -> None:
    async with running_redis() as server, index_at(server.url, max_waiting=10) as index:
        await server.kill()
        for number in range(50):
            index.add(HERE, key(number), vector(number))
            await asyncio.sleep(0)
        figures = {"vectors_shared": 0, "vectors_waiting": 10, "vectors_left_out": 40}
        assert index.figures() == figures
        await server.start()
        await index.written(within=15.0)
        await index.counts()
        assert len(index) == 10


@asynccontextmanager
async def older_redis() -> AsyncIterator[str]:
    """The URL of what answers as Redis 7 and Valkey do: it knows no command of vector sets."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            words = []
            for _ in range(int(head[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            if words[0] in {b"VADD", b"VSIM", b"VCARD"}:
                said = b"-ERR unknown command '%s', with args beginning with: 'x' \r\n" % words[0]
            else:
                said = b"$-1\r\n" if words[0] == b"GET" else b"+OK\r\n"
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"


async def test_a_redis_without_vector_sets_closes_the_level_and_says_so_once() -> None:
    log = Lines()
    async with older_redis() as url, index_at(url, log=log) as index:
        for _ in range(3):
            index.add(HERE, key(1), vector(1))
            with pytest.raises(NotCompared, match=Uncompared.BROKEN):
                await index.search(HERE, vector(1), 5)
        with pytest.raises(NoVectorSets):
            await index.sweep()
    assert log.events == ["error: redis has no vector sets: nothing is compared"]


async def test_a_user_who_may_not_use_vector_sets_is_told_once(server: RedisServer) -> None:
    await server.command("ACL", "SETUSER", "few", "on", ">pw", "~*", "+@all", "-vsim", "-vadd")
    log = Lines()
    url = server.url.replace("redis://", "redis://few:pw@")
    async with index_at(url, log=log) as index:
        for _ in range(5):
            with pytest.raises(NotCompared, match=Uncompared.BROKEN):
                await index.search(HERE, vector(1), 5)
    assert log.events == ["error: redis has no vector sets: nothing is compared"]


async def test_what_is_not_ours_under_our_names_harms_nothing(server: RedisServer) -> None:
    async with index_at(server.url) as index:
        index.add(HERE, key(1), vector(1))
        index.add(THERE, key(2), vector(2))
        await index.written()
        (name,) = await server.command("KEYS", f"*:p:{HERE.hex()}")
        for element in ("foreign", "00", key(7).hex()):
            planted = vector(1).tobytes()
            await server.command("VADD", name, "FP32", planted, element, "NOQUANT")
        assert keys(await index.search(HERE, vector(1), 5)) == [key(1)]
        await server.command("SET", name, "a string")
        with pytest.raises(NotCompared, match=Uncompared.BROKEN):
            await index.search(HERE, vector(1), 5)
        index.add(HERE, key(1), vector(1))
        await index.written()
        assert index.figures()["vectors_left_out"] == 1
        assert keys(await index.search(THERE, vector(2), 5)) == [key(2)]


async def test_a_closed_index_says_so(server: RedisServer) -> None:
    async with index_at(server.url) as index:
        index.add(HERE, key(1), vector(1))
        await index.close()
        with pytest.raises(NotCompared, match=Uncompared.BROKEN):
            await index.search(HERE, vector(1), 5)
        index.add(HERE, key(2), vector(2))
        index.discard(HERE, key(1))
    async with index_at(server.url) as index:
        assert keys(await index.search(HERE, vector(1), 5)) == [key(1)]


async def test_what_waits_is_written_at_the_end_though_the_loops_have_ended(
    server: RedisServer,
) -> None:
    async with index_at(server.url) as index:
        for number in range(200):
            index.add(HERE, key(number), vector(number))
    async with index_at(server.url) as index:
        await index.search(HERE, vector(1), 1)
        assert await index.counts() == {HERE: 200}


async def test_without_redis_the_end_is_soon() -> None:
    async with running_redis() as server, index_at(server.url) as index:
        await server.kill()
        index.add(HERE, key(1), vector(1))
        async with asyncio.timeout(PATIENT):
            await index.close()


async def test_vectors_are_told_as_far_as_they_can_be_had(server: RedisServer) -> None:
    async with index_at(server.url) as index:
        assert await index.vectors(HERE, [key(1)]) == {}
        index.add(HERE, key(1), vector(1))
        await index.written()
        found = await index.vectors(HERE, [key(1), key(2)])
        assert list(found) == [key(1)]
        assert float(found[key(1)] @ vector(1)) == pytest.approx(1.0, abs=1e-6)
    async with running_redis() as other, index_at(other.url) as index:
        await index.search(HERE, vector(1), 1)
        await other.kill()
        assert await index.vectors(HERE, [key(1)]) == {}


async def test_a_large_partition_is_searched_by_its_graph(server: RedisServer) -> None:
    async with index_at(server.url, scan_below=1000) as index:
        vectors = [vector(number) for number in range(1500)]
        for number, one in enumerate(vectors):
            index.add(HERE, key(number), one)
        await index.written(within=15.0)
        matrix = np.stack(vectors)
        hits = 0
        for number in range(2000, 2050):
            asked = vector(number)
            nearest = {key(int(row)) for row in np.argsort(-(matrix @ asked))[:5]}
            # The first is compared with all, then its size is known.
            hits += len(nearest & set(keys(await index.search(HERE, asked, 5))))
        assert hits >= 0.98 * 50 * 5


async def test_partitions_spread_over_a_cluster() -> None:
    async with running_cluster() as cluster, index_at(cluster.url) as index:
        for number in range(40):
            index.add(partition(number), key(number), vector(number % 4))
        await settled(index)
        assert len(index) == 40
        for number in range(40):
            found = await index.search(partition(number), vector(number % 4), 5)
            assert keys(found) == [key(number)]
        sizes = [len(await node.command("KEYS", "*:p:*")) for node in cluster.nodes]
        assert sum(sizes) == 40
        assert all(sizes)
        assert len(await index.search_all(vector(0), 100)) == 40
