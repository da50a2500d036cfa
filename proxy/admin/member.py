"""Asks a worker's own admin listener, for the one that all workers have together."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from proxy.admin.merge import Answer, Json

ASK_SECONDS = 60.0
"""Explaining may wait for an encoder to be loaded."""
STREAM_SECONDS = 3600.0
"""A large set of answers may take so long to be imported."""
_ACTOR = "X-Actor"
"""Who asks, for the audit list."""
_BETWEEN_TWO = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}
"""Fields of a request that are about its connection."""


class Member(NamedTuple):
    """A worker that has begun to serve and has not ended."""

    number: int
    run: int
    """How many processes of this number there were before; one that died is begun again."""
    socket: str
    """The path of its admin listener's socket."""


Ask: TypeAlias = Callable[[Member], Coroutine[Any, Any, Answer | None]]
"""Asks one worker; gets None where it has died, SILENT where it does not answer in time."""
SILENT = Answer(
    504, b'{"error": {"message": "A worker does not answer in time."}}', "application/json"
)


def asking(
    request: web.Request,
    body: bytes = b"",
    *,
    target: URL | None = None,
    seconds: float | None = None,
    accept: str = "",
) -> Ask:
    """Asks a worker what was asked of us, or `target` in its place, within ASK_SECONDS.

    With `accept` in place of the field of that name.
    """

    async def ask(member: Member) -> Answer | None:
        try:
            async with (
                asyncio.timeout(ASK_SECONDS if seconds is None else seconds),
                _session(member) as session,
                _sent(session, request, target or request.rel_url, body, accept) as response,
            ):
                content_type = response.headers.get("Content-Type", "")
                return Answer(response.status, await response.read(), content_type)
        except TimeoutError:
            return SILENT
        except (OSError, aiohttp.ClientError):
            return None

    return ask


async def begun(
    request: web.Request,
    member: Member,
    body: aiohttp.StreamReader | None,
    stack: contextlib.AsyncExitStack,
) -> aiohttp.ClientResponse | None:
    """The head of one worker's answer; None where there is none. `stack` ends the exchange."""
    session = await stack.enter_async_context(_session(member))
    try:
        async with asyncio.timeout(ASK_SECONDS if body is None else STREAM_SECONDS):
            return await stack.enter_async_context(_sent(session, request, request.rel_url, body))
    except (OSError, aiohttp.ClientError):
        return None


async def relayed(request: web.Request, response: aiohttp.ClientResponse) -> web.StreamResponse:
    """A worker's answer, piece by piece. What fails in its middle ends the connection."""
    fields = [(n, v) for n, v in response.headers.items() if n.lower() not in _BETWEEN_TWO]
    told = web.StreamResponse(status=response.status, headers=CIMultiDict(fields))
    await told.prepare(request)
    async for piece in response.content.iter_any():
        await told.write(piece)
    await told.write_eof()
    return told


def _session(member: Member) -> aiohttp.ClientSession:
    """For one exchange: nothing is left over that a worker's death could break."""
    return aiohttp.ClientSession(
        connector=aiohttp.UnixConnector(member.socket, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
    )


def _sent(
    session: aiohttp.ClientSession,
    request: web.Request,
    target: URL,
    body: bytes | aiohttp.StreamReader | None,
    accept: str = "",
) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
    replaced = _BETWEEN_TWO | {"accept"} if accept else _BETWEEN_TWO
    fields = [(n, v) for n, v in request.headers.items() if n.lower() not in replaced]
    if accept:
        fields.append(("Accept", accept))
    if _ACTOR not in request.headers:  # to the worker all come from us
        fields.append((_ACTOR, request.remote or ""))
    return session.request(
        request.method,
        URL("http://worker").join(target),
        headers=fields,
        data=body or None,
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        allow_redirects=False,
    )


def read(answer: Answer) -> Json:
    """A worker's JSON; nothing where it said something else."""
    try:
        told = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}
