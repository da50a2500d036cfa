"""Requests as the parser hands them over: bodies announced or not, connections kept or not."""

import pytest

from tests.conftest import StartProxy
from tests.fakes.client import connect
from tests.fakes.upstream import Reply, ScriptedUpstream

KEPT = {
    b"HTTP/1.1\r\nHost: h\r\n": True,
    b"HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n": True,
    b"HTTP/1.1\r\nHost: h\r\nConnection: x-one, Close\r\n": False,
    b"HTTP/1.0\r\n": False,
    b"HTTP/1.0\r\nConnection: Keep-Alive\r\n": True,
}


@pytest.mark.parametrize("head", KEPT)
async def test_a_connection_is_kept_as_version_and_client_say(
    proxy: StartProxy, upstream: ScriptedUpstream, head: bytes
) -> None:
    upstream.respond = lambda seen: Reply(steps=[b"ok"], length=2)
    request = b"GET /v1/models?x=1 " + head + b"\r\n"
    async with proxy() as app, connect(app.url) as client:
        await client.send_raw(request)
        first = await client.answer()
        assert first.body == b"ok"
        assert (first.header("Connection") != "close") == KEPT[head]
        if KEPT[head]:
            await client.send_raw(request)
            assert (await client.answer()).body == b"ok"
        else:
            assert await client.closed() == b""


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize(
    "announced",
    [
        b"Content-Length: 0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n0\r\nX-T: 1\r\n\r\n",
        b"\r\n",
    ],
    ids=["sized", "chunked", "trailer", "none"],
)
async def test_a_request_without_a_byte_of_body_goes_on_and_the_next_too(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str, announced: bytes
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\n".encode()
    async with proxy() as app, connect(app.url) as client:
        for _ in range(2):
            await client.send_raw(head + announced)
            assert (await client.answer()).status == 200
    assert [seen.body for seen in upstream.requests] == [b"", b""]
