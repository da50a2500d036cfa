"""Reading many keys at once, and going through all keys, of one server or of a cluster."""

from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, Protocol

from redis.asyncio import RedisCluster

from proxy.redis_link.errors import Reason, reason_of
from proxy.redis_link.scripts import Command, send_all
from proxy.redis_link.urls import Client


class Server(Protocol):
    """What answers for itself only."""

    def execute_command(self, *arguments: Any) -> Awaitable[Any]:
        """Send a command and give its answer. Raises the library's errors."""


class Slice(NamedTuple):
    """Some of the keys of a server."""

    cursor: int
    """Where the next slice begins; 0 at the end."""
    keys: list[bytes]
    """A key may come more than once."""


async def get_many(client: Client, keys: Sequence[str | bytes]) -> list[bytes | None]:
    """The strings under some keys; None where there is none. Raises the library's errors."""
    if not keys:
        return []
    if not isinstance(client, RedisCluster):
        return list(await client.execute_command("MGET", *keys))
    # The keys of one MGET would have to be in one slot.
    return await ask_all(client, [("GET", key) for key in keys])


async def ask_all(client: Client, commands: Sequence[Command]) -> list[Any]:
    """The answers to commands that are sent in one go.

    None where a command is wrong, as for a key that somebody made another type. Raises the
    library's errors where Redis as a whole does not do what it should.
    """
    answers = await send_all(client, commands)
    for place, answer in enumerate(answers):
        if isinstance(answer, Exception):
            if reason_of(answer) is not Reason.ERROR:
                raise answer
            answers[place] = None
    return answers


async def servers(client: Client) -> list[Server]:
    """Those that have keys: the one there is, or each master of a cluster."""
    if isinstance(client, RedisCluster):
        initialized = await client.initialize()
        return list(initialized.get_primaries())
    return [client]


async def scan(client: Client, *, server: Server, cursor: int, pattern: str, count: int) -> Slice:
    """Go through about `count` keys of a server of this client and give those that fit.

    Raises the library's errors.
    """
    del client  # it has the connections
    answer = await server.execute_command("SCAN", cursor, "MATCH", pattern, "COUNT", count)
    return Slice(int(answer[0]), list(answer[1]))


def literally(text: str) -> str:
    """A pattern that only this text fits."""
    return "".join(f"\\{letter}" if letter in "*?[]^\\" else letter for letter in text)
