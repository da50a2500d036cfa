"""How the admin listener answers, and what its requests have in common."""

import json
from typing import Any, TypeAlias

import orjson
from aiohttp import web

Json: TypeAlias = dict[str, Any]

MAX_LIMIT = 1000
_DEFAULT_LIMIT = 20


def json_answer(value: Json, status: int = 200) -> web.Response:
    """An object as JSON."""
    try:
        body = orjson.dumps(value)
    except TypeError:  # a lone surrogate: JSON has it as an escape only
        body = json.dumps(value).encode("ascii")
    return web.Response(body=body, status=status, content_type="application/json")


def error_answer(status: int, message: str) -> web.Response:
    """What went wrong, and what would help."""
    return json_answer({"error": {"message": message}}, status)


def limit_of(request: web.Request) -> int | None:
    """The query's `limit`; None where it is none."""
    text = request.query.get("limit", str(_DEFAULT_LIMIT))
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else MAX_LIMIT + 1
    return limit if limit <= MAX_LIMIT else None
