"""`reprise healthcheck`."""

import asyncio
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from proxy.cli.healthcheck import healthcheck
from tests.conftest import StartProxy


async def ask(url: str) -> Result:
    """The command, in a thread: the proxy answers in this one."""
    return await asyncio.to_thread(CliRunner().invoke, healthcheck, ["--admin-url", url])


async def said(words: bytes) -> Result:
    """The command before a server that says these words to whom it may concern."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(words)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        return await ask(f"http://127.0.0.1:{port}")


async def test_a_proxy_that_takes_requests_is_well(proxy: StartProxy) -> None:
    async with proxy("semantic: {enabled: false}") as app:
        result = await ask(app.admin_url)
    assert (result.exit_code, result.stdout) == (0, "ok\n")


async def test_a_proxy_that_ends_is_not_well() -> None:
    result = await said(b"HTTP/1.1 503 Service Unavailable\r\n\r\ndraining")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "draining\n")


@pytest.mark.parametrize("words", [b"", b"SSH-2.0-other\r\n", b"HTTP/1.1 okay\r\n\r\n"])
async def test_who_speaks_no_http_is_not_well(words: bytes) -> None:
    result = await said(words)
    assert (result.exit_code, result.stderr) == (1, "what answers there speaks no HTTP\n")


async def test_nobody_is_not_well() -> None:
    result = await ask("http://[::1]:1")
    assert result.exit_code == 1
    assert result.stderr.startswith("no proxy answers at http://[::1]:1: ")


@pytest.mark.parametrize("url", ["", "localhost:8081", "https://h", "http://", "http://h:x"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    assert (await ask(url)).exit_code == 2


def test_it_loads_next_to_nothing() -> None:
    """An engine runs it every few seconds, beside a proxy that may have a tenth of a core."""
    loaded = "import sys, proxy.cli.healthcheck; print(*sys.modules)"
    command = [sys.executable, "-c", loaded]
    bare = {name: of for name, of in os.environ.items() if not name.startswith("COVERAGE_")}
    told = subprocess.run(  # noqa: S603 - ours
        command, check=True, capture_output=True, text=True, env=bare
    )
    names = set(told.stdout.split())
    assert not names & {"asyncio", "ssl", "http.client", "json", "aiohttp", "orjson", "numpy"}
