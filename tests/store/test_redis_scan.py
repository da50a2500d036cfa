"""All answers are found, and nothing else."""

from proxy.redis_link.link import RedisLink
from proxy.store.redis_names import Names, digest_of
from proxy.store.redis_scan import KeyScan
from tests.fakes.redis import RedisServer, running_cluster
from tests.store.changes import key
from tests.store.redis_replicas import linked


async def found(link: RedisLink, prefix: str) -> set[bytes]:
    """The digests that it gives."""
    scan = KeyScan(link, prefix, Names(prefix))
    return {digest async for digests in scan.answers() for digest in digests}


async def test_answers_are_found_by_their_names(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    digests = {digest_of(key(number)) for number in range(2500)}
    names = Names(redis_prefix)
    pairs = [word for digest in digests for word in (names.answer(digest), "v")]
    others = [names.meaning(digest_of(b"m")), f"{redis_prefix}:{{snap}}:e", f"x{redis_prefix}:e"]
    await redis_server.command("MSET", *pairs, *(word for name in others for word in (name, "v")))
    assert await found(redis_link, redis_prefix) == digests


async def test_all_servers_of_a_cluster_are_looked_through() -> None:
    async with running_cluster() as cluster, linked(cluster.url) as link:
        digests = {digest_of(key(number)) for number in range(40)}
        for digest in digests:
            await link.call(
                lambda client, digest=digest: client.execute_command(  # type: ignore[misc]  # the default names the digest
                    "SET", Names("p").answer(digest), "v"
                ),
                deadline=2,
            )
        assert await found(link, "p") == digests
