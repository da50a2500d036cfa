"""Goes through the answers in Redis, a few at a time: only under the own prefix, never KEYS."""

from collections.abc import AsyncIterator
from functools import partial

from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import literally, scan, servers
from proxy.store.redis_names import Names

CALL_SECONDS = 5.0
AT_ONCE = 1000
"""Keys that Redis looks at in one call."""


class KeyScan:
    """Finds all answers."""

    def __init__(self, link: RedisLink, prefix: str, names: Names) -> None:
        self._link = link
        self._names = names
        self._pattern = f"{literally(prefix)}:{{*}}:e"

    async def answers(self) -> AsyncIterator[list[bytes]]:
        """The digests of all answers, some at a time, in no order; one may come twice.

        Raises LinkDown.
        """
        for server in await self._link.call(servers, deadline=CALL_SECONDS, important=True):
            cursor = 0
            while True:
                found = await self._link.call(
                    partial(
                        scan, server=server, cursor=cursor, pattern=self._pattern, count=AT_ONCE
                    ),
                    deadline=CALL_SECONDS,
                    important=True,
                )
                digests = map(self._names.digest_in, found.keys)
                yield [digest for digest in digests if digest is not None]
                cursor = found.cursor
                if cursor == 0:
                    break
