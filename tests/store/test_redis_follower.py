"""What others change is taken in at once, and what was missed is found again."""

from proxy.core.cache.change import Deleted, Rejected
from tests.contracts.journal import PAIRS, lasting, now, recent
from tests.fakes.redis import RedisServer, running_redis, until
from tests.store.changes import key
from tests.store.redis_replicas import replica


async def test_an_answer_of_another_replica_is_told_of(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        one.append(recent(1), lasting(1))
        await other.until(lambda: bool(other.meanings))
        assert other.arrived == [key(1)]
        assert key(1) in other.journal.answers
        assert key(1) in one.journal.answers
        assert key(2) not in other.journal.answers
        assert other.known.complete()
        assert one.arrived == []


async def test_what_was_trimmed_before_it_was_read_is_loaded(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        async with other.stalled():
            one.append(recent(0))
            await other.until(lambda: other.is_stalled)
            one.append(*map(recent, range(1, 300)), *map(lasting, range(1, 300)))
            one.append(verdict := Rejected(key(500), now(), PAIRS))
            await one.until(lambda: one.figure("written") == 600)
            await redis_server.command("XTRIM", f"{redis_prefix}:log", "MAXLEN", 10)
        await other.until(lambda: len(other.answers) == 300 and len(other.meanings) == 299)
        await other.until(lambda: other.figure("loads") == 2)
        assert other.figure("gaps") == 1
        assert verdict in other.held.values()
        assert other.known.complete()


async def test_a_log_that_has_vanished_is_begun_again(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        one.append(recent(1))
        await other.until(lambda: len(other.answers) == 1)
        await redis_server.command("DEL", f"{redis_prefix}:log")
        await other.until(lambda: other.figure("gaps") == 1 and other.known.complete())
        one.append(recent(2))
        await other.until(lambda: len(other.answers) == 2)


async def test_a_mark_that_has_vanished_alone_is_set_again(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with (
        replica(redis_server.url, redis_prefix) as one,
        replica(redis_server.url, redis_prefix) as other,
    ):
        one.append(recent(1))
        await other.until(lambda: len(other.answers) == 1)
        mark = await redis_server.command("GET", f"{redis_prefix}:born")
        await redis_server.command("DEL", f"{redis_prefix}:born")

        async def is_back() -> bool:
            return bool(await redis_server.command("GET", f"{redis_prefix}:born") == mark)

        await until(is_back)
        one.append(recent(2))
        await other.until(lambda: len(other.answers) == 2)
        assert other.figure("gaps") == 0


async def test_what_another_server_never_saw_is_written_again(redis_prefix: str) -> None:
    """It has the end of the log no longer, as after a failover."""
    async with running_redis() as server, replica(server.url, redis_prefix) as one:
        one.append(recent(1))
        await one.until(lambda: one.figure("written") == 1)
        async with server.client() as client:
            early = await client.dump(f"{redis_prefix}:log")
            assert early is not None
            one.append(verdict := Rejected(key(5), now(), PAIRS), deleted := Deleted(key(1), now()))
            await one.until(lambda: one.figure("written") == 3)
            names = await client.keys(f"{redis_prefix}:{{*")
            await client.delete(f"{redis_prefix}:rejected", *names)
            await client.restore(f"{redis_prefix}:log", 0, early, replace=True)
        await one.until(lambda: one.figure("written") == 5)
        await until(lambda: server.command("EXISTS", f"{redis_prefix}:rejected"))
        async with replica(server.url, redis_prefix) as other:
            assert verdict in other.held.values()
            assert deleted in other.held.values()
            assert other.answers == set()


async def test_records_of_a_newer_version_are_passed_over(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        log = f"{redis_prefix}:log"
        await redis_server.command("XADD", log, "*", "k", "z", "x", "new")
        await redis_server.command("XADD", log, "*", "k", "w", "d", b"Rp\x09\x01" + bytes(40))
        one.append(recent(1))
        await other.until(lambda: other.answers == {key(1)})
        assert other.figure("unreadable_values") == 1
        assert other.figure("log_lag_seconds") < 60
