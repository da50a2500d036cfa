"""A request on its way to the upstream."""

import pytest

from proxy.core.policy import Pool
from proxy.pipeline.forward import upgrade_head
from tests.conftest import StartProxy
from tests.core.values import request
from tests.fakes.client import connect, posting
from tests.fakes.raw_upstream import Peer, RawUpstream


@pytest.mark.parametrize(
    "framing", [b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"sized"]
)
async def test_a_body_that_is_not_at_hand_is_not_sent_twice(
    proxy: StartProxy, framing: bytes
) -> None:
    received: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.answer(b"{}")
        received.append((await peer.read_request())[0])

    if framing == b"sized":
        framing = b"Content-Length: 70000\r\n\r\n" + b"x" * 70000
    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        assert (await client.ask("GET", "/")).status == 200
        await client.send_raw(b"POST /v1/files HTTP/1.1\r\nHost: h\r\n" + framing)
        failed = await client.answer()
    assert (failed.status, failed.json()["error"]["code"]) == (502, "upstream_broken")
    assert (len(received), raw.connections) == (1, 1)


def test_an_upgrade_goes_on_with_the_pools_own_fields() -> None:
    asked = request(
        None,
        ("Host", "proxy"),
        ("Connection", "keep-alive, Upgrade"),
        ("Upgrade", "websocket"),
        ("Authorization", "Bearer theirs"),
        ("X-Team", "theirs"),
        ("Sec-WebSocket-Protocol", "realtime"),
        method="GET",
        target="/v1/realtime?model=m1",
        content_type=None,
    )
    pool = Pool("u", "https://u.example:8443/azure", api_key="own", fields=((b"x-team", b"own"),))
    assert upgrade_head(asked, pool, b"1.1 here").split(b"\r\n") == [
        b"GET /azure/v1/realtime?model=m1 HTTP/1.1",
        b"Host: u.example:8443",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Protocol: realtime",
        b"x-team: own",
        b"Authorization: Bearer own",
        b"Connection: Upgrade, close",
        b"Via: 1.1 here",
        b"",
        b"",
    ]


async def test_our_own_wishes_and_expectations_are_not_forwarded(proxy: StartProxy) -> None:
    heads: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        heads.append((await peer.read_request())[0].lower())
        await peer.answer(b"{}")

    fields = [("X-Cache-TTL", "5"), ("x-cache-tags", "a"), ("X-Cached", "kept")]
    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        await client.ask("POST", "/v1/files", fields=posting(fields=fields), body=b"{}")
    assert b"x-cache-" not in heads[0]
    assert b"\r\nx-cached: kept\r\n" in heads[0]
