"""Lua scripts, and many commands in one round trip; sent by digest where Redis knows a script."""

import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias

from redis.exceptions import NoScriptError

from proxy.redis_link.urls import Client

Command: TypeAlias = tuple[Any, ...]
"""The words of a command."""

_SOURCES: dict[str, str] = {}
"""All scripts of this process, by their digests."""


class Script:
    """One script. In a cluster the keys of a run must be of one slot."""

    def __init__(self, source: str) -> None:
        # Redis names its scripts so; nothing is kept secret or sealed by it.
        self._digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        _SOURCES[self._digest] = source

    def command(
        self, keys: Sequence[bytes | str], arguments: Sequence[bytes | str | int]
    ) -> Command:
        """A run of it, for `send` or `send_all`."""
        return ("EVALSHA", self._digest, len(keys), *keys, *arguments)


async def send(client: Client, command: Command) -> Any:
    """The answer to one command. Raises the library's errors."""
    try:
        return await client.execute_command(*command)
    except NoScriptError:
        return await client.execute_command(*_with_source(command))


async def send_all(client: Client, commands: Sequence[Command]) -> list[Any]:
    """The answers to some commands, in order, in one round trip to each server concerned.

    Where one was answered with an error, that stands in its place; the others have run all the
    same. Raises the library's errors where there was no answer.
    """
    answers = await _pipe(client, commands)
    unknown = [at for at, one in enumerate(answers) if isinstance(one, NoScriptError)]
    if unknown:
        again = await _pipe(client, [_with_source(commands[at]) for at in unknown])
        for at, answer in zip(unknown, again, strict=True):
            answers[at] = answer
    return answers


async def _pipe(client: Client, commands: Sequence[Command]) -> list[Any]:
    pipe = client.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    return await pipe.execute(raise_on_error=False)


def _with_source(command: Command) -> Command:
    return ("EVAL", _SOURCES[command[1]], *command[2:])
