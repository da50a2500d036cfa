"""Many keys at once, of one server and of a cluster."""

import pytest
from redis.exceptions import OutOfMemoryError

from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all, get_many, literally, scan, servers
from proxy.redis_link.urls import Client, connect
from tests.fakes.redis import RedisServer, running_cluster, running_redis


async def all_keys(client: Client, pattern: str) -> set[bytes]:
    """What a scan of all servers finds."""
    found: set[bytes] = set()
    for server in await servers(client):
        cursor = -1
        while cursor:
            part = await scan(
                client, server=server, cursor=max(0, cursor), pattern=pattern, count=10
            )
            found.update(part.keys)
            cursor = part.cursor
    return found


async def test_many_are_read_in_order(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await redis_server.command("MSET", f"{redis_prefix}:a", "1", f"{redis_prefix}:c", "3")
    await redis_server.command("RPUSH", f"{redis_prefix}:b", "x")
    names = [f"{redis_prefix}:{name}" for name in "abcd"]

    async def work(client: Client) -> tuple[list[bytes | None], list[bytes | None]]:
        return await get_many(client, names), await get_many(client, [])

    assert await redis_link.call(work, deadline=2) == ([b"1", None, b"3", None], [])


async def test_a_scan_finds_what_fits_the_pattern_only(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    mine = {f"{redis_prefix}[1]*:{number}".encode() for number in range(50)}
    for name in (*mine, *(f"{redis_prefix}1x:{number}" for number in range(50))):
        await redis_server.command("SET", name, "v")

    async def work(client: Client) -> set[bytes]:
        return await all_keys(client, literally(f"{redis_prefix}[1]*") + ":*")

    assert await redis_link.call(work, deadline=5) == mine


async def test_a_command_that_is_wrong_gives_none_and_one_refused_raises() -> None:
    async with running_redis() as server:
        connected = connect(server.url, max_connections=2)
        try:
            commands = [("SET", "a", "1"), ("HGET", "a", "x"), ("GET", "a")]
            answers = await ask_all(connected.client, commands)
            assert answers[1:] == [None, b"1"]
            await server.configure("maxmemory", "1")
            with pytest.raises(OutOfMemoryError):
                await ask_all(connected.client, commands)
        finally:
            for client in connected.closing:
                await client.aclose()


async def test_a_cluster_is_read_as_one_server_is() -> None:
    async with running_cluster() as cluster:
        connected = connect(cluster.url, max_connections=4)
        try:
            names = [f"p:{{{number}}}:e" for number in range(60)]
            await ask_all(connected.client, [("SET", name, name) for name in names])
            assert await get_many(connected.client, names) == [name.encode() for name in names]
            assert await all_keys(connected.client, "p:*") == {name.encode() for name in names}
        finally:
            for client in connected.closing:
                await client.aclose()
