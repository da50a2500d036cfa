"""Scripts, sent by their digest where Redis knows them."""

import pytest
from redis.exceptions import ResponseError

from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Call, Script
from tests.fakes.redis import RedisServer

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
DEADLINE = 2.0


async def test_a_script_is_sent_when_redis_does_not_know_it(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    call = Call([f"{redis_prefix}:a"], [2])
    await redis_server.command("SCRIPT", "FLUSH")
    assert await redis_link.call(lambda client: ADD.run(client, call), deadline=DEADLINE) == 2
    assert await redis_link.call(lambda client: ADD.run(client, call), deadline=DEADLINE) == 4


async def test_each_of_many_runs_once_and_in_order(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    calls = [Call([f"{redis_prefix}:b"], [1]) for _ in range(5)]
    for first in (1, 6):  # not known, known
        answers = await redis_link.call(
            lambda client: ADD.run_all(client, calls), deadline=DEADLINE
        )
        assert answers == list(range(first, first + 5))


async def test_one_that_fails_does_not_stop_the_others(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await redis_server.command("SET", f"{redis_prefix}:text", "no number")
    calls = [Call([f"{redis_prefix}:text"], [1]), Call([f"{redis_prefix}:c"], [1])]

    async def refused(client: object) -> None:
        with pytest.raises(ResponseError):
            await ADD.run_all(client, calls)  # type: ignore[arg-type]  # the link's own client

    await redis_link.call(refused, deadline=DEADLINE)
    assert await redis_server.command("GET", f"{redis_prefix}:c") == b"1"
