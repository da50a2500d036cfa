"""What the admin listener of one process and that of several workers have in common."""

import hmac
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web
from aiohttp.typedefs import Middleware

from proxy.admin.answer import error_answer

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY_BYTES = 8 * 1024 * 1024


def guard(token: str) -> Middleware:
    """Asks for the token before anything under /admin/; without one nothing there is allowed."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/admin/"):
            if not token:
                return error_answer(403, "Set admin.token in the configuration to use /admin/.")
            shown = request.headers.get("Authorization", "")
            if not hmac.compare_digest(as_bytes(shown), as_bytes(f"Bearer {token}")):
                remedy = "Send Authorization: Bearer with the value of admin.token."
                return error_answer(401, remedy)
        return await handler(request)

    return check


def wants_detail(request: web.Request) -> bool:
    """Whether /readyz is asked for more than a word: ?verbose, or JSON."""
    return "verbose" in request.query or "application/json" in request.headers.get("Accept", "")


def as_bytes(value: str) -> bytes:
    """A header field's value as it came: a byte that is not UTF-8 is a lone surrogate."""
    return value.encode("utf-8", "surrogateescape")
