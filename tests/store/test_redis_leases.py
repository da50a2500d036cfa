"""Leases live as long as their calls, and not much longer."""

import asyncio

import pytest

from proxy.core.cache.change import Put
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import send
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_leases import FREE_AFTER, LEASE_SECONDS, RENEW_SECONDS, Leases
from proxy.tasks import Beat, Tasks
from tests.core.values import NOW, stored_response
from tests.fakes.clock import FakeClock
from tests.fakes.redis import RedisServer, until
from tests.store.changes import key

DEADLINE = 2.0


class Holder:
    """A process with leases in the shared server; its time stands still, that of Redis does not."""

    def __init__(self, link: RedisLink, server: RedisServer, prefix: str) -> None:
        self.clock = FakeClock()
        self.leases = Leases(self.clock)
        self.keys = EntryKeys(prefix, keep_stale=600.0, fence_of=self.leases.fence)
        self.link = link
        self.server = server

    async def take(self, number: int) -> int:
        command = self.keys.claim(key(number), LEASE_SECONDS, take=True)
        token: int = await self.link.call(lambda client: send(client, command), deadline=DEADLINE)
        self.leases.take(key(number), token)
        return token

    async def left(self, number: int) -> float:
        """Seconds that Redis keeps a lease; negative where there is none."""
        milliseconds: int = await self.server.command("PTTL", self.keys.lease(key(number)))
        return milliseconds / 1000

    async def shorten(self, number: int) -> None:
        await self.server.command("PEXPIRE", self.keys.lease(key(number)), 1000)

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.leases.renew(self.link, self.keys)


@pytest.fixture
def holder(redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str) -> Holder:
    return Holder(redis_link, redis_server, redis_prefix)


async def test_a_lease_is_renewed_while_its_call_runs(holder: Holder) -> None:
    await holder.take(1)
    await holder.shorten(1)
    await holder.pass_time(RENEW_SECONDS - 0.1)
    assert await holder.left(1) <= 1.0
    await holder.pass_time(0.1)
    assert await holder.left(1) > 2.0
    for _ in range(20):
        await holder.pass_time(RENEW_SECONDS)
    assert holder.leases.fence(key(1))


async def test_it_is_given_up_a_little_after_the_end(holder: Holder) -> None:
    token = await holder.take(1)
    holder.leases.end(key(1))
    await holder.pass_time(FREE_AFTER - 0.1)
    assert await holder.left(1) > 0
    await holder.pass_time(0.1)
    assert await holder.left(1) < 0
    assert holder.leases.fence(key(1)) == token  # for an answer that is on its way
    await holder.pass_time(LEASE_SECONDS)
    assert holder.leases.fence(key(1)) == 0
    assert len(holder.leases) == 0


async def test_it_is_given_up_once(holder: Holder) -> None:
    await holder.take(1)
    holder.leases.end(key(1))
    holder.leases.end(key(1))
    await holder.pass_time(FREE_AFTER)
    before = holder.link.figures()["redis_attempts"]
    await holder.pass_time(0.1)
    assert holder.link.figures()["redis_attempts"] == before


async def test_another_ones_lease_is_left_alone(holder: Holder) -> None:
    await holder.take(1)
    await holder.server.command("SET", holder.keys.lease(key(1)), "7", "PX", 1000)
    await holder.pass_time(RENEW_SECONDS)
    assert await holder.left(1) <= 1.0
    holder.leases.end(key(1))
    await holder.pass_time(FREE_AFTER)
    assert await holder.server.command("GET", holder.keys.lease(key(1))) == b"7"


async def test_a_lease_that_could_not_be_renewed_is_none(holder: Holder) -> None:
    await holder.take(1)
    await holder.server.command("DEL", holder.keys.lease(key(1)))
    await holder.pass_time(LEASE_SECONDS - 0.1)
    assert holder.leases.fence(key(1))
    await holder.pass_time(0.1)
    assert holder.leases.fence(key(1)) == 0


async def test_many_are_renewed_in_one_round_trip(holder: Holder) -> None:
    for number in range(20):
        await holder.take(number)
    before = holder.link.figures()["redis_attempts"]
    await holder.pass_time(RENEW_SECONDS)
    assert holder.link.figures()["redis_attempts"] == before + 1


async def test_the_end_of_a_call_that_had_no_lease_is_nothing(holder: Holder) -> None:
    holder.leases.end(key(1))
    await holder.pass_time(10.0)
    assert len(holder.leases) == 0


async def test_an_answer_that_is_written_takes_the_lease_along(holder: Holder) -> None:
    await holder.take(1)
    holder.leases.end(key(1))
    command = holder.keys.put(Put(stored_response(key=key(1), created=NOW)), NOW)
    await holder.link.call(lambda client: send(client, command), deadline=DEADLINE)
    assert await holder.left(1) < 0


async def test_the_loop_renews_and_beats(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    holder = Holder(redis_link, redis_server, redis_prefix)
    beats = asyncio.Event()
    tasks = Tasks(lambda name, error: None)

    async def run(_: Beat) -> None:
        await holder.leases.run(beats.set, holder.link, holder.keys)

    tasks.keep(run, "leases", every=5.0)
    async with asyncio.timeout(DEADLINE):
        await beats.wait()
    await holder.take(1)
    await holder.shorten(1)
    holder.clock.advance(RENEW_SECONDS)

    async def is_renewed() -> bool:
        return await holder.left(1) > 2.0

    await until(is_renewed)
    await tasks.drain(0.0)
