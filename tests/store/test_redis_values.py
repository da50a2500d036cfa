"""What is read by its name is what belongs there, or nothing."""

import pytest

from proxy.core.cache.change import Deleted, Put
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.urls import Client
from proxy.store.codec import encode
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_names import Names, digest_of
from proxy.store.redis_values import AT_ONCE, Values
from tests.contracts.journal import lasting, now, recent
from tests.fakes.lines import Lines
from tests.fakes.redis import RedisServer
from tests.store.changes import comparable, key


@pytest.fixture
def lines() -> Lines:
    """What was logged."""
    return Lines()


@pytest.fixture
def values(redis_link: RedisLink, redis_prefix: str, lines: Lines) -> Values:
    """Those of this test."""
    return Values(redis_link, Names(redis_prefix), lines)


async def write(link: RedisLink, prefix: str, *changes: Put) -> None:
    """Put answers there, and how they are found."""
    keys = EntryKeys(prefix, keep_stale=60.0)

    async def work(client: Client) -> list[object]:
        found = [keys.learn(one) for one in map(lasting, range(len(changes)))]  # type: ignore[arg-type]  # they are
        return await ask_all(client, [*(keys.put(change, now()) for change in changes), *found])

    await link.call(work, deadline=5)


async def test_answers_come_in_the_order_asked_for(
    values: Values, redis_link: RedisLink, redis_prefix: str
) -> None:
    stored = [recent(number) for number in range(AT_ONCE + 9)]
    await write(redis_link, redis_prefix, *stored)
    digests = [digest_of(change.stored.key) for change in reversed(stored)]
    digests.insert(3, digest_of(b"absent"))
    found = await values.answers(digests)
    assert list(found) == [digest for digest in digests if digest != digest_of(b"absent")]
    assert [comparable(change) for change in found.values()] == [
        comparable(change) for change in reversed(stored)
    ]
    assert list(await values.meanings(digests[-2:])) == digests[-2:]


async def test_what_was_deleted_is_not_there(
    values: Values, redis_link: RedisLink, redis_prefix: str
) -> None:
    await write(redis_link, redis_prefix, recent(0))
    command = EntryKeys(redis_prefix, keep_stale=60.0).delete(key(0), now())

    async def work(client: Client) -> list[object]:
        return await ask_all(client, [command])

    await redis_link.call(work, deadline=2)
    assert await values.answers([digest_of(key(0))]) == {}
    assert await values.meanings([digest_of(key(0))]) == {}
    assert values.unreadable == 0


async def test_what_belongs_elsewhere_is_not_taken_and_said_once(
    values: Values,
    redis_link: RedisLink,
    redis_server: RedisServer,
    redis_prefix: str,
    lines: Lines,
) -> None:
    await write(redis_link, redis_prefix, recent(0), recent(1))
    names, zero, one = Names(redis_prefix), digest_of(key(0)), digest_of(key(1))
    for name in (names.answer, names.meaning):
        await redis_server.command("COPY", name(zero), name(one), "REPLACE")
    assert list(await values.answers([zero, one])) == [zero]
    assert list(await values.meanings([zero, one])) == [zero]
    await redis_server.command("SET", names.meaning(zero), encode(Deleted(key(0), 1.0)))
    assert await values.meanings([zero]) == {}
    assert values.decoded([b"junk", encode(Deleted(key(0), 1.0))]) == [Deleted(key(0), 1.0)]
    assert values.unreadable == 4
    assert [event for _, event, _ in lines.lines] == ["redis holds what cannot be read"]
