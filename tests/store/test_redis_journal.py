"""The journal in Redis does what every journal must, and lives with whatever Redis does."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from proxy.core.cache.change import Deleted, Purged
from proxy.core.cache.selector import Selector
from proxy.ports import Journal
from tests.contracts.journal import JournalContract, every_kind, lasting, now, recent
from tests.fakes.redis import RedisServer, running_cluster, running_redis
from tests.store.changes import key
from tests.store.redis_replicas import Replica, replica


class TestRedisJournal(JournalContract):
    """Against a real server."""

    @pytest.fixture(autouse=True)
    async def _place(self, redis_server: RedisServer, redis_prefix: str) -> AsyncIterator[None]:
        self._url, self._prefix = redis_server.url, redis_prefix
        self._made: list[Replica] = []
        yield
        for one in self._made:
            await one.close()

    def make(self) -> Journal:
        """A journal of a new process."""
        self._made.append(Replica(self._url, self._prefix))
        return self._made[-1].journal


async def test_the_log_keeps_about_so_many_records(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix, log_entries=200) as one:
        one.append(*map(recent, range(1000)))
        await one.until(lambda: one.figure("written") == 1000)
        assert await redis_server.command("XLEN", f"{redis_prefix}:log") < 500


@pytest.mark.parametrize("way", ["flushed", "restarted"])
async def test_a_redis_that_begins_again_empty_gets_all_back(way: str, redis_prefix: str) -> None:
    async with running_redis() as server:
        async with (
            replica(server.url, redis_prefix) as one,
            replica(server.url, redis_prefix) as other,
        ):
            one.append(*map(recent, range(150)), *map(lasting, range(150)))
            one.append(purged := Purged(Selector(model="old"), soft=False, at=now()))
            await other.until(lambda: len(other.meanings) == 150)
            await server.command("SET", "born", "of somebody else")
            if way == "flushed":
                await server.command("FLUSHDB")
            else:
                await server.restart()
            await other.until(lambda: one.figure("restored") + other.figure("restored") >= 300)
            other.append(recent(999))
            await one.until(lambda: key(999) in one.answers)
            await one.until(one.known.complete)
            assert await server.command("EXISTS", f"{redis_prefix}:purged")
        async with replica(server.url, redis_prefix) as new:
            assert (len(new.answers), len(new.meanings)) == (151, 150)
            assert purged in new.held.values()


async def test_what_could_not_be_written_is_written_later(redis_prefix: str) -> None:
    async with running_redis() as server, replica(server.url, redis_prefix) as one:
        server.pause()
        one.append(*map(recent, range(600)))
        one.append(deleted := Deleted(key(1), now()))
        await one.until(lambda: bool(one.links[0].failures["timeout"]))
        assert one.figure("queue") > 0
        server.resume()
        await one.until(lambda: one.figure("written") == 600)
        assert one.figure("refused") == 1  # what was deleted meanwhile
        async with replica(server.url, redis_prefix) as other:
            assert other.answers == {key(n) for n in range(600)} - {key(1)}
            assert deleted in other.held.values()


async def test_over_the_bound_of_an_outage_only_what_takes_back_is_sure(redis_prefix: str) -> None:
    async with (
        running_redis() as server,
        replica(server.url, redis_prefix, queue_changes=300) as one,
    ):
        await server.kill()
        one.append(deleted := Deleted(key(7000), now()))
        one.append(*map(recent, range(5000)))
        await server.start()
        await one.until(lambda: one.figure("queue") == 0)
        assert 4000 < one.figure("dropped") < 5000
        async with replica(server.url, redis_prefix) as other:
            assert key(4999) in other.answers
            assert deleted in other.held.values()


async def test_it_starts_without_redis_and_loads_when_that_comes(redis_prefix: str) -> None:
    async with running_redis() as server:
        async with replica(server.url, redis_prefix) as one:
            one.append(recent(1))
        server.pause()
        async with asyncio.timeout(5), replica(server.url, redis_prefix) as late:
            assert late.held == {}
            assert not late.known.complete()
            server.resume()
            await late.until(lambda: len(late.answers) == 1)
            await late.until(late.known.complete)


@pytest.mark.parametrize("refusal", ["oom", "readonly"])
async def test_writes_that_are_refused_are_made_later(refusal: str, redis_prefix: str) -> None:
    async with running_redis() as server, replica(server.url, redis_prefix) as one:
        one.append(recent(1))
        await one.until(lambda: one.figure("written") == 1)
        if refusal == "oom":
            await server.configure("maxmemory", "1")
        else:
            await server.command("REPLICAOF", "127.0.0.1", "1")
            await server.configure("replica-serve-stale-data", "yes")
        one.append(recent(2))
        await one.until(lambda: bool(one.links[0].figures()["redis_write_errors"]))
        async with replica(server.url, redis_prefix) as other:  # reading goes on
            await other.until(lambda: other.answers == {key(1)})
        if refusal == "oom":
            await server.configure("maxmemory", "0")
        else:
            await server.command("REPLICAOF", "NO", "ONE")
        await one.until(lambda: one.figure("written") >= 2)
        async with replica(server.url, redis_prefix) as other:
            await other.until(lambda: other.answers == {key(1), key(2)})


async def test_a_purge_removes_from_redis_what_is_ours_only(redis_prefix: str) -> None:
    async with running_redis() as server, replica(server.url, redis_prefix) as one:
        foreign = {f"reprise-of-another:{{{n:032x}}}:e": b"theirs" for n in range(500)}
        await server.command("MSET", *(word for pair in foreign.items() for word in pair))
        await server.command("HSET", f"{redis_prefix}x:h", "a", "b")
        one.append(*(recent(n, model="old") for n in range(300)))
        one.append(*(recent(n, model="new") for n in range(300, 400)))
        await one.until(lambda: one.figure("written") == 400)
        one.append(recent(999, model="old", ago=-60.0))  # it is stored after the purge
        one.append(Purged(Selector(model="o*"), soft=False, at=now()))
        await one.until(lambda: one.figure("removed") == 300)
        assert await server.command("MGET", *foreign) == list(foreign.values())
        assert await server.command("HGET", f"{redis_prefix}x:h", "a") == b"b"
        async with replica(server.url, redis_prefix) as other:
            assert other.answers == {key(n) for n in [*range(300, 400), 999]}


PLANTED = (b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x06planted\x94.", b"", b"9" * 400)


@pytest.mark.parametrize("value", PLANTED)
async def test_what_is_planted_in_any_key_is_not_taken(value: bytes, redis_prefix: str) -> None:
    async with running_redis() as server:
        async with replica(server.url, redis_prefix, snapshot_every=0.1) as one:
            one.append(*every_kind())
            one.append(*map(recent, range(10, 20)), *map(lasting, range(10, 20)))
            await one.until(lambda: one.figure("snapshots_written") > 0)
            one.append(*map(recent, range(20, 30)))
            await one.until(lambda: one.figure("snapshots_written") > 1)
        async with server.client() as client:
            for name in await client.keys("*"):
                kind = await client.type(name)
                if kind == b"hash":
                    for field in await client.hkeys(name):
                        await client.hset(name, field, value)
                elif kind == b"stream":
                    await client.xadd(name, {b"k": b"w", b"d": value})
                    await client.xadd(name, {b"k": b"p", b"x": value or b"-", b"w": value})
                    await client.xadd(name, {b"other": value})
                else:
                    await client.set(name, value)
        async with replica(server.url, redis_prefix, snapshot_every=0.1) as other:
            assert other.answers == set()
            assert other.meanings == set()
            other.append(recent(1))
            await other.until(lambda: other.figure("snapshots_written") > 0)
            async with replica(server.url, redis_prefix) as third:
                assert third.answers == {key(1)}


async def test_keys_of_another_type_are_put_right(redis_prefix: str) -> None:
    async with running_redis() as server:
        names = ["log", "born", "purged", "rejected", "renewed", "restore", "secret"]
        names += [f"{{snap}}:{name}" for name in ("lease", "fence", "current", "previous")]
        for name in names:
            wrong = ("ZADD", f"{redis_prefix}:{name}", 1, "x")
            await server.command(*wrong)
        async with replica(server.url, redis_prefix, snapshot_every=0.1) as one:
            one.append(*every_kind())
            await one.until(lambda: one.figure("snapshots_written") > 0)
            async with replica(server.url, redis_prefix) as other:
                assert len(other.answers) == 3
                assert len([one for one in other.held.values() if isinstance(one, Purged)]) == 1


async def test_under_memory_pressure_it_goes_on(redis_prefix: str) -> None:
    settings = ("--maxmemory", "6mb", "--maxmemory-policy", "allkeys-lru")
    async with running_redis(*settings) as server:
        async with (
            replica(server.url, redis_prefix, snapshot_every=0.2) as one,
            replica(server.url, redis_prefix) as other,
        ):
            for start in range(0, 4000, 100):
                one.append(*(recent(n, body=b"x" * 4000) for n in range(start, start + 100)))
                await one.until(lambda: one.figure("queue") < 200)
            one.append(recent(9999))
            await other.until(lambda: key(9999) in other.answers)
        async with replica(server.url, redis_prefix) as late:
            assert 0 < len(late.answers) < 4000


async def test_a_cluster_serves_as_well() -> None:
    async with running_cluster() as cluster:
        async with (
            replica(cluster.url, "p", snapshot_every=0.1) as one,
            replica(cluster.url, "p") as other,
        ):
            one.append(*every_kind())
            one.append(*map(recent, range(100, 290)), *map(lasting, range(100, 290)))
            await other.until(lambda: len(other.answers) == 193 and len(other.meanings) == 191)
            await one.until(lambda: one.figure("snapshots_written") > 0)
            one.append(Purged(Selector(namespace="n"), soft=False, at=now()))
            await one.until(lambda: one.figure("removed") == 1)
        async with replica(cluster.url, "p") as late:
            assert (len(late.answers), len(late.meanings)) == (192, 191)
            assert late.known.complete()
