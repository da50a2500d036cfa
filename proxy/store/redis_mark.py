"""A mark that every Redis gets once: it is gone, or another, when Redis has begun again empty."""

import secrets
from functools import partial

from proxy.redis_link.errors import WRITE_REFUSALS, LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.scripts import Script, send
from proxy.redis_link.urls import Client

CALL_SECONDS = 2.0
_MAKE = Script("""
-- KEYS: the mark. ARGV: one, for where there is none.
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'string' then return found end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
""")


class Mark:
    """All methods raise LinkDown."""

    def __init__(self, link: RedisLink, prefix: str) -> None:
        self._link = link
        self._key = f"{prefix}:born"

    async def read(self) -> bytes | None:
        """The mark of Redis as it is now; None where there is none."""

        async def work(client: Client) -> bytes | None:
            [found] = await ask_all(client, [("GET", self._key)])
            return found if isinstance(found, bytes) else None

        return await self._link.call(work, deadline=CALL_SECONDS, important=True)

    async def make(self, mine: bytes | None = None) -> bytes | None:
        """Put one there, unless there is one; the one that is there.

        None where nothing can be written.
        """
        mark = mine or secrets.token_hex(8).encode()
        try:
            found: bytes = await self._link.call(
                partial(send, command=_MAKE.command([self._key], [mark])),
                deadline=CALL_SECONDS,
                important=True,
                writes=True,
            )
        except LinkDown as error:
            if error.reason in WRITE_REFUSALS:
                return None
            raise
        return found
