"""The real command as a child process."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.fakes.client import call

STARTS_WITHIN = 60.0
"""Seconds until the process must listen."""
DEADLINE = 25.0
"""Seconds after which any other wait has failed."""


class ProxyProcess(asyncio.SubprocessProtocol):
    """`python -m proxy` with the given arguments; what it prints is kept.

    The environment is the test's own without what would configure the proxy. `within` is a command
    that runs another one elsewhere, as `ip netns exec NAME` does.
    """

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        within: tuple[str, ...] = (),
    ) -> None:
        self._command = (*within, sys.executable, "-m", "proxy", *arguments)
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("REPRISE_")
        } | (environment or {})
        self._output = {1: bytearray(), 2: bytearray()}
        self._changed = asyncio.Event()
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def stdout(self) -> str:
        """What it has printed so far."""
        return self._output[1].decode()

    @property
    def stderr(self) -> str:
        """What it has printed to standard error so far."""
        return self._output[2].decode()

    @property
    def pid(self) -> int:
        """Its process id."""
        pid = self._running().get_pid()
        assert pid is not None
        return pid

    @property
    def returncode(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._running().get_returncode()

    @property
    def url(self) -> str:
        """Where it listens for clients."""
        return str(self._listening()["url"])

    @property
    def admin_url(self) -> str:
        """Where it listens for its operator."""
        return str(self._listening()["admin_url"])

    def events(self, name: str) -> list[dict[str, Any]]:
        """The JSON log lines so far whose `event` is `name`, from either output."""
        found = []
        for output in self._output.values():
            for line in output.splitlines():
                if line.startswith(b"{") and line.endswith(b"}"):
                    entry = json.loads(line)
                    if entry.get("event") == name:
                        found.append(entry)
        return found

    async def start(self) -> None:
        """Start it; does not wait until it listens."""
        self._transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: self, *self._command, stdin=None, env=self._environment
        )

    async def logged(self, name: str, *, times: int = 1) -> dict[str, Any]:
        """Wait for the log line `name` (its `times`-th); fails if the process ends before."""
        await self._until(lambda: len(self.events(name)) >= times, DEADLINE)
        return self.events(name)[times - 1]

    async def listening(self) -> None:
        """Wait until it says where it listens."""
        await self._until(lambda: bool(self.events("listening")), STARTS_WITHIN)

    async def ready(self) -> None:
        """Wait until it says that it is ready: what it kept is taken in, its encoders are there."""
        async with asyncio.timeout(DEADLINE):
            while (await call(self.admin_url, "GET", "/readyz")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._running().send_signal(number)

    async def wait(self) -> int:
        """Wait until it has ended; its exit status, negative for a signal."""
        async with asyncio.timeout(DEADLINE):
            await self._exited.wait()
        assert self.returncode is not None
        return self.returncode

    async def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL if that is not obeyed, which fails the test."""
        if self.returncode is None:
            self.signal(signal.SIGTERM)
        try:
            await self.wait()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self._exited.wait()
            raise AssertionError(f"SIGTERM did not end it:\n{self.stdout}{self.stderr}") from None
        finally:
            self._running().close()

    async def __aenter__(self) -> Self:
        await self.start()
        try:
            await self.listening()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Called by the event loop."""
        self._output[fd] += data
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop once the process has ended and its pipes are read."""
        self._exited.set()
        self._changed.set()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    if self._exited.is_set():
                        raise AssertionError(self._told("it ended"))
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(self._told(f"nothing within {seconds} s")) from None

    def _told(self, what: str) -> str:
        return f"{what}; {' '.join(self._command)} printed:\n{self.stdout}\n{self.stderr}"

    def _listening(self) -> dict[str, Any]:
        events = self.events("listening")
        assert events, self._told("it does not listen")
        return events[0]

    def _running(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None, "start() first"
        return self._transport
