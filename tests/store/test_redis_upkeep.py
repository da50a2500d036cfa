"""What was purged goes from Redis, and what Redis lost comes back, without anybody's hurry."""

import asyncio

from proxy.core.cache.change import Purged, Rejected
from proxy.core.cache.selector import Selector
from proxy.store import redis_upkeep
from tests.contracts.journal import PAIRS, lasting, now, recent
from tests.fakes.redis import RedisServer, running_redis, until
from tests.store.changes import key
from tests.store.redis_replicas import replica


async def test_a_soft_purge_removes_nothing(redis_server: RedisServer, redis_prefix: str) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        one.append(recent(1))
        one.journal.append(Purged(Selector(), soft=True, at=now()))
        one.journal.append(Purged(Selector(model="none"), soft=False, at=now()))
        await one.until(lambda: one.figure("written") == 3)
        assert len(await redis_server.command("KEYS", f"{redis_prefix}:*:e")) == 1
        assert one.figure("removed") == 0


async def test_one_replica_at_a_time_writes_again(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        lease = f"{redis_prefix}:restore"
        await redis_server.command("SET", lease, "another", "EX", 30)
        one.append(recent(1), lasting(1))
        await one.until(lambda: one.figure("written") == 2)
        for name in await redis_server.command("KEYS", f"{redis_prefix}:{{*"):
            await redis_server.command("DEL", name)
        one.journal._upkeep.restore()
        assert one.figure("restored") == 0
        await redis_server.command("DEL", lease)
        await one.until(lambda: one.figure("restored") == 2)
        assert await redis_server.command("EXISTS", lease) == 0


async def test_what_is_there_is_not_written_again(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        one.append(*map(recent, range(20)), *map(lasting, range(20)))
        await one.until(lambda: one.figure("written") == 40)
        names = await redis_server.command("KEYS", f"{redis_prefix}:{{*")
        await redis_server.command("DEL", *names[:7])
        one.journal._upkeep.restore()
        await one.until(lambda: not one.journal._upkeep._is_empty)
        assert one.figure("restored") == 7


async def test_a_redis_that_fails_meanwhile_gets_the_rest_later(redis_prefix: str) -> None:
    async with running_redis() as server, replica(server.url, redis_prefix) as one:
        one.append(*map(recent, range(50)), Rejected(key(99), now(), PAIRS))
        await one.until(lambda: one.figure("written") == 51)
        await server.kill()
        one.journal._upkeep.remove(Purged(Selector(model="none"), soft=False, at=now()))
        one.journal._upkeep.restore()
        await asyncio.sleep(0)
        await server.start()

        async def all_are_back() -> bool:
            return len(await server.command("KEYS", f"{redis_prefix}:{{*:e")) == 51

        await until(all_are_back)
        await one.until(lambda: not one.journal._upkeep._purges)
        await until(lambda: server.command("EXISTS", f"{redis_prefix}:rejected"))


async def test_what_is_known_to_be_there_is_learnt_anew_when_it_tells_little(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        one.append(recent(1))
        await one.until(lambda: one.figure("written") == 1)
        for number in range(20_000):
            one.known.add(number.to_bytes(16, "big"))
        assert one.known.fill > redis_upkeep.FULL
        one.journal._upkeep._asked.set()
        await one.until(lambda: one.known.fill < 0.1)
        assert key(1) in one.journal.answers
        assert key(2) not in one.journal.answers
        assert one.known.complete()
