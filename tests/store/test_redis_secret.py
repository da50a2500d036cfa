"""Replicas agree on a secret."""

import asyncio

import pytest

from proxy.redis_link.link import RedisLink
from proxy.store.redis_secret import secret
from tests.fakes.redis import RedisServer
from tests.store.redis_replicas import linked


async def test_all_have_that_of_the_first(redis_link: RedisLink, redis_prefix: str) -> None:
    own = [bytes([number]) * 32 for number in range(8)]
    found = await asyncio.gather(*(secret(redis_link, redis_prefix, one) for one in own))
    assert len(set(found)) == 1
    assert found[0] in own
    assert await secret(redis_link, redis_prefix, b"x" * 32) == found[0]


@pytest.mark.parametrize("planted", [("SET", b"short"), ("RPUSH", b"list")])
async def test_what_is_no_secret_is_replaced(
    planted: tuple[str, bytes], redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    command, value = planted
    await redis_server.command(command, f"{redis_prefix}:secret", value)
    assert await secret(redis_link, redis_prefix, b"x" * 32) == b"x" * 32


async def test_one_that_could_be_guessed_is_not_taken(redis_link: RedisLink) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        await secret(redis_link, "p", b"short")


async def test_without_redis_there_is_none() -> None:
    async with linked("redis://127.0.0.1:1") as link:
        assert await secret(link, "p", b"x" * 32) is None
