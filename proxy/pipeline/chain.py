"""What upstreams that are caches of our kind are told besides requests (mission G5)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from proxy.core.errors import UpstreamBroken, UpstreamError
from proxy.core.exchange import Exchange
from proxy.core.model import Request
from proxy.core.policy import Deadlines, Policy, Pool
from proxy.pipeline.forward import forward
from proxy.ports import Clock, Upstream, UpstreamReply, UpstreamRequest
from proxy.tasks import Tasks

Json: TypeAlias = dict[str, Any]

FEEDBACK_PATH = "/x-cache/feedback"
MAX_WAITING = 64
"""Opinions on their way; what comes while there are so many is dropped and counted."""
PAUSES = (0.5, 2.0)
"""Seconds before an opinion is sent again to an upstream that fails."""
MAX_ANSWER_BYTES = 1 << 20
_DEADLINES = Deadlines(connect=5.0, first_byte=60.0, between_bytes=30.0, total=90.0)


class Chain:
    """Passes on feedback, purges and epochs. An upstream of another kind gets none of it."""

    def __init__(
        self,
        *,
        upstream: Upstream,
        pools: Callable[[], Sequence[Pool]],
        on_feedback: Callable[[str], None],
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        """`pools` are those in force. `on_feedback` is told what became of each opinion: "taken",
        "unknown", "failed" or "dropped"."""
        self._upstream = upstream
        self._pools = pools
        self._on_feedback = on_feedback
        self._tasks = tasks
        self._clock = clock
        self._waiting = 0

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The upstreams that are caches of our kind."""
        return tuple(pool for pool in self._pools() if pool.is_reprise)

    def feedback(
        self, request: Request, said: Mapping[str, object], pools: Sequence[Pool], policy: Policy
    ) -> None:
        """Tell upstreams what a client said, with its own credential, in the background."""
        body = orjson.dumps(said)
        onward = request._replace(
            method="POST", target=FEEDBACK_PATH, path=FEEDBACK_PATH, body=body, length=len(body)
        )
        for pool in pools:
            if self._waiting >= MAX_WAITING:
                self._on_feedback("dropped")
                continue
            self._waiting += 1
            self._tasks.spawn(self._send(onward, pool, policy), "forward-feedback")

    async def _send(self, request: Request, pool: Pool, policy: Policy) -> None:
        result = "failed"
        try:
            for pause in (0.0, *PAUSES):
                await asyncio.sleep(pause)
                status = await self._status(request, pool, policy)
                if status < 500 and status != 429:
                    result = "taken" if 200 <= status < 300 else "unknown"
                    return
        finally:
            self._waiting -= 1
            self._on_feedback(result)

    async def _status(self, request: Request, pool: Pool, policy: Policy) -> int:
        """What the upstream answers; 502 where it does not."""
        exchange = Exchange(self._clock.monotonic(), request.method, request.path)
        try:
            reply = await forward(request, pool, policy, self._upstream, exchange)
            await _read(reply)
        except UpstreamError as error:
            return error.status
        return reply.status

    async def order(self, path: str, body: Json, by: str) -> list[Json]:
        """Have the admin listeners of upstreams do the same; what each of them said.

        Those without an `admin_url` are left out.
        """
        pools = [pool for pool in self.pools if pool.admin_url]
        return list(await asyncio.gather(*(self._order(pool, path, body, by) for pool in pools)))

    async def _order(self, pool: Pool, path: str, body: Json, by: str) -> Json:
        data = orjson.dumps(body)
        request = UpstreamRequest(
            method="POST",
            url=pool.admin_url.rstrip("/") + path,
            fields=(
                (b"Authorization", b"Bearer " + pool.admin_token.encode()),
                (b"Content-Type", b"application/json"),
                (b"X-Actor", by.encode("ascii", "replace")),
            ),
            body=data,
            length=len(data),
            deadlines=_DEADLINES,
            fresh_connection=True,  # a retry could do it twice
            upstream=pool.name,
        )
        try:
            reply = await self._upstream.send(request)
            told = _object(await _read(reply))
        except UpstreamError as error:
            return {"upstream": pool.name, "error": error.message}
        if reply.status == 200 and told is not None:
            return {"upstream": pool.name, **told}
        flaw = told.get("error") if told is not None else None
        message = flaw.get("message") if isinstance(flaw, dict) else None
        return {"upstream": pool.name, "error": message or f"it answered with {reply.status}"}


async def _read(reply: UpstreamReply) -> bytes:
    """The whole body. Raises UpstreamError where it breaks off or is no answer to such a thing."""
    pieces, size = [], 0
    try:
        async for piece in reply.body:
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise UpstreamBroken("The upstream's answer is too long.")
    finally:
        await reply.body.aclose()
    return b"".join(pieces)


def _object(data: bytes) -> Json | None:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
