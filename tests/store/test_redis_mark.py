"""The mark tells one Redis from the next."""

from proxy.redis_link.link import RedisLink
from proxy.store.redis_mark import Mark
from tests.fakes.redis import RedisServer, running_redis
from tests.store.redis_replicas import linked


async def test_the_first_one_stays(redis_link: RedisLink, redis_prefix: str) -> None:
    one, other = Mark(redis_link, redis_prefix), Mark(redis_link, redis_prefix)
    assert await one.read() is None
    mark = await one.make()
    assert mark is not None
    assert await other.make() == await other.read() == mark


async def test_it_can_be_set_again_as_it_was(redis_link: RedisLink, redis_prefix: str) -> None:
    assert await Mark(redis_link, redis_prefix).make(b"as before") == b"as before"


async def test_what_is_no_mark_gives_way(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await redis_server.command("RPUSH", f"{redis_prefix}:born", "x")
    mark = Mark(redis_link, redis_prefix)
    assert await mark.read() is None
    made = await mark.make()
    assert made is not None
    assert await mark.read() == made


async def test_where_nothing_can_be_written_there_is_none() -> None:
    async with running_redis() as server, linked(server.url) as link:
        await server.configure("maxmemory", "1")
        assert await Mark(link, "p").make() is None
