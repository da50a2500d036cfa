"""What is written to Redis, what it takes, and what is believed of what comes back."""

import asyncio
import pickle
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proxy.core.cache.change import Put
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Command, send, send_all
from proxy.store.codec import Unreadable, encode
from proxy.store.redis_keys import EntryKeys, read_entry
from tests.conftest import RedisLinks
from tests.core.values import NOW, stored_response
from tests.fakes.redis import RedisServer, running_cluster, running_redis
from tests.store.changes import key, learnt

KEEP_STALE = 600.0
DEADLINE = 2.0
LEASE = 3.0


class Redis:
    """The keys of a test, and what they hold."""

    def __init__(self, link: RedisLink, server: RedisServer, prefix: str) -> None:
        self.link = link
        self.server = server
        self.fence = 0
        self.keys = EntryKeys(prefix, keep_stale=KEEP_STALE, fence_of=lambda _: self.fence)

    async def send(self, command: Command) -> Any:
        return await self.link.call(lambda client: send(client, command), deadline=DEADLINE)

    async def put(self, number: int = 1, *, at: float = NOW, now: float = NOW) -> bool:
        stored = stored_response(key=key(number), created=at, ttl=100.0)
        return bool(await self.send(self.keys.put(Put(stored), now)))

    async def created(self, number: int = 1) -> float | None:
        """When the answer that is there was made; None where there is none."""
        value = await self.value(number)
        entry = read_entry(value, key(number)) if value else None
        return entry.stored.created if entry is not None else None

    async def value(self, number: int = 1) -> bytes:
        value: bytes | None = await self.server.command("GET", self.keys.answer(key(number)))
        return value or b""

    async def claim(self, number: int = 1, *, take: bool = True) -> Any:
        return await self.send(self.keys.claim(key(number), LEASE, take=take))


@pytest.fixture
def redis(redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str) -> Redis:
    return Redis(redis_link, redis_server, redis_prefix)


async def test_an_answer_comes_back_as_it_was(redis: Redis) -> None:
    stored = stored_response(key=key(1), created=NOW, body=bytes(range(256)) * 100)
    assert await redis.send(redis.keys.put(Put(stored), NOW))
    entry = read_entry(await redis.value(), key(1))
    assert entry is not None
    assert entry.stored.body == stored.body
    assert entry.fence == 0


async def test_it_is_kept_while_it_may_be_of_use(redis: Redis) -> None:
    await redis.put(now=NOW + 10)
    left = await redis.server.command("PTTL", redis.keys.answer(key(1)))
    assert (90 + KEEP_STALE - 5) * 1000 < left <= (90 + KEEP_STALE) * 1000


async def test_what_is_of_no_use_any_more_is_not_kept(redis: Redis) -> None:
    await redis.put(now=NOW + 100 + KEEP_STALE + 1)
    await asyncio.sleep(0.005)  # the shortest that Redis keeps something is a millisecond
    assert not await redis.value()


async def test_the_names_of_one_key_are_in_one_slot(redis: Redis) -> None:
    names = [name(key(1)) for name in (redis.keys.answer, redis.keys.lease, redis.keys.meaning)]
    slots = {name[name.index("{") : name.index("}")] for name in names}
    assert len(slots) == 1
    assert key(1).hex() not in names[0]


async def test_the_last_one_wins_by_time(redis: Redis) -> None:
    assert await redis.put(at=NOW)
    assert not await redis.put(at=NOW - 1)
    assert await redis.created() == NOW
    assert await redis.put(at=NOW)  # the same again
    assert await redis.put(at=NOW + 1)
    assert await redis.created() == NOW + 1


async def test_nothing_older_than_its_deletion_comes_back(redis: Redis) -> None:
    await redis.put(at=NOW)
    assert await redis.send(redis.keys.delete(key(1), NOW + 1))
    assert await redis.created() is None
    assert not await redis.put(at=NOW)
    assert not await redis.put(at=NOW + 1)
    assert await redis.created() is None
    assert await redis.put(at=NOW + 2)
    assert await redis.created() == NOW + 2


async def test_a_deletion_spares_what_was_stored_later(redis: Redis) -> None:
    await redis.put(at=NOW)
    assert not await redis.send(redis.keys.delete(key(1), NOW - 1))
    assert await redis.created() == NOW


async def test_a_deletion_is_remembered_for_an_hour(redis: Redis) -> None:
    await redis.send(redis.keys.delete(key(1), NOW))
    assert 3500 < await redis.server.command("TTL", redis.keys.answer(key(1))) <= 3600


async def test_a_deletion_takes_along_how_it_is_found(redis: Redis) -> None:
    now = (await redis.server.command("TIME"))[0]
    assert await redis.send(redis.keys.learn(learnt(1, until=now + 100.0)))
    name = redis.keys.meaning(key(1))
    assert 90 < await redis.server.command("TTL", name) <= 100
    await redis.send(redis.keys.delete(key(1), NOW))
    assert not await redis.server.command("EXISTS", name)


async def test_an_answer_is_written_by_who_holds_the_lease(redis: Redis) -> None:
    redis.fence = await redis.claim()
    assert redis.fence > 0
    assert await redis.put()
    assert not await redis.server.command("EXISTS", redis.keys.lease(key(1)))
    entry = read_entry(await redis.value())
    assert entry is not None
    assert entry.fence == redis.fence


async def test_who_lost_the_lease_writes_nothing(redis: Redis) -> None:
    late = await redis.claim()
    await redis.server.command("DEL", redis.keys.lease(key(1)))  # it has expired
    current = await redis.claim()
    assert current > late
    redis.fence = late
    assert not await redis.put(at=NOW + 10)
    redis.fence = current
    assert await redis.put(at=NOW)
    redis.fence = late
    assert not await redis.put(at=NOW + 10)
    assert await redis.created() == NOW


