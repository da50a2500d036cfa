"""Who begins is given what there is: from a snapshot, from the log, or by looking for it."""

from dataclasses import replace

from proxy.core.cache.change import Learnt, Put
from tests.contracts.journal import lasting, recent
from tests.fakes.redis import RedisServer
from tests.store.changes import aliased, key
from tests.store.redis_replicas import Replica, replica


async def test_a_record_without_its_answer_is_passed_over(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one:
        one.append(recent(1), lasting(1), recent(2))
        await one.until(lambda: one.figure("written") == 3)
        for name in await redis_server.command("KEYS", f"{redis_prefix}:{{*"):
            await redis_server.command("DEL", name)
        async with replica(url, redis_prefix) as other:
            assert other.held == {}


async def test_a_new_one_finds_what_the_log_no_longer_has(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix, log_entries=100) as one:
        one.append(*map(recent, range(500)), *map(lasting, range(500)))
        await one.until(lambda: one.figure("written") == 1000)
        async with replica(redis_server.url, redis_prefix) as other:
            assert (len(other.answers), len(other.meanings)) == (500, 500)
            assert other.known.complete()


async def snapshot(one: Replica) -> None:
    """Let it write one now."""
    assert await one.journal._snapshot_writer.write_if_needed()


async def test_a_snapshot_and_the_log_since_are_one_picture(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as two:
        one.append(*map(recent, range(300)), *map(lasting, range(300)), aliased(900, 7))
        await two.until(lambda: len(two.meanings) == 300 and len(two.held) == 601)
        await snapshot(two)
        one.append(*map(recent, range(300, 350)), *map(lasting, range(300, 350)))
        later = recent(5, ago=1.0, body=b"{}")
        one.append(later)
        await one.until(lambda: one.figure("written") == 702)
        await redis_server.command("XTRIM", f"{redis_prefix}:log", "MAXLEN", 150)
        async with replica(url, redis_prefix) as new:
            assert new.answers == set(map(key, range(350)))
            assert new.meanings == set(map(key, range(350))) - {key(5)}
            assert aliased(900, 7) in new.held.values()
            assert new.figure("gaps") == 0
            assert new.known.complete()


async def test_answers_come_oldest_first_each_before_how_it_is_found(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one:
        one.append(*map(recent, range(400)), *map(lasting, range(400)))
        await one.until(lambda: one.figure("written") == 800)
        for way in ("log", "snapshot"):
            if way == "snapshot":
                await snapshot(one)
            async with replica(url, redis_prefix, max_entries=100) as new:
                held = list(new.held.values())
                answers = [one.stored.key for one in held if isinstance(one, Put)]
                assert answers == list(map(key, range(300, 400)))
                for at, change in enumerate(held):
                    if isinstance(change, Learnt):
                        before = held[at - 1]
                        assert isinstance(before, Put)
                        assert before.stored.key == change.key
                assert key(1) in new.journal.answers  # it was not taken in, and is known


async def test_vectors_of_another_encoder_come_as_they_are(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    """Who takes them in knows which encoders there are (case B40)."""
    url = redis_server.url
    async with replica(url, redis_prefix) as one:
        change = lasting(1)
        assert isinstance(change, Learnt)
        one.append(recent(1), other := replace(change, encoder="old@1", vector=bytes(768 * 4)))
        await one.until(lambda: one.figure("written") == 2)
        await snapshot(one)
        async with replica(url, redis_prefix) as new:
            assert other in new.held.values()
