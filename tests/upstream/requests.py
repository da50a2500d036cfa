"""Requests to upstreams, and their answers read to the end."""

from proxy.core.model import Fields
from proxy.core.policy import Deadlines
from proxy.ports import UpstreamReply, UpstreamRequest


def request(
    url: str,
    *,
    method: str = "POST",
    body: bytes | None = b"{}",
    fields: Fields = (),
    deadlines: Deadlines | None = None,
) -> UpstreamRequest:
    """A POST of two bytes, unless said otherwise."""
    return UpstreamRequest(
        method=method,
        url=url,
        fields=fields,
        body=body,
        length=None if body is None else len(body),
        deadlines=deadlines or Deadlines(),
    )


async def read(reply: UpstreamReply) -> bytes:
    """The body, whole."""
    pieces = [piece async for piece in reply.body]
    await reply.body.aclose()
    return b"".join(pieces)
