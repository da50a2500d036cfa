"""Values are written before the log tells of them, and only what was taken is told."""

import asyncio

import pytest

from proxy.clock import SystemClock
from proxy.core.cache.change import Change, Deleted, Purged, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_log import BEGIN, ChangeLog, Record
from proxy.store.redis_queue import ChangeQueue
from proxy.store.redis_small import SmallState
from proxy.store.redis_writer import RECENT, Writer
from proxy.tasks import Tasks
from tests.contracts.journal import PAIRS, lasting, now, recent
from tests.fakes.redis import RedisServer, running_redis
from tests.store.changes import aliased, key
from tests.store.redis_replicas import linked


class Desk:
    """A writer and what is around it."""

    def __init__(self, link: RedisLink, prefix: str) -> None:
        self.link = link
        self.queue = ChangeQueue(max_changes=5_000, max_bytes=1 << 30)
        self.log = ChangeLog(prefix, max_entries=10_000)
        self.small = SmallState(prefix)
        self.purged: list[Purged] = []
        self.writer = Writer(
            link,
            queue=self.queue,
            keys=EntryKeys(prefix, keep_stale=60.0),
            log=self.log,
            small=self.small,
            name=b"me",
            clock=SystemClock(),
            on_purged=self.purged.append,
        )

    async def records(self) -> list[Record]:
        """What the log tells."""
        return await self.link.call(
            lambda client: self.log.read(client, BEGIN, 5_000), deadline=5, important=True
        )

    async def write(self, *changes: Change) -> None:
        """Let some be written now."""
        for change in changes:
            self.queue.add(change)
        while self.queue:
            assert await self.writer.write_batch()


@pytest.fixture
async def desk(redis_link: RedisLink, redis_prefix: str) -> Desk:
    """On the shared server."""
    return Desk(redis_link, redis_prefix)


async def test_every_change_is_told_once(desk: Desk) -> None:
    purged = Purged(Selector(model="x"), soft=False, at=now())
    changes = [recent(1), lasting(1), aliased(2, 1), Deleted(key(3), now())]
    await desk.write(*changes, Rejected(key(4), now(), PAIRS), purged, Renewed("m", "2", now()))
    assert len(await desk.records()) == desk.writer.written == 7
    assert desk.purged == [purged]
    kinds = {type(one) for one in await desk.link.call(desk.small.load, deadline=2)}
    assert kinds == {Rejected, Purged, Renewed}


async def test_what_something_later_stands_for_is_not_told(desk: Desk) -> None:
    await desk.write(recent(1, ago=5.0), Deleted(key(2), now()))
    await desk.write(recent(1, ago=9.0), recent(2))
    assert len(await desk.records()) == 2
    assert desk.writer.refused == 2


async def test_names_of_values_hide_nothing_that_they_should(
    desk: Desk, redis_server: RedisServer, redis_prefix: str
) -> None:
    await desk.write(recent(1), lasting(1))
    names = await redis_server.command("KEYS", f"{redis_prefix}:{{*")
    assert len(names) == 2
    for name in names:
        assert await redis_server.command("TTL", name) > 0
        assert key(1).hex().encode() not in name


async def test_what_could_not_be_written_waits_again() -> None:
    async with running_redis() as server, linked(server.url) as link:
        desk = Desk(link, "p")
        await desk.write(recent(0))
        await server.kill()
        desk.queue.add(waiting := recent(1))
        assert not await desk.writer.write_batch()
        with pytest.raises(LinkDown):
            await desk.writer.write([recent(2)])
        assert desk.queue.take(9, 9) == [waiting]


async def test_a_loop_that_is_cancelled_loses_nothing() -> None:
    async with running_redis() as server, linked(server.url) as link:
        desk = Desk(link, "p")
        await desk.write(recent(0))
        server.pause()
        desk.queue.add(recent(1))
        tasks = Tasks(lambda name, error: None)
        tasks.keep(desk.writer.run, "writer", every=5.0)
        async with asyncio.timeout(5):
            while desk.queue:  # noqa: ASYNC110 - it takes it out without a word
                await asyncio.sleep(0.01)
        await tasks.drain(0)
        assert len(desk.queue) == 1
        assert desk.writer.ended.is_set()
        server.resume()


async def test_what_took_answers_back_lately_is_written_again(desk: Desk) -> None:
    await desk.write(recent(1), *(Deleted(key(number), now()) for number in range(2, RECENT + 9)))
    desk.writer.write_again()
    assert len(desk.queue) == RECENT
