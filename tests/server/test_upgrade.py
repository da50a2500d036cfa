"""Connections that stop being HTTP: WebSocket through the proxy."""

import asyncio

import pytest
import websockets
from websockets.asyncio.client import connect as ws_connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response

from tests.conftest import StartProxy
from tests.fakes.client import connect
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import figure, until

HANDSHAKE = (
    b"GET /v1/realtime?model=m1 HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n"
)


async def echo(connection: ServerConnection) -> None:
    """Say everything again; end when told "bye"."""
    async for message in connection:
        if message == "bye":
            await connection.close(4000, "再见")
            return
        await connection.send(message)


def url_of(server: Server) -> str:
    host, port = next(iter(server.sockets)).getsockname()[:2]
    return f"http://{host}:{port}"


async def test_messages_go_both_ways_until_one_side_closes(proxy: StartProxy) -> None:
    async with (
        serve(echo, "127.0.0.1", 0, max_size=None) as server,
        proxy(upstream=url_of(server)) as app,
    ):
        address = app.url.replace("http", "ws") + "/v1/realtime?model=m1"
        async with ws_connect(address, max_size=None) as client:
            for message in ("hello", "你好", b"\x00\xff", "x" * 3_000_000):
                await client.send(message)
                assert await client.recv() == message
            await client.send("bye")
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
            assert caught.value.rcvd is not None
            assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (4000, "再见")
        await until(lambda: not figure(app, "in_flight_requests"))


async def test_the_upstream_learns_that_the_client_has_gone(proxy: StartProxy) -> None:
    ended = asyncio.Event()

    async def listen(connection: ServerConnection) -> None:
        await connection.wait_closed()
        ended.set()

    async with serve(listen, "127.0.0.1", 0) as server, proxy(upstream=url_of(server)) as app:
        client = await ws_connect(app.url.replace("http", "ws"))
        client.transport.abort()
        async with asyncio.timeout(5):
            await ended.wait()
        await until(lambda: not figure(app, "in_flight_requests"))


async def test_the_head_goes_on_whole_with_the_upstreams_host_and_key(proxy: StartProxy) -> None:
    heads: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        heads.append((await peer.read_request())[0])
        await peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nat once")
        assert await peer.read(5) == b"early"
        await peer.gone()

    async with RawUpstream(conversation) as raw:
        settings = f"upstreams: [{{url: '{raw.url}/openai', api_key: own}}]"
        async with proxy(settings, upstream=None) as app, connect(app.url) as client:
            await client.write(HANDSHAKE + b"early")
            expected = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nat once"
            async with asyncio.timeout(5):
                assert await client.reader.readexactly(len(expected)) == expected
    lines = heads[0].split(b"\r\n")
    assert lines[0] == b"GET /openai/v1/realtime?model=m1 HTTP/1.1"
    assert b"Host: " + raw.url.removeprefix("http://").encode() in lines
    assert b"Upgrade: websocket" in lines
    assert b"Authorization: Bearer own" in lines
    assert b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==" in lines


async def test_a_refusal_is_passed_on_and_ends_the_connection(proxy: StartProxy) -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        return connection.respond(403, "not here\n")

    async with (
        serve(echo, "127.0.0.1", 0, process_request=refuse) as server,
        proxy(upstream=url_of(server)) as app,
    ):
        with pytest.raises(InvalidStatus) as caught:
            await ws_connect(app.url.replace("http", "ws"))
        await until(lambda: not figure(app, "in_flight_requests"))
    assert caught.value.response.status_code == 403
    assert caught.value.response.body == b"not here\n"


async def test_what_follows_a_refusal_does_not_slip_past_the_cache(proxy: StartProxy) -> None:
    received: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        while True:
            head = (await peer.read_request())[0]
            received.append(head)
            await peer.answer(b"{}")
            if b"\r\nconnection: close\r\n" in head.lower() or b", close\r\n" in head.lower():
                return

    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        await client.write(HANDSHAKE + b"GET /second HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = await client.closed()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert [b"/second" in head for head in received] == [False]


async def test_an_upgrade_that_the_connection_does_not_ask_for_is_no_upgrade(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app, connect(app.url) as client:
        for _ in range(2):
            answer = await client.ask("GET", "/v1/realtime", fields=[("Upgrade", "websocket")])
            assert answer.status == 200
    assert upstream.requests[0].header("Upgrade") is None


async def test_an_upstream_that_cannot_be_reached_is_a_bad_gateway(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    await upstream.stop()
    async with proxy() as app, connect(app.url) as client:
        await client.send_raw(HANDSHAKE)
        answer = await client.answer()
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_unreachable")


BLOCK = b"x" * 65536
BLOCKS = 1000


async def flood(writer: asyncio.StreamWriter, blocked: asyncio.Event) -> None:
    """Send more than anybody on the way holds; tell when nobody takes it any more."""
    for _ in range(BLOCKS):
        writer.write(BLOCK)
        try:
            async with asyncio.timeout(0.3):
                await writer.drain()
        except TimeoutError:
            blocked.set()
            await writer.drain()


async def test_a_client_is_held_back_by_an_upstream_that_does_not_read(proxy: StartProxy) -> None:
    blocked = asyncio.Event()
    sizes: list[int] = []

    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        await blocked.wait()
        sizes.append(len(await peer.read(BLOCKS * len(BLOCK))))

    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        await client.write(HANDSHAKE)
        await flood(client.writer, blocked)
        assert await client.closed() == b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    assert sizes == [BLOCKS * len(BLOCK)]


async def test_an_upstream_is_held_back_by_a_client_that_does_not_read(proxy: StartProxy) -> None:
    blocked = asyncio.Event()

    async def conversation(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        await flood(peer.writer, blocked)

    async with (
        RawUpstream(conversation) as raw,
        proxy(upstream=raw.url) as app,
        connect(app.url) as client,
    ):
        await client.write(HANDSHAKE)
        async with asyncio.timeout(10):
            await client.reader.readuntil(b"\r\n\r\n")
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a Transport
            await blocked.wait()
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]  # a Transport
            received = len(await client.closed())
    assert received == BLOCKS * len(BLOCK)


async def test_open_websockets_end_with_the_grace(proxy: StartProxy) -> None:
    async with serve(echo, "127.0.0.1", 0) as server:
        async with proxy("shutdown: {grace: 100ms}", upstream=url_of(server)) as app:
            client = await ws_connect(app.url.replace("http", "ws"))
        with pytest.raises(websockets.ConnectionClosedError):
            await client.recv()
