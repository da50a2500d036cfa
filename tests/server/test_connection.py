"""Clients whose HTTP is broken, or who stop in the middle of it."""

import json

import pytest

from proxy.server import decode
from tests.conftest import StartProxy
from tests.fakes.client import connect
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import figure, until

PATHS = ["/v1/chat/completions", "/v1/audio/transcriptions"]


def chunked(path: str) -> bytes:
    """A request's head, and the first part of its body."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    ).encode()


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_that_turns_malformed_later_does_not_wait_for_ever(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str
) -> None:
    async with proxy() as app, connect(app.url) as client:
        await client.write(chunked(path))
        await until(lambda: figure(app, "in_flight_requests") == 1)
        await client.write(b"zz\r\n")
        answer = await client.closed()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"bad_request"' in answer


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_whose_rest_does_not_come_is_given_up(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    monkeypatch.setattr(decode, "STALL_SECONDS", 0.05)
    async with proxy() as app, connect(app.url) as client:
        await client.send_raw(chunked(path), method="POST")
        refused = await client.answer()
        assert refused.status == 408
        assert refused.json()["error"]["code"] == "request_timeout"


@pytest.mark.parametrize(
    "head",
    [
        b"FOO / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer s3cret" + b"x" * 70000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ids=["method", "target", "size", "TLS"],
)
async def test_a_head_that_cannot_be_read_gets_an_error_object_that_quotes_nothing(
    proxy: StartProxy, upstream: ScriptedUpstream, head: bytes
) -> None:
    log: list[bytes] = []
    async with proxy(log=log) as app, connect(app.url) as client:
        await client.write(head)
        answer = await client.closed()
    top, _, body = answer.partition(b"\r\n\r\n")
    assert top.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert json.loads(body)["error"]["code"] == "bad_request"
    assert b"s3cret" not in answer + b"".join(log)
    assert upstream.calls == 0
