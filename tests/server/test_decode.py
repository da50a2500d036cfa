"""Request bodies and targets as clients send them, within the limits."""

import asyncio

import pytest

from tests.conftest import StartProxy
from tests.fakes.client import CHAT, Connection, connect, posting, question
from tests.fakes.upstream import Reply, ScriptedUpstream

SMALL = "limits: {max_body_bytes: 1KiB, max_keyed_body_bytes: 512B}"
MEDIUM = "limits: {max_body_bytes: 1MiB, max_keyed_body_bytes: 256KiB}"
PATHS = [CHAT, "/v1/files"]


def chunked(body: bytes, size: int) -> bytes:
    """A chunked body of pieces of `size` bytes."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def send_chunked(client: Connection, path: str, body: bytes, size: int = 65536) -> None:
    """A JSON request with a chunked body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    await client.send_raw(head.encode() + chunked(body, size), method="POST")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("settings", "size"), [(SMALL, 1025), (MEDIUM, (1 << 20) + 1)])
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_over_the_limit_is_refused_and_the_connection_stays_usable(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    path: str,
    settings: str,
    size: int,
    *,
    is_chunked: bool,
) -> None:
    body = b'"' + b"x" * (size - 2) + b'"'
    async with proxy(settings) as app, connect(app.url) as client:
        if is_chunked:
            await send_chunked(client, path, body)
        else:
            await client.send("POST", path, fields=posting(), body=body)
        refused = await client.answer()
        assert refused.status == 413
        error = refused.json()["error"]
        assert error["code"] == "request_too_large"
        assert "max_body_bytes" in error["message"]
        assert refused.header("x-should-retry") == "false"
        assert refused.cache == ""
        assert (await client.ask("GET", "/v1/models")).status == 200
    assert [seen.target for seen in upstream.requests] == ["/v1/models"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_at_the_limit_goes_through(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str, *, is_chunked: bool
) -> None:
    upstream.will(Reply(status=201))
    body = b'"' + b"x" * 1022 + b'"'
    async with proxy(SMALL) as app, connect(app.url) as client:
        if is_chunked:
            await send_chunked(client, path, body)
        else:
            await client.send("POST", path, fields=posting(), body=body)
        assert (await client.answer()).status == 201
    assert upstream.requests[0].body == body


async def test_a_refused_length_is_not_waited_for(proxy: StartProxy) -> None:
    async with proxy(SMALL) as app, connect(app.url) as client:
        await client.send_raw(
            b"POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n"
        )
        assert (await client.answer()).status == 413


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_question_too_large_for_the_cache_is_passed_on(
    proxy: StartProxy, upstream: ScriptedUpstream, *, is_chunked: bool
) -> None:
    body = question("很长 " * 60000)
    async with proxy(MEDIUM) as app, connect(app.url) as client:
        for _ in range(2):
            if is_chunked:
                await send_chunked(client, CHAT, body, 1000)
            else:
                await client.send("POST", CHAT, fields=posting(), body=body)
            answer = await client.answer()
            assert "fwd=bypass" in answer.cache
            assert "detail=too-large" in answer.cache
    assert [seen.body for seen in upstream.requests] == [body, body]


async def test_sized_and_chunked_bodies_are_the_same_question(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("tenancy: {scope: shared}") as app, connect(app.url) as client:
        await send_chunked(client, CHAT, question(), 7)
        first = await client.answer()
        again = await client.ask("POST", CHAT, fields=posting(), body=question())
    assert again.is_hit
    assert again.body == first.body


@pytest.mark.parametrize("path", PATHS)
async def test_a_client_that_expects_it_is_told_to_continue(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str
) -> None:
    async with proxy() as app, connect(app.url) as client:
        body = question()
        head = client.encode(
            "POST", path, fields=posting(fields=[("Expect", "100-continue")]), body=body
        ).removesuffix(body)
        await client.write(head)
        async with asyncio.timeout(5):
            assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.write(body)
        assert (await client.answer()).status == 200
    assert upstream.requests[0].header("Expect") is None
    assert upstream.requests[0].body == body


async def test_a_client_that_would_send_too_much_is_not_told_to_continue(
    proxy: StartProxy,
) -> None:
    async with proxy(SMALL) as app, connect(app.url) as client:
        await client.write(
            b"POST /v1/files HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
            b"Content-Length: 2000\r\n\r\n"
        )
        async with asyncio.timeout(5):
            assert (await client.reader.readline()).startswith(b"HTTP/1.1 413 ")


async def test_an_http_1_0_client_is_never_told_to_continue(proxy: StartProxy) -> None:
    async with proxy() as app, connect(app.url) as client:
        await client.write(
            b"POST /v1/files HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"
        )
        async with asyncio.timeout(5):
            assert (await client.reader.readline()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("target", "onward"),
    [
        ("http://elsewhere.example/v1/models?x=%20", "/v1/models?x=%20"),
        ("http://elsewhere.example", "/"),
        ("HTTP://u@elsewhere.example:1/a//b?", "/a//b?"),
        ("http://elsewhere.example?x=/y", "/?x=/y"),
    ],
)
async def test_the_absolute_form_means_its_path(
    proxy: StartProxy, upstream: ScriptedUpstream, target: str, onward: str
) -> None:
    async with proxy() as app, connect(app.url) as client:
        assert (await client.ask("GET", target)).status == 200
    assert upstream.requests[0].target == onward
    assert upstream.requests[0].header("Host") == upstream.url.removeprefix("http://")


@pytest.mark.parametrize(("method", "target"), [("OPTIONS", "*"), ("CONNECT", "example.com:443")])
async def test_a_target_that_is_no_path_is_a_bad_request(
    proxy: StartProxy, upstream: ScriptedUpstream, method: str, target: str
) -> None:
    async with proxy() as app, connect(app.url) as client:
        await client.write(f"{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        async with asyncio.timeout(5):
            assert (await client.reader.readline()).startswith(b"HTTP/1.1 400 ")
    assert upstream.calls == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"zz\r\nx", b"5\r\nabcdeXX", b"-1\r\n"])
async def test_a_body_that_is_not_http_is_a_bad_request(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str, body: bytes
) -> None:
    async with proxy() as app, connect(app.url) as client:
        head = f"POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        await client.send_raw(head + b"3\r\nabc\r\n" + body)
        refused = await client.head()
        assert refused.status == 400
        assert upstream.calls == 0


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nBad Name: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ids=["folded", "name", "two framings", "two lengths", "version", "TLS"],
)
async def test_a_head_that_is_not_http_is_refused_and_reaches_nobody(
    proxy: StartProxy, upstream: ScriptedUpstream, head: bytes
) -> None:
    async with proxy() as app, connect(app.url) as client:
        await client.write(head)
        assert (await client.closed()).startswith(b"HTTP/1.1 400 ") or upstream.calls == 0
    assert upstream.calls == 0
