"""A request on its way to the upstream: what is sent, the retry rule, and how a flight is fed."""

from collections.abc import Mapping

from proxy.core.errors import UpstreamError
from proxy.core.exchange import Exchange
from proxy.core.model import Fields, Request, Response
from proxy.core.policy import Policy, Pool
from proxy.core.trace import TRACEPARENT, TRACESTATE, Context, Trace
from proxy.core.wire import headers
from proxy.ports import Upstream, UpstreamReply, UpstreamRequest

EVENT_STREAM = b"text/event-stream"


def _replaced(pool: Pool) -> Fields:
    if pool.api_key:
        return (*pool.fields, (b"Authorization", b"Bearer " + pool.api_key.encode()))
    return pool.fields


def _traced(context: Context) -> Fields:
    return ((TRACEPARENT, context.field()),)


def _untraced(trace: Trace | None) -> frozenset[bytes]:
    # What the client says of a trace that it does not name belongs to none (W3C 3.3).
    return _STATE if trace is not None and trace.parent is None else _NOTHING


_STATE = frozenset({TRACESTATE})
_NOTHING: frozenset[bytes] = frozenset()


def upgrade_head(request: Request, pool: Pool, via: bytes, trace: Trace | None = None) -> bytes:
    """The head of a request to upgrade: here Upgrade goes on.

    An upstream that refuses shall close, so that what the client says next does not reach it past
    us. `via` is what this proxy adds to Via. The upstream's part of a `trace` is the request's.
    """
    authority, slash, prefix = pool.url.partition("://")[2].partition("/")
    target = slash + prefix + request.target
    replaced = (*_replaced(pool), (b"Connection", b"Upgrade, close"))
    if trace is not None:
        replaced += _traced(trace.context)
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
    only if the whole body is at hand. Where the exchange is traced, the upstream is told of the
    call's span; whoever called this says when the call has ended. Raises UpstreamError.
    """
    is_whole = request.body is None or isinstance(request.body, bytes)
    replaced, trace = _replaced(pool), exchange.trace
    call = None
    if trace is not None:
        call = trace.begin_call(
            pool.url, method=request.method, operation=exchange.operation, model=exchange.model
        )
        replaced += _traced(call.context)
    onward = UpstreamRequest(
        method=request.method,
        url=pool.url + request.target,
        fields=headers.forwarded(
            request.fields, replaced, dropped=_untraced(trace), keeps_wishes=pool.is_reprise
        ),
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
        if call is not None:
            call.is_resent = True
        reply = await upstream.send(onward._replace(fresh_connection=True))
    exchange.fwd_status = reply.status
    if call is not None:
        call.status = reply.status
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
