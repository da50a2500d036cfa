"""A restart loses nothing, with no service at all."""

import asyncio
import signal

import pytest

from tests.conftest import Serve
from tests.fakes.client import CHAT, call, question
from tests.fakes.upstream import ScriptedUpstream


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_answers_are_there_after_a_restart(
    serve: Serve, upstream: ScriptedUpstream, end: signal.Signals
) -> None:
    async with serve("--upstream", upstream.url) as process:
        first = await call(process.url, CHAT, question("Q"))
        assert first.status == 200
        if end is signal.SIGKILL:
            await asyncio.sleep(1.0)  # what is older than a second is not lost
        process.signal(end)
        await process.wait()
    async with serve("--upstream", upstream.url) as process:
        async with asyncio.timeout(10):
            while b'"disk": "ok"' not in (await ready(process.admin_url)):
                pass
        again = await call(process.url, CHAT, question("Q"))
    assert again.body == first.body
