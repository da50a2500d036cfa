"""A Hugging Face hub on loopback: one repository at one commit, with a tiny encoder in it."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from tests.semantic import tiny

REPOSITORY = "someone/some-encoder"
COMMIT = "0123456789" * 4


class FakeHub:
    """Serves files as the hub does."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.url = ""
        self.status = 200
        """Any other is its answer to everything."""

    async def answer(self, request: web.Request) -> web.Response:
        """A file, or that there is none."""
        content = self.files.get(request.match_info["file"])
        if self.status != 200:
            return web.Response(status=self.status)
        if content is None:
            return web.Response(status=404, headers={"x-error-code": "EntryNotFound"})
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        return web.Response(body=content, headers={"etag": etag, "x-repo-commit": COMMIT})


@asynccontextmanager
async def running_hub(scratch: Path) -> AsyncIterator[FakeHub]:
    """A hub that serves while the block runs; `scratch` is a directory for its files."""
    hub = FakeHub()
    await asyncio.to_thread(tiny.write, scratch)
    for place in ("tokenizer.json", "onnx/model.onnx"):
        path = scratch / Path(place).name
        hub.files[place] = await asyncio.to_thread(path.read_bytes)
    application = web.Application()
    application.router.add_get(f"/{REPOSITORY}/resolve/{COMMIT}/{{file:.+}}", hub.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        hub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield hub
    finally:
        await runner.cleanup()
