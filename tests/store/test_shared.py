"""What replicas ask of one Redis, against a real one; a Redis that fails costs nothing but time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from proxy.clock import SystemClock
from proxy.core.cache.bloom import KnownKeys
from proxy.core.cache.change import Put
from proxy.core.cache.value import StoredResponse
from proxy.redis_link.breaker import FAILURES, PROBE_EVERY
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Command, send
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_leases import Leases
from proxy.store.shared import POLL_SECONDS, SharedEntries
from proxy.tasks import Tasks
from tests.conftest import RedisLinks
from tests.core.values import stored_response
from tests.fakes.lines import Lines
from tests.fakes.raw_redis import RawRedis
from tests.fakes.redis import RedisServer, running_redis, running_sentinel, until
from tests.store.changes import key

CALL_SECONDS = 2.0
LASTS = 30.0
"""Seconds after which a test has failed."""
PATIENCE = 10.0


class Replica:
    """One of the processes that share a Redis."""

    def __init__(self, link: RedisLink, prefix: str, deadline: float) -> None:
        self.link = link
        self.known = KnownKeys(1000)
        self.tasks = Tasks(lambda name, error: None)
        self.leases = Leases(SystemClock())
        self.keys = EntryKeys(prefix, keep_stale=600.0, fence_of=self.leases.fence)
        self.shared = SharedEntries(
            link,
            keys=self.keys,
            leases=self.leases,
            known=self.known,
            deadline=deadline,
            tasks=self.tasks,
        )
        self.shared.start()

    async def send(self, command: Command) -> object:
        answer: object = await self.link.call(
            lambda client: send(client, command), deadline=CALL_SECONDS, important=True
        )
        return answer

    async def put(self, number: int, *, body: bytes = b"answer", ttl: float = 100.0) -> None:
        """What the journal does."""
        now = SystemClock().now()
        stored = stored_response(key=key(number), created=now, ttl=ttl, body=body)
        assert await self.send(self.keys.put(Put(stored), now))

    def figure(self, name: str) -> float:
        return self.shared.figures()[f"redis_{name}"]


@contextlib.asynccontextmanager
async def replica_of(
    links: RedisLinks, url: str, *, prefix: str = "reprise", deadline: float = 1.0
) -> AsyncIterator[Replica]:
    async with links(url, deadline=deadline, prefix=prefix) as link:
        replica = Replica(link, prefix, deadline)
        try:
            yield replica
        finally:
            await replica.tasks.drain(0.0)


@pytest.fixture
async def one(
    redis_links: RedisLinks, redis_server: RedisServer, redis_prefix: str
) -> AsyncIterator[Replica]:
    async with replica_of(redis_links, redis_server.url, prefix=redis_prefix) as replica:
        yield replica


@pytest.fixture
async def other(
    redis_links: RedisLinks, redis_server: RedisServer, redis_prefix: str
) -> AsyncIterator[Replica]:
    async with replica_of(redis_links, redis_server.url, prefix=redis_prefix) as replica:
        yield replica


def body(stored: StoredResponse | None) -> bytes | None:
    return stored.body if stored is not None else None


async def test_what_one_replica_stores_the_other_fetches(one: Replica, other: Replica) -> None:
    await one.put(1)
    assert body(await other.shared.fetch(key(1))) == b"answer"
    assert await other.shared.fetch(key(2)) is None
    assert (other.figure("fetches"), other.figure("hits")) == (2, 1)


async def test_a_stale_answer_is_fetched_too(one: Replica) -> None:
    await one.put(1, ttl=0.0)
    assert body(await one.shared.fetch(key(1))) == b"answer"


async def test_a_long_answer_is_read_in_a_thread(one: Replica) -> None:
    long = b"x" * 1_000_000
    await one.put(1, body=long)
    assert body(await one.shared.fetch(key(1))) == long


async def test_redis_is_not_asked_for_what_is_surely_absent(one: Replica) -> None:
    before = one.link.figures()["redis_attempts"]
    one.known.add(key(1))
    one.known.finish()
    assert await one.shared.fetch(key(2)) is None
    assert one.link.figures()["redis_attempts"] == before
    assert one.figure("fetches_spared") == 1
    await one.put(1)
    assert body(await one.shared.fetch(key(1))) == b"answer"


async def test_what_cannot_be_believed_is_not_served(
    one: Replica, redis_server: RedisServer
) -> None:
    await one.put(1)
    good = await redis_server.command("GET", one.keys.answer(key(1)))
    flipped = bytearray(good)
    flipped[-1] ^= 1
    for number, value in enumerate((bytes(flipped), good, b"\x80\x04pickle.", b""), start=2):
        await redis_server.command("SET", one.keys.answer(key(number)), value, "PX", 900_000)
        assert await one.shared.fetch(key(number)) is None
        assert await one.shared.claim(key(number), 0.0) is None
    assert one.figure("unreadable") == 6  # a claim believes no head that is not ours
    await redis_server.command("LPUSH", one.keys.answer(key(9)), "x")
    assert await one.shared.fetch(key(9)) is None
    assert not one.link.is_open


async def test_a_deleted_answer_is_not_there(one: Replica) -> None:
    await one.put(1)
    await one.send(one.keys.delete(key(1), SystemClock().now()))
    assert await one.shared.fetch(key(1)) is None
    assert one.figure("unreadable") == 0


async def test_the_second_waits_for_the_first_ones_answer(one: Replica, other: Replica) -> None:
    assert await one.shared.claim(key(1), PATIENCE) is None
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(other.shared.claim(key(1), PATIENCE))
        await until(lambda: _is(other.figure("waits") == 1))
        await one.put(1)
        one.shared.release(key(1))
    assert body(waiting.result()) == b"answer"
    assert other.figure("waits_served") == 1
    assert len(other.leases) == 0


async def _is(value: bool) -> bool:
    return value


async def test_who_is_told_of_an_answer_looks_at_once(
    one: Replica, other: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.store.shared.POLL_SECONDS", 1000.0)
    assert await one.shared.claim(key(1), PATIENCE) is None
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(other.shared.claim(key(1), PATIENCE)) for _ in range(3)]
        await until(lambda: _is(other.figure("waits") == 3))
        await one.put(1)
        other.shared.arrived(key(2))
        other.shared.arrived(key(1))
    assert [body(task.result()) for task in waiting] == [b"answer"] * 3
    other.shared.arrived(key(1))  # nobody waits any more


async def test_a_claim_gives_what_is_there_already(one: Replica, other: Replica) -> None:
    await one.put(1)
    assert body(await other.shared.claim(key(1), PATIENCE)) == b"answer"
    assert len(other.leases) == 0


async def test_a_stale_answer_does_not_stop_a_call(one: Replica, other: Replica) -> None:
    await one.put(1, ttl=0.0)
    assert await one.shared.claim(key(1), PATIENCE) is None
    assert len(one.leases) == 1
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(other.shared.claim(key(1), PATIENCE))
        await until(lambda: _is(other.figure("waits") == 1))
        await one.put(1, body=b"fresh")
    assert body(waiting.result()) == b"fresh"


async def test_a_call_that_stores_nothing_lets_the_next_one_go(
    one: Replica, other: Replica
) -> None:
    assert await one.shared.claim(key(1), PATIENCE) is None
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(other.shared.claim(key(1), PATIENCE))
        await until(lambda: _is(other.figure("waits") == 1))
        one.shared.release(key(1))
    assert waiting.result() is None
    assert len(other.leases) == 1  # it calls, and others may wait for it


async def test_patience_ends(one: Replica, other: Replica) -> None:
    assert await one.shared.claim(key(1), PATIENCE) is None
    assert await other.shared.claim(key(1), 0.0) is None
    assert await other.shared.claim(key(1), POLL_SECONDS / 2) is None
    assert (other.figure("waits"), other.figure("waits_over")) == (1, 1)
    assert len(other.leases) == 0


async def test_a_replica_that_died_is_waited_for_as_long_as_its_lease(
    one: Replica, other: Replica, redis_server: RedisServer
) -> None:
    assert await one.shared.claim(key(1), PATIENCE) is None
    await one.tasks.drain(0.0)  # it renews nothing any more
    await redis_server.command("PEXPIRE", one.keys.lease(key(1)), 200)
    assert await other.shared.claim(key(1), PATIENCE) is None
    assert other.figure("waits_over") == 0
    assert len(other.leases) == 1


async def test_one_that_waits_may_be_cancelled(one: Replica, other: Replica) -> None:
    assert await one.shared.claim(key(1), PATIENCE) is None
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(other.shared.claim(key(1), PATIENCE))
        await until(lambda: _is(other.figure("waits") == 1))
        waiting.cancel()
    other.shared.arrived(key(1))
    assert await other.shared.fetch(key(1)) is None


async def test_a_flushed_redis_is_empty_and_no_more(redis_links: RedisLinks) -> None:
    async with running_redis() as server, replica_of(redis_links, server.url) as replica:
        await replica.put(1)
        assert await replica.shared.claim(key(2), PATIENCE) is None
        await server.command("FLUSHDB")
        assert await replica.shared.fetch(key(1)) is None
        assert await replica.shared.claim(key(1), PATIENCE) is None
        await replica.put(2)
        assert body(await replica.shared.fetch(key(2))) == b"answer"


async def test_a_frozen_redis_costs_its_deadline_a_few_times(
    redis_links: RedisLinks, redis_log: Lines
) -> None:
    loop = asyncio.get_running_loop()
    async with (
        running_redis() as server,
        replica_of(redis_links, server.url, deadline=0.05) as replica,
    ):
        await replica.put(1)
        server.pause()
        before, began = replica.link.failures["timeout"], loop.time()
        async with asyncio.timeout(LASTS):
            for _ in range(200):
                assert await replica.shared.fetch(key(1)) is None
                assert await replica.shared.claim(key(1), PATIENCE) is None
        waited = replica.link.failures["timeout"] - before
        # Of 400 calls; and tries once a second, for which nobody waits.
        assert waited <= FAILURES + PROBE_EVERY * (loop.time() - began) + 1
        server.resume()

        async def is_back() -> bool:
            return await replica.shared.fetch(key(1)) is not None

        await until(is_back)
        assert redis_log.told("state")[0] == "slow"
        assert redis_log.told("state")[-1] == "up"


async def test_who_waits_goes_on_alone_when_redis_dies(redis_links: RedisLinks) -> None:
    async with (
        running_redis() as server,
        replica_of(redis_links, server.url) as one,
        replica_of(redis_links, server.url) as other,
    ):
        assert await one.shared.claim(key(1), PATIENCE) is None
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(other.shared.claim(key(1), PATIENCE))
            await until(lambda: _is(other.figure("waits") == 1))
            await server.kill()
        assert waiting.result() is None
        assert other.figure("waits_over") == 0


async def test_a_full_redis_is_read_and_delays_nobody(redis_links: RedisLinks) -> None:
    async with running_redis() as server, replica_of(redis_links, server.url) as replica:
        await replica.put(1)
        await server.configure("maxmemory-policy", "noeviction")
        await server.configure("maxmemory", "1")
        assert body(await replica.shared.fetch(key(1))) == b"answer"
        assert await replica.shared.claim(key(2), PATIENCE) is None
        assert len(replica.leases) == 0
        assert replica.link.figures()["redis_write_errors"] == 1


async def test_a_redis_that_evicts_is_as_good(redis_links: RedisLinks) -> None:
    async with running_redis() as server, replica_of(redis_links, server.url) as replica:
        used = (await server.command("INFO", "memory"))["used_memory"]
        await server.configure("maxmemory-policy", "allkeys-lru")
        await server.configure("maxmemory", str(used + 2_000_000))
        for number in range(100):
            await replica.put(number, body=bytes(100_000))
        found = [await replica.shared.fetch(key(number)) for number in range(100)]
        assert 0 < sum(stored is not None for stored in found) < 100
        assert not replica.link.figures()["redis_write_errors"]


async def test_a_replica_of_redis_is_read_only(redis_links: RedisLinks) -> None:
    async with running_sentinel() as (_, master, follower):
        async with replica_of(redis_links, master.url) as writer:
            await writer.put(1)
        async with replica_of(redis_links, follower.url) as replica:
            await until(lambda: _is_there(replica))
            assert await replica.shared.claim(key(2), PATIENCE) is None
            assert replica.link.figures()["redis_writes_refused"] == 1


async def _is_there(replica: Replica) -> bool:
    return await replica.shared.fetch(key(1)) is not None


async def test_a_user_who_may_use_our_keys_only_can_do_all_of_it(
    redis_links: RedisLinks,
) -> None:
    user = [
        "--user",
        "me",
        "on",
        ">secret",
        "~reprise*",
        "+@read",
        "+@write",
        "+@scripting",
        "+time",
    ]
    async with running_redis(*user) as server:
        url = server.url.replace("//", "//me:secret@")
        async with replica_of(redis_links, url) as replica:
            assert await replica.shared.claim(key(1), PATIENCE) is None
            await replica.put(1)
            assert body(await replica.shared.fetch(key(1))) == b"answer"
            await replica.send(replica.keys.delete(key(1), SystemClock().now()))
        async with replica_of(redis_links, url, prefix="other") as replica:
            assert await replica.shared.fetch(key(1)) is None
            assert replica.link.failures["denied"] == 1


@pytest.mark.parametrize("answer", [b"+OK\r\n", b":7.5\r\n", b"*1\r\n$1\r\nx\r\n", b"$-1\r\n"])
async def test_answers_of_another_kind_are_none(redis_links: RedisLinks, answer: bytes) -> None:
    async def odd(_: list[bytes]) -> bytes:
        return answer

    async with RawRedis(odd) as server, replica_of(redis_links, server.url) as replica:
        assert await replica.shared.fetch(key(1)) is None
        assert await replica.shared.claim(key(1), 0.0) is None
        assert len(replica.leases) == 0


async def test_nothing_but_our_own_keys_is_touched(redis_links: RedisLinks) -> None:
    asked: list[bytes] = []

    async def note(words: list[bytes]) -> bytes:
        if words[0] in (b"EVAL", b"EVALSHA"):
            asked.extend(words[3 : 3 + int(words[2])])
        else:
            asked.append(words[1])
        return b"$-1\r\n"

    async with RawRedis(note) as server, replica_of(redis_links, server.url) as replica:
        await replica.shared.fetch(key(1))
        await replica.shared.claim(key(1), 0.0)
        await replica.send(replica.keys.delete(key(1), 1.0))
        await replica.send(replica.keys.put(Put(stored_response(key=key(1))), 1.0))
        await replica.send(replica.keys.extend(key(1), 1, 0.0))
    assert len(asked) == 8
    assert all(name.startswith(b"reprise:{") for name in asked)


async def test_another_call_of_the_same_process_does_not_wait_for_itself(
    one: Replica, other: Replica
) -> None:
    assert await one.shared.claim(key(1), 5.0) is None
    assert await one.shared.claim(key(1), 5.0) is None
    one.shared.release(key(1))
    assert one.leases.fence(key(1))
    waiting = asyncio.gather(other.shared.claim(key(1), 10.0))
    await one.put(1)
    one.shared.release(key(1))
    [found] = await waiting
    assert found is not None
