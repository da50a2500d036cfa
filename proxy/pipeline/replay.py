"""A stored response again, in the shape that the client asked for (mission A4)."""

import asyncio

import orjson

from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.model import Response, Shape
from proxy.core.wire import sse
from proxy.core.wire.operation import Operation
from proxy.ports import Store

CONTENT_TYPES = {
    Shape.JSON: b"Content-Type: application/json\r\n",
    Shape.SSE: b"Content-Type: text/event-stream; charset=utf-8\r\n",
}
THREAD_ABOVE_BYTES = 64 * 1024
"""Larger bodies are parsed in a thread, so that the event loop stays free."""


async def replay(stored: StoredResponse, plan: Lookup, store: Store) -> Response | None:
    """The response to a hit; None where this shape cannot be made without loss.

    The recorded shape is given as it was received, byte for byte. Another one is made once and
    kept.
    """
    if stored.shape is plan.shape and (
        plan.shape is Shape.JSON or stored.stream_options == plan.stream_options
    ):
        return _response(stored.head, stored.body, plan.shape)
    if plan.shape is Shape.SSE and _other_options(stored, plan):
        return None
    variant = (plan.shape, plan.include_usage)
    body = (stored.derived or {}).get(variant)
    if body is None:
        if len(stored.body) > THREAD_ABOVE_BYTES:
            body = await asyncio.to_thread(_derive, stored, plan)
        else:
            body = _derive(stored, plan)
        stored.derived = {**(stored.derived or {}), variant: body}
        store.recount(stored)
    if not body:
        return None
    head = stored.head
    if stored.shape is not plan.shape:
        head = CONTENT_TYPES[plan.shape] + head[head.index(b"\r\n") + 2 :]
    return _response(head, body, plan.shape)


def _response(head: bytes, body: bytes, shape: Shape) -> Response:
    return Response(
        status=200,
        reason=b"OK",
        head=head,
        body=body,
        length=len(body),
        is_event_stream=shape is Shape.SSE,
    )


def _other_options(stored: StoredResponse, plan: Lookup) -> bool:
    # Options other than include_usage change the stream in ways that nobody here knows.
    recorded = orjson.loads(stored.stream_options) if stored.stream_options else {}
    asked = orjson.loads(plan.stream_options) if plan.stream_options else {}
    usage = (recorded.pop("include_usage", None), asked.pop("include_usage", None))
    wants_more = stored.shape is Shape.SSE and usage[1] is True and usage[0] is not True
    return bool(wants_more or recorded != asked)


def _derive(stored: StoredResponse, plan: Lookup) -> bytes:
    """The body in the shape of `plan`; empty where it cannot be made."""
    operation: Operation = plan.operation
    body: bytes | None
    if stored.shape is Shape.JSON:
        body = operation.to_stream(orjson.loads(stored.body), include_usage=plan.include_usage)
    else:
        frames, _ = sse.split(stored.body)
        if plan.shape is Shape.JSON:
            body = operation.to_document(frames)
        elif plan.include_usage:
            body = stored.body
        else:
            body = operation.without_usage(frames)
    return body or b""
