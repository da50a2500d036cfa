"""A secret that all replicas have in common."""

from functools import partial

from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Script, send

CALL_SECONDS = 2.0
MIN_BYTES = 16
_FIRST = Script("""
-- KEYS: the secret. ARGV: one, for where there is none; bytes that it has at least.
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'string' and #found >= tonumber(ARGV[2]) then return found end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
""")


async def secret(link: RedisLink, prefix: str, own: bytes) -> bytes | None:
    """The secret of the replica that came first; `own` where that is this one.

    None where Redis does not answer, or takes no writes: it may be asked again. What is too short
    to be a secret (16 bytes) is replaced; `own` must not be.
    """
    if len(own) < MIN_BYTES:
        raise ValueError(f"a secret has {MIN_BYTES} bytes at least")
    command = _FIRST.command([f"{prefix}:secret"], [own, MIN_BYTES])
    try:
        found: bytes = await link.call(
            partial(send, command=command), deadline=CALL_SECONDS, important=True, writes=True
        )
    except LinkDown:
        return None
    return found
