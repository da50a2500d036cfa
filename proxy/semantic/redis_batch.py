"""Several commands to the Redis that has the vectors, in one round trip."""

from collections.abc import Iterable
from typing import Any

from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from proxy.semantic.redis_commands import Command, is_unknown


class NoVectorSets(Exception):
    """The server has no vector sets, none as we need them, or none for us."""


async def ask(
    link: RedisLink,
    commands: Iterable[Command],
    *,
    deadline: float,
    important: bool = False,
    writes: bool = False,
) -> list[Any]:
    """What commands are answered with, in their order; for the rest see `RedisLink.call`.

    Raises LinkDown, also where one of them was answered with an error, and NoVectorSets.
    """
    sent = list(commands)
    if not sent:
        return []

    async def work(client: Client) -> list[Any]:
        pipe = client.pipeline(transaction=False)
        for command in sent:
            pipe.execute_command(*command)
        replies = await pipe.execute(raise_on_error=False)
        for reply in replies:
            if isinstance(reply, Exception) and not is_unknown(reply):
                raise reply
        return replies

    replies = await link.call(work, deadline=deadline, important=important, writes=writes)
    if any(map(is_unknown, replies)):
        raise NoVectorSets
    return replies
