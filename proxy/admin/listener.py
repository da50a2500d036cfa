"""What the admin listener of one process and that of several workers have in common."""

import hmac
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson
from aiohttp import web
from aiohttp.typedefs import Middleware

Json: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_LIMIT = 1000
_DEFAULT_LIMIT = 20
LIMIT_FORM = f"limit must be a whole number from 0 to {MAX_LIMIT}."


def guard(token: str) -> Middleware:
    """Asks for the token before anything under /admin/; without one nothing there is allowed."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/admin/"):
            if not token:
                return error_response(403, "Set admin.token in the configuration to use /admin/.")
            shown = request.headers.get("Authorization", "")
            if not hmac.compare_digest(as_bytes(shown), as_bytes(f"Bearer {token}")):
                remedy = "Send Authorization: Bearer with the value of admin.token."
                return error_response(401, remedy)
        return await handler(request)

    return check


def wants_detail(request: web.Request) -> bool:
    """Whether /readyz is asked for more than a word: ?verbose, or JSON."""
    return "verbose" in request.query or "application/json" in request.headers.get("Accept", "")


def limit_of(request: web.Request) -> int | None:
    """How many rows are asked for; None where that is not understood."""
    text = request.query.get("limit", str(_DEFAULT_LIMIT))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else MAX_LIMIT + 1
    return limit if limit <= MAX_LIMIT else None


def json_response(value: Json, status: int = 200) -> web.Response:
    """A response of JSON."""
    try:
        body = orjson.dumps(value)
    except TypeError:  # a lone surrogate: JSON has it as an escape only
        body = json.dumps(value).encode("ascii")
    return web.Response(body=body, status=status, content_type="application/json")


def error_response(status: int, message: str) -> web.Response:
    """A response that tells why the listener did not do as asked."""
    return json_response({"error": {"message": message}}, status)


def as_bytes(value: str) -> bytes:
    """A header field's value as it came: a byte that is not UTF-8 is a lone surrogate."""
    return value.encode("utf-8", "surrogateescape")