async def test_a_refresh_without_a_lease_keeps_the_fence(redis: Redis) -> None:
    late, redis.fence = 5, await redis.claim()
    current = redis.fence
    await redis.put(at=NOW)
    redis.fence = 0
    assert await redis.put(at=NOW + 1)
    entry = read_entry(await redis.value(), key(1))
    assert entry is not None
    assert entry.fence == current
    redis.fence = late
    assert not await redis.put(at=NOW + 2)


async def test_a_token_is_larger_than_all_before_though_the_clock_was_set_back(
    redis: Redis,
) -> None:
    seconds, _ = await redis.server.command("TIME")
    redis.fence = ahead = int(seconds * 1_000_000 + 200_000_000)
    await redis.put(at=NOW)
    assert await redis.claim(2) < ahead
    await redis.server.command("PEXPIRE", redis.keys.answer(key(1)), 5000)  # it is stale now
    assert await redis.claim() == ahead + 1


async def test_a_claim_gives_what_is_fresh(redis: Redis) -> None:
    await redis.put(at=NOW)
    assert read_entry(await redis.claim(), key(1)) is not None
    assert not await redis.server.command("EXISTS", redis.keys.lease(key(1)))
    await redis.put(2, at=NOW, now=NOW + 101)
    assert isinstance(await redis.claim(2), int)  # kept, but stale


async def test_one_only_has_a_lease(redis: Redis) -> None:
    assert await redis.claim(take=False) == -1
    token = await redis.claim()
    assert token > 0
    assert await redis.claim() == 0
    assert await redis.claim(take=False) == 0
    assert not await redis.send(redis.keys.extend(key(1), token + 1, 0.0))
    assert await redis.claim() == 0
    assert await redis.send(redis.keys.extend(key(1), token, LEASE))
    assert await redis.send(redis.keys.extend(key(1), token, 0.0))
    assert await redis.claim() > token


@pytest.mark.parametrize("planted", [("SET", "x"), ("LPUSH", "x"), ("SET", "999999999999999999")])
async def test_a_planted_lease_stops_nobody(redis: Redis, planted: tuple[str, str]) -> None:
    command, value = planted
    await redis.server.command(command, redis.keys.lease(key(1)), value)
    assert await redis.claim() > 0


async def test_a_key_of_another_type_is_overwritten(redis: Redis) -> None:
    await redis.server.command("LPUSH", redis.keys.answer(key(1)), "x")
    assert await redis.claim(take=False) == -1
    assert await redis.put(at=NOW)
    assert await redis.created() == NOW


async def test_a_head_from_the_far_future_binds_nobody(redis: Redis) -> None:
    await redis.put(at=NOW)
    value = bytearray(await redis.value())
    value[1] |= 0x80
    await redis.server.command("SET", redis.keys.answer(key(1)), bytes(value))
    with pytest.raises(Unreadable):
        read_entry(bytes(value), key(1))
    assert await redis.put(at=NOW)
    assert await redis.created() == NOW


async def test_many_go_out_together_to_a_cluster(clustered: RedisLink) -> None:
    keys = EntryKeys("reprise", keep_stale=KEEP_STALE)
    commands = [
        keys.put(Put(stored_response(key=key(number), created=NOW)), NOW) for number in range(50)
    ]
    commands += [keys.delete(key(number), NOW + 1) for number in range(10)]
    answers = await clustered.call(
        lambda client: send_all(client, commands), deadline=DEADLINE, important=True
    )
    assert answers == [1] * 60
    values = await clustered.call(
        lambda client: send_all(client, [("GET", keys.answer(key(n))) for n in range(50)]),
        deadline=DEADLINE,
    )
    assert [read_entry(value) is None for value in values] == [True] * 10 + [False] * 40


@pytest.fixture
async def clustered(redis_links: RedisLinks) -> AsyncIterator[RedisLink]:
    async with running_cluster() as cluster, redis_links(cluster.url) as link:
        yield link


async def test_any_flipped_byte_makes_it_unreadable(redis: Redis) -> None:
    redis.fence = await redis.claim()
    await redis.put()
    value = await redis.value()
    for place in [*range(9), *range(17, len(value))]:  # the fence is not of what is served
        flipped = bytearray(value)
        flipped[place] ^= 0x10
        with pytest.raises(Unreadable):
            read_entry(bytes(flipped), key(1))


@pytest.mark.parametrize(
    "planted",
    [
        b"",
        b"x",
        b"\x01" * 17,
        pickle.dumps({"a": 1}),
        b"\x01" + bytes(16) + pickle.dumps({"a": 1}),
        b"\x09" + bytes(200),
        b"\x01" + bytes(16) + encode(learnt(1)),
    ],
)
def test_what_is_foreign_is_unreadable(planted: bytes) -> None:
    with pytest.raises(Unreadable):
        read_entry(planted, key(1))


async def test_the_answer_to_another_question_is_unreadable_here(redis: Redis) -> None:
    await redis.put(1)
    value = await redis.value(1)
    with pytest.raises(Unreadable):
        read_entry(value, key(2))
    for cut in range(len(value)):
        with pytest.raises(Unreadable):
            read_entry(value[:cut], key(1))


async def test_a_deletion_needs_no_memory(redis_links: RedisLinks) -> None:
    async with running_redis() as server, redis_links(server.url) as link:
        redis = Redis(link, server, "reprise")
        await redis.put(at=NOW)
        await server.configure("maxmemory-policy", "noeviction")
        await server.configure("maxmemory", "1")
        assert await redis.send(redis.keys.delete(key(1), NOW + 1))
        assert await redis.created() is None
