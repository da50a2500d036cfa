"""Scripts, sent by their digest where Redis knows them."""

from redis.exceptions import ResponseError

from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Script, send, send_all
from tests.fakes.redis import RedisServer

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
DEADLINE = 2.0


async def test_a_script_is_sent_when_redis_does_not_know_it(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    command = ADD.command([f"{redis_prefix}:a"], [2])
    await redis_server.command("SCRIPT", "FLUSH")
    assert await redis_link.call(lambda client: send(client, command), deadline=DEADLINE) == 2
    assert await redis_link.call(lambda client: send(client, command), deadline=DEADLINE) == 4


async def test_each_of_many_runs_once_and_in_order(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    commands = [ADD.command([f"{redis_prefix}:b"], [1]) for _ in range(5)]
    commands.insert(2, ("GET", f"{redis_prefix}:none"))
    await redis_server.command("SCRIPT", "FLUSH")
    for first in (1, 6):  # not known, known
        answers = await redis_link.call(
            lambda client: send_all(client, commands), deadline=DEADLINE
        )
        assert answers.pop(2) is None
        assert answers == list(range(first, first + 5))


async def test_one_that_fails_does_not_stop_the_others(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await redis_server.command("SET", f"{redis_prefix}:text", "no number")
    commands = [
        ADD.command([f"{redis_prefix}:text"], [1]),
        ADD.command([f"{redis_prefix}:c"], [1]),
    ]
    refused, taken = await redis_link.call(
        lambda client: send_all(client, commands), deadline=DEADLINE
    )
    assert isinstance(refused, ResponseError)
    assert taken == 1
