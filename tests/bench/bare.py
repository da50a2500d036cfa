"""The counterparts: the least an aiohttp server can do for a hit, and for passing through.

`python -m tests.bench.bare hit PORT` and `python -m tests.bench.bare pass PORT UPSTREAM`.
"""

import hashlib
import sys
from collections.abc import AsyncIterator

import uvloop
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web
from multidict import CIMultiDict
from yarl import URL

from tests.bench.work import CHAT_ANSWER, CHAT_FRAMES, request_body

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def hit_application() -> web.Application:
    """Looks the body's digest up in a dict and writes fixed bytes."""
    answers = {
        hashlib.sha256(request_body(stream=False)).digest(): (CHAT_ANSWER, "application/json"),
        hashlib.sha256(request_body(stream=True)).digest(): (
            b"".join(CHAT_FRAMES),
            "text/event-stream",
        ),
    }

    async def answer(request: web.Request) -> web.Response:
        known = answers.get(hashlib.sha256(await request.read()).digest())
        if known is None:
            raise web.HTTPNotFound
        body, content_type = known
        return web.Response(body=body, content_type=content_type)

    async def is_ready(request: web.Request) -> web.Response:
        return web.Response()

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    application.router.add_get("/v1/models", is_ready)
    return application


def _end_to_end(fields: CIMultiDict[str]) -> CIMultiDict[str]:
    for name in _HOP_BY_HOP:
        fields.popall(name, None)
    return fields


def pass_application(upstream: str) -> web.Application:
    """Sends every request on and streams the answer through."""
    session_key = web.AppKey("session", ClientSession)

    async def session(application: web.Application) -> AsyncIterator[None]:
        async with ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None),
            auto_decompress=False,
        ) as opened:
            application[session_key] = opened
            yield

    async def forward(request: web.Request) -> web.StreamResponse:
        async with request.app[session_key].request(
            request.method,
            URL(upstream + request.raw_path, encoded=True),
            headers=_end_to_end(CIMultiDict(request.headers)),
            data=await request.read() or None,
            allow_redirects=False,
        ) as reply:
            response = web.StreamResponse(
                status=reply.status, headers=_end_to_end(CIMultiDict(reply.headers))
            )
            response.content_length = reply.content_length
            await response.prepare(request)
            async for chunk in reply.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    application = web.Application()
    application.cleanup_ctx.append(session)
    application.router.add_route("*", "/{tail:.*}", forward)
    return application


def main(arguments: list[str]) -> None:
    """Serve until SIGTERM."""
    kind, port, *rest = arguments
    web.run_app(
        hit_application() if kind == "hit" else pass_application(rest[0]),
        host="127.0.0.1",
        port=int(port),
        access_log=None,
        print=None,
        loop=uvloop.new_event_loop(),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
