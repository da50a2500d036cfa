"""A request on its way to the upstream: what is sent, the retry rule, and how a flight is fed."""

from collections.abc import Mapping

from proxy.core.errors import UpstreamError
from proxy.core.exchange import Exchange
from proxy.core.model import Fields, Request, Response
from proxy.core.policy import Policy, Pool
from proxy.core.wire import headers
from proxy.ports import Upstream, UpstreamReply, UpstreamRequest

EVENT_STREAM = b"text/event-stream"


def _replaced(pool: Pool) -> Fields:
    if pool.api_key:
        return (*pool.fields, (b"Authorization", b"Bearer " + pool.api_key.encode()))
    return pool.fields


def upgrade_head(request: Request, pool: Pool, via: bytes) -> bytes:
    """The head of a request to upgrade: here Upgrade goes on.

    An upstream that refuses shall close, so that what the client says next does not reach it past
    us. `via` is what this proxy adds to Via.
    """
    authority, slash, prefix = pool.url.partition("://")[2].partition("/")
    target = slash + prefix + request.target
    replaced = (*_replaced(pool), (b"Connection", b"Upgrade, close"))
    return (
        f"{request.method} {target} HTTP/1.1\r\nHost: {authority}\r\n".encode(
            "utf-8", "surrogateescape"
        )
        + headers.render((*headers.upgrading(request.fields, replaced), (b"Via", via)))
        + b"\r\n"
    )


async def forward(
    request: Request, pool: Pool, policy: Policy, upstream: Upstream, exchange: Exchange
) -> UpstreamReply:
    """Send a request on as it came and wait for the head of the answer.

    Sent a second time only where a pooled connection had died before any byte of an answer, and
    only if the whole body is at hand. Raises UpstreamError.
    """
    is_whole = request.body is None or isinstance(request.body, bytes)
    onward = UpstreamRequest(
        method=request.method,
        url=pool.url + request.target,
        fields=headers.forwarded(request.fields, _replaced(pool), keeps_wishes=pool.is_reprise),
        body=request.body,
        length=request.length,
        deadlines=policy.deadlines,
        upstream=pool.name,
    )
    exchange.pool = pool.name
    try:
        reply = await upstream.send(onward)
    except UpstreamError as error:
        if not (error.may_retry and is_whole):
            raise
        exchange.retried = True
        reply = await upstream.send(onward._replace(fresh_connection=True))
    exchange.fwd_status = reply.status
    return reply


def response_of(reply: UpstreamReply, values: Mapping[bytes, bytes]) -> Response:
    """The upstream's answer as it goes to the client; `values` are its fields by name."""
    length = values.get(b"content-length")
    return Response(
        status=reply.status,
        reason=reply.reason.encode("utf-8", "surrogateescape"),
        head=headers.relayed(reply.fields, values),
        body=reply.body,
        length=int(length) if length is not None and length.isdigit() else None,
        is_event_stream=values.get(b"content-type", b"").lower().startswith(EVENT_STREAM),
    )
