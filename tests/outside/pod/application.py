"""An application in the pod: a process with one of the SDKs, told what to ask."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.outside.pod.hosts import Host
from tests.outside.pod.install import MODULES

DEADLINE = 60.0
"""Seconds after which a wait has failed; both SDKs wait between attempts."""
SDKS = ("python", "node")
_PROGRAMS = {
    "python": (sys.executable, "-m", "tests.outside.pod.ask_python"),
    "node": ("node", str(Path(__file__).with_name("ask_node.mjs"))),
}


class Application:
    """Asks one question after another."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, question: str, *, stream: bool = False) -> dict[str, Any]:
        """What the SDK made of the answer."""
        await self.begin(question, stream=stream)
        told = await self.told()
        return await self.told() if told == {"begun": True} else told

    async def begin(self, question: str, *, stream: bool) -> None:
        """Ask; `told` gives what comes of it."""
        assert self._process.stdin is not None
        line = json.dumps({"question": question, "stream": stream})
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def told(self) -> dict[str, Any]:
        """The next that it says."""
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            line = await self._process.stdout.readline()
        told: dict[str, Any] = json.loads(line)
        return told


@asynccontextmanager
async def running(sdk: str, pod: Host, environment: dict[str, str]) -> AsyncIterator[Application]:
    """The application, for as long as the block takes. `environment` is what the injector set."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    process = await asyncio.create_subprocess_exec(
        *pod.within,
        *_PROGRAMS[sdk],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=bare | environment | {"OPENAI_API_KEY": "key-of-the-app", "REPRISE_NODE": str(MODULES)},
    )
    try:
        yield Application(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(DEADLINE):
            assert await process.wait() == 0
