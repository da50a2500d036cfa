"""A raw connection to an upstream."""

import asyncio
import socket
import ssl

import pytest

from proxy.core.errors import UpstreamTimeout, UpstreamUnreachable
from proxy.core.policy import Deadlines
from proxy.upstream.wire import dial
from tests.fakes.raw_upstream import Peer, RawUpstream


async def test_bytes_go_both_ways_until_the_end() -> None:
    async def conversation(peer: Peer) -> None:
        assert await peer.read(6) == "你好".encode()
        await peer.send(b"hello")

    async with RawUpstream(conversation) as raw:
        wire = await dial(f"{raw.url}/path", Deadlines())
        await wire.write("你好".encode())
        received = b""
        while data := await wire.read():
            received += data
        wire.close()
    assert received == b"hello"


async def test_closing_is_noticed_by_the_peer() -> None:
    gone = asyncio.Event()

    async def conversation(peer: Peer) -> None:
        await peer.gone()
        gone.set()

    async with RawUpstream(conversation) as raw:
        wire = await dial(raw.url, Deadlines())
        await raw.connected(1)
        wire.close()
        async with asyncio.timeout(5):
            await gone.wait()


async def test_a_reset_is_a_connection_error() -> None:
    async def conversation(peer: Peer) -> None:
        await peer.read(1)
        peer.reset()

    async with RawUpstream(conversation) as raw:
        wire = await dial(raw.url, Deadlines())
        await wire.write(b"x")
        with pytest.raises(ConnectionError):
            await wire.read()
        wire.close()


async def test_a_closed_port_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(UpstreamUnreachable):
            await dial(f"http://127.0.0.1:{port}", Deadlines())


async def test_a_server_without_tls_is_unreachable_by_https() -> None:
    async def conversation(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with RawUpstream(conversation) as raw:
        with pytest.raises(UpstreamUnreachable) as caught:
            await dial(raw.url.replace("http", "https"), Deadlines())
    assert isinstance(caught.value.__cause__, ssl.SSLError)


async def test_no_handshake_in_time_is_a_timeout() -> None:
    async def conversation(peer: Peer) -> None:
        await peer.gone()

    async with RawUpstream(conversation) as raw:
        with pytest.raises(UpstreamTimeout):
            await dial(raw.url.replace("http", "https"), Deadlines(connect=0.05))
