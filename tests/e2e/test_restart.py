"""A restart loses nothing, with no service at all."""

import asyncio
import signal

import pytest

from tests.conftest import Serve
from tests.fakes.client import CHAT, call, posting, question
from tests.fakes.process import ProxyProcess
from tests.fakes.upstream import ScriptedUpstream

DEADLINE = 15.0


async def tells(process: ProxyProcess, target: str, *lines: bytes) -> None:
    """Wait until the admin listener says all of this."""
    async with asyncio.timeout(DEADLINE):
        while True:
            said = (await call(process.admin_url, "GET", target)).body
            if all(line in said for line in lines):
                return


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_answers_are_there_after_a_restart(
    serve: Serve, upstream: ScriptedUpstream, end: signal.Signals
) -> None:
    async with serve("--upstream", upstream.url) as process:
        first = await call(process.url, "POST", CHAT, fields=posting(), body=question("Q"))
        if end is signal.SIGKILL:  # what is written is not lost
            await tells(process, "/metrics", b"reprise_entries 1.0", b"reprise_disk_queue 0.0")
        process.signal(end)
        await process.wait()
    async with serve("--upstream", upstream.url) as process:
        await tells(process, "/metrics", b"reprise_entries 1.0")
        again = await call(process.url, "POST", CHAT, fields=posting(), body=question("Q"))
        assert again.is_hit
    assert again.body == first.body
