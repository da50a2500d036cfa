"""What the upstream and the client see through the proxy is what they see without it (A1, B28)."""

import asyncio
import gzip
from dataclasses import dataclass

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import CHAT, Answer, Pairs, call, connect, posting, question
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import Reply, ScriptedUpstream, gzip_reply, json_reply

OURS = {b"cache-status", b"x-request-id", b"age"}
ZSTD = bytes.fromhex("28b52ffd2004210000") + b"{}\n\n"
BROTLI = b"\x0b\x01\x80{}\n\n\x03"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, to be sent with and without the proxy."""

    method: str = "GET"
    target: str = "/"
    fields: Pairs = ()
    body: bytes | None = None


CALLS = [
    *[Call(method) for method in ("GET", "HEAD", "OPTIONS", "DELETE", "PATCH", "PUT", "POST")],
    *[Call(method, "/dav", body=b"<x/>") for method in ("PROPFIND", "REPORT", "GET", "DELETE")],
    *[
        Call(target=target)
        for target in (
            "//a/../b",
            "/a%2Fb%2f%zz",
            "/a?",
            "/a;p=1?b=c;d",
            "/a/./b//",
            "/v1/models?x=%20+&x=2#f",
            "/a:b@c|d^e`{f}",
            "/?url=http://x/?y",
            "/~'()*!$,",
            "/a?b?c",
        )
    ],
    Call(method="POST", body=b""),
    Call(method="POST", target=CHAT, body=b"not json"),
    Call(method="POST", target=CHAT, fields=posting(), body=question("Grüße 你好")),
    Call(
        fields=[
            ("X-Two", "1"),
            ("Accept", "text/html"),
            ("x-two", "2"),
            ("X-Empty", ""),
            ("X-Latin", "caf\xe9"),
            ("Cookie", "a=1; b=2"),
            ("Accept-Encoding", "br, zstd"),
            ("User-Agent", "test/1"),
            ("Range", "bytes=0-1"),
            ("If-None-Match", '"x"'),
            ("Via", "1.1 edge"),
            ("X-Forwarded-For", "10.0.0.1"),
        ]
    ),
]


def heard(request: tuple[bytes, bytes]) -> tuple[bytes, list[bytes], bytes]:
    """A request as the upstream got it: request line, fields in order, body. Framing is last."""
    line, *fields = request[0].removesuffix(b"\r\n\r\n").split(b"\r\n")
    return line, sorted(fields, key=lambda field: field.startswith(b"Content-Length")), request[1]


@pytest.mark.parametrize("asked", CALLS, ids=lambda asked: f"{asked.method} {asked.target}")
async def test_the_upstream_gets_the_same_bytes(proxy: StartProxy, asked: Call) -> None:
    got: list[tuple[bytes, bytes]] = []

    async def conversation(peer: Peer) -> None:
        while True:
            got.append(await peer.read_request())
            await peer.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        for url in (raw.url, app.url):
            await call(url, asked.method, asked.target, fields=asked.fields, body=asked.body)
        host = raw.url.removeprefix("http://").encode()
    direct, proxied = map(heard, got)
    assert without_via(proxied) == direct
    assert b"Host: " + host in proxied[1]


def without_via(request: tuple[bytes, list[bytes], bytes]) -> tuple[bytes, list[bytes], bytes]:
    """What was heard without the one field that the proxy adds, behind those of the client."""
    line, fields, body = request
    added = [field for field in fields if field.startswith(b"Via: 1.1 reprise-")]
    assert len(added) == 1
    assert fields[-1] == added[0] or fields[-1].startswith(b"Content-Length")
    return line, [field for field in fields if field not in added], body


REPLIES = [
    *[Reply(status=status) for status in (204, 304, 205)],
    *[
        Reply(status=status, fields=[("Retry-After", "2"), ("Location", "/x")], steps=[b"{}"])
        for status in (200, 201, 206, 301, 307, 400, 401, 404, 409, 413, 418, 422, 429, 500, 503)
    ],
    Reply(status=299, reason="Quite Fine", steps=[b"x"], length=1),
    Reply(status=599, steps=[b"x" * 300_000], length=300_000),
    Reply(fields=[("Set-Cookie", "a=1"), ("X-A", "1"), ("set-cookie", "b=2; Path=/")]),
    Reply(fields=[("Content-Type", "text/plain; charset=latin-1")], steps=[b"caf\xe9", b"\x00"]),
    Reply(fields=[("Content-Encoding", "zstd")], steps=[ZSTD], length=len(ZSTD)),
    Reply(fields=[("Content-Encoding", "br")], steps=[BROTLI, BROTLI]),
    Reply(fields=[("Content-Encoding", "gzip, gzip")], steps=[gzip.compress(b"?")]),
    Reply(fields=[("Cache-Control", "no-store"), ("Age", "7"), ("ETag", '"x"')], steps=[b"ok"]),
    gzip_reply(b"{}"),
    json_reply(chat_answer("你好 Grüße")),
]


def told(answer: Answer) -> tuple[int, bytes, list[tuple[bytes, bytes]], bytes]:
    """A response without the fields that tell of the proxy or the second."""
    fields = [(n, v) for n, v in answer.fields if n.lower() not in OURS | {b"date"}]
    return answer.status, answer.reason, sorted(fields), answer.body


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: str(reply.status))
async def test_the_client_gets_the_same_bytes(
    proxy: StartProxy, upstream: ScriptedUpstream, reply: Reply, method: str
) -> None:
    body = question() if method == "POST" else None
    path = CHAT if method == "POST" else "/v1/models"
    upstream.will(reply, reply)
    async with proxy() as app:
        direct, proxied = [
            await call(url, method, path, fields=posting(), body=body)
            for url in (upstream.url, app.url)
        ]
    assert told(proxied) == told(direct)
    assert len(proxied.headers("Date")) == len(direct.headers("Date")) == 1


async def test_nothing_is_added_to_a_bare_answer(proxy: StartProxy) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 Fine by me\r\nx-Odd: 1\r\nContent-Length: 2\r\n\r\nok")

    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        answer = await call(app.url, "GET", "/")
    assert answer.reason == b"Fine by me"
    assert [name for name, _ in answer.fields] == [
        b"x-Odd",
        b"Cache-Status",
        b"x-request-id",
        b"Content-Length",
    ]


HOPS = (
    b"Connection: X-Foo, close\r\nconnection: x-bar\r\nX-Foo: 1\r\nX-Bar: 2\r\nKeep-Alive: 9\r\n"
    b"Proxy-Authenticate: Basic\r\nProxy-Connection: keep-alive\r\nTrailer: X-T\r\nX-Kept: 3\r\n"
)


@pytest.mark.parametrize("path", [CHAT, "/v1/models"])
@pytest.mark.parametrize("content_type", [b"application/json", b"text/event-stream"])
async def test_fields_of_one_hop_stay_on_it(
    proxy: StartProxy, path: str, content_type: bytes
) -> None:
    heads: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        heads.append((await peer.read_request())[0].lower())
        await peer.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: "
            + content_type
            + b"\r\n"
            + HOPS
            + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n"
        )

    fields = [
        ("Connection", "X-Own, keep-alive"),
        ("X-Own", "1"),
        ("TE", "trailers"),
        ("Proxy-Authorization", "Basic eA=="),
        ("Upgrade", "h2c"),
        ("X-Cache-Namespace", "n"),
        ("X-Kept", "1"),
    ]
    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        body = question(stream=content_type == b"text/event-stream")
        answer = await call(app.url, "POST", path, fields=posting(fields=fields), body=body)
    names = {name.lower() for name, _ in answer.fields}
    assert b"x-kept" in names
    assert not names & {
        *(b"connection", b"x-foo", b"x-bar", b"keep-alive", b"trailer"),
        *(b"proxy-authenticate", b"proxy-connection", b"content-length"),
    }
    assert answer.body == b"{}"
    assert b"\r\nx-kept: 1" in heads[0]
    for name in (b"x-own", b"te", b"proxy-authorization", b"upgrade", b"x-cache-namespace"):
        assert b"\r\n" + name + b":" not in heads[0]


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_large_body_goes_through_whole(
    proxy: StartProxy, upstream: ScriptedUpstream, *, is_chunked: bool
) -> None:
    block = bytes(range(256)) * 4096  # 1 MiB
    upstream.will(Reply(status=201))
    async with proxy("limits: {max_body_bytes: 70MiB}") as app, connect(app.url) as client:
        framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: 73400320"
        await client.send_raw(b"POST /v1/files HTTP/1.1\r\nHost: h\r\n" + framing + b"\r\n\r\n")
        for _ in range(70):
            await client.write(b"100000\r\n" + block + b"\r\n" if is_chunked else block)
        await client.write(b"0\r\n\r\n" if is_chunked else b"")
        assert (await client.answer()).status == 201
        assert upstream.requests[0].body == block * 70
        assert (await client.ask("GET", "/v1/models")).status == 200


async def test_an_answer_before_the_body_was_sent_is_passed_on(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(Reply(status=429, early=True, steps=[b"slow down"], length=9))
    async with proxy() as app, connect(app.url) as client:
        await client.send_raw(
            b"POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\nbegun"
        )
        answer = await client.answer()
        assert (answer.status, answer.body) == (429, b"slow down")


async def test_a_body_without_a_length_ends_with_its_connection(proxy: StartProxy) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold ")
        await peer.send(b"times")

    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        answer = await call(app.url, "GET", "/")
    assert answer.body == b"old times"
    assert answer.header("Transfer-Encoding") == "chunked"


async def test_interim_answers_stay_on_their_hop(proxy: StartProxy) -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        await peer.answer(b"{}")

    async with RawUpstream(conversation) as raw, proxy(upstream=raw.url) as app:
        assert (await call(app.url, "GET", "/")).body == b"{}"


async def test_pipelined_requests_are_answered_in_order(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    slow = asyncio.Event()
    upstream.will(json_reply(b'{"n": 1}', before_head=slow), json_reply(b'{"n": 2}'))
    async with proxy() as app, connect(app.url) as client:
        both = [b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in (1, 2)]
        await client.send_raw(b"".join(both))
        await upstream.received(1)
        slow.set()
        assert (await client.answer()).json() == {"n": 1}
        client.expect("GET")
        assert (await client.answer()).json() == {"n": 2}
    assert [seen.target for seen in upstream.requests] == ["/1", "/2"]


async def test_a_path_prefix_of_the_upstream_goes_before_the_target(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(upstream=f"{upstream.url}/openai") as app:
        await call(app.url, "GET", "/v1/models?limit=2")
    assert upstream.requests[0].target == "/openai/v1/models?limit=2"


async def test_an_upstreams_own_key_and_fields_replace_the_clients(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    settings = f"upstreams: [{{url: '{upstream.url}', api_key: own, headers: {{X-Team: red}}}}]"
    async with proxy(settings, upstream=None) as app:
        await call(app.url, "GET", "/v1/models", fields=posting("key-a", fields=[("x-team", "b")]))
    seen = upstream.requests[0]
    assert [v for n, v in seen.fields if n.lower() == b"authorization"] == [b"Bearer own"]
    assert [v for n, v in seen.fields if n.lower() == b"x-team"] == [b"red"]
