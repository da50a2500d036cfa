"""Lua scripts, many calls in one round trip, sent by their digest where Redis knows them."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError

from proxy.redis_link.urls import Client


class Call(NamedTuple):
    """One run of a script. In a cluster its keys must be of one slot."""

    keys: Sequence[bytes | str]
    arguments: Sequence[bytes | str | int]


class Script:
    """One script."""

    def __init__(self, source: str) -> None:
        self._source = source
        # Redis names its scripts so; nothing is kept secret or sealed by it.
        self._digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    async def run(self, client: Client, call: Call) -> Any:
        """Run it once. Raises the library's errors."""
        try:
            return await client.execute_command("EVALSHA", self._digest, *_flat(call))
        except NoScriptError:
            return await client.execute_command("EVAL", self._source, *_flat(call))

    async def run_all(self, client: Client, calls: Sequence[Call]) -> list[Any]:
        """Run it for each, in one round trip to each server, and give the answers in order.

        Raises the first error that one was answered with; the others have run all the same.
        """
        answers = await self._send(client, "EVALSHA", self._digest, calls)
        unknown = [at for at, one in enumerate(answers) if isinstance(one, NoScriptError)]
        if unknown:
            again = [calls[at] for at in unknown]
            found = await self._send(client, "EVAL", self._source, again)
            for at, answer in zip(unknown, found, strict=True):
                answers[at] = answer
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    async def _send(
        self, client: Client, command: str, script: str, calls: Sequence[Call]
    ) -> list[Any]:
        pipe = client.pipeline(transaction=False)
        for call in calls:
            pipe.execute_command(command, script, *_flat(call))
        return await pipe.execute(raise_on_error=False)


def _flat(call: Call) -> list[bytes | str | int]:
    return [len(call.keys), *call.keys, *call.arguments]
