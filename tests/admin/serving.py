"""Runs an aiohttp application on loopback or on a socket of the file system."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web


@contextlib.asynccontextmanager
async def serving(app: web.Application, path: Path | None = None) -> AsyncIterator[str]:
    """Serve until the block ends; gives the URL, empty where it is a path."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        if path is not None:
            await web.UnixSite(runner, path).start()
            yield ""
        else:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
