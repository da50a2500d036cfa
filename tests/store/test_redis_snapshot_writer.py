"""A snapshot is written when it is of use, by one of those who could."""

from proxy.store.redis_log import ChangeLog
from proxy.store.snapshot_format import Pointer
from tests.contracts.journal import recent
from tests.fakes.redis import RedisServer
from tests.store.redis_replicas import Replica, replica


async def write(one: Replica) -> bool:
    """Let it look whether one is needed."""
    return await one.journal._snapshot_writer.write_if_needed()


async def test_without_any_change_none_is_written(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        assert not await write(one)
        one.append(recent(1))
        await one.until(lambda: one.figure("written") == 1)
        assert await write(one)
        assert not await write(one)
        assert one.figure("snapshot_items") == 2
        assert one.figure("snapshot_last_success_timestamp_seconds") > 0


async def test_enough_must_have_changed(redis_server: RedisServer, redis_prefix: str) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        one.append(*map(recent, range(200)))
        await one.until(lambda: one.figure("written") == 200)
        assert await write(one)
        one.append(*map(recent, range(200, 203)))
        await one.until(lambda: one.figure("written") == 203)
        assert not await write(one)
        one.append(*map(recent, range(203, 250)))
        await one.until(lambda: one.figure("written") == 250)
        assert await write(one)


async def test_what_another_replica_has_just_written_is_enough(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        one.append(*map(recent, range(10)))
        await other.until(lambda: other.figure("followed") == 10)
        assert await write(one)
        assert not await write(other)
        assert other.figure("snapshot_items") == 20


async def test_while_another_is_at_it_none_is_written(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix) as one:
        one.append(recent(1))
        await one.until(lambda: one.figure("written") == 1)
        token = await one.journal._snapshots.claim()
        assert token is not None
        assert not await write(one)
        await one.journal._snapshots.give_up(token)
        assert await write(one)


async def test_before_the_log_is_full_one_is_written(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    async with replica(redis_server.url, redis_prefix, log_entries=90) as one:
        one.append(*map(recent, range(29)))
        await one.until(lambda: one.figure("written") == 29)
        assert not one.journal._snapshot_writer._is_due()
        one.append(recent(29))
        await one.until(lambda: one.figure("snapshots_written") == 1)


async def test_it_says_up_to_where_the_log_is_in_it(
    redis_server: RedisServer, redis_prefix: str
) -> None:
    url = redis_server.url
    async with replica(url, redis_prefix) as one, replica(url, redis_prefix) as other:
        one.append(*map(recent, range(10)))
        await other.until(lambda: other.figure("followed") == 10)
        assert await write(other)
        [pointer] = await one.journal._snapshots.pointers()
        assert isinstance(pointer, Pointer)
        log = ChangeLog(redis_prefix, max_entries=10)
        state = await one.links[0].call(log.state, deadline=2)
        assert state is not None
        assert pointer.position == f"{state.last[0]}-{state.last[1]}"
