"""One worker as its supervisor sees it: a process, its output, and the socket to it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import proxy
from proxy.cli.handover import SERVES, Handover, encode
from proxy.tasks import Tasks

STARTS_WITHIN = 60.0
"""Seconds until a worker must serve."""
_PIECE_BYTES = 1 << 16
_LINE_BYTES = 1 << 20
"""A longer line is written in pieces."""
_SAID_CHARACTERS = 2000

COMMAND = (sys.executable, "-P", "-m", "proxy", "serve", "--worker")
"""Begins a worker of this very package, whatever the working directory holds; see `environment`."""
Write = Callable[[bytes], None]
"""Takes whole lines, without the last line's end."""


class WorkerError(Exception):
    """A worker ended, or its time was over, before it served; the text is what it said."""


class WorkerProcess:
    """A process of COMMAND, in a session of its own: ctrl-C reaches only the supervisor."""

    def __init__(self, process: Process, link: socket.socket, handover: Handover, run: int) -> None:
        self.number = handover.worker.number
        self.admin_socket = handover.worker.admin_socket
        self.run = run
        """How many of its number there were before."""
        self._process = process
        self._link = link
        self._said = bytearray()
        self._serves = False
        self._status = 0
        self._ended = asyncio.Event()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        handover: Handover,
        *,
        run: int,
        tasks: Tasks,
        write: Write,
        write_error: Write,
    ) -> Self:
        """Start it; does not wait until it serves.

        `write` takes what it logs; `write_error` what it prints to standard error once it serves.
        Raises WorkerError where the system has no room for another process.
        """
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as unless_begun:
            unless_begun.callback(ours.close)
            try:
                with theirs:
                    process = await asyncio.create_subprocess_exec(
                        *command,
                        stdin=theirs.fileno(),
                        stdout=PIPE,
                        stderr=PIPE,
                        env=environment(os.environ),
                        start_new_session=True,
                    )
            except OSError as error:
                raise WorkerError(f"worker {handover.worker.number}: {error}") from error
            unless_begun.pop_all()
        ours.setblocking(False)
        worker = cls(process, ours, handover, run)
        tasks.spawn(worker._read(encode(handover), write, write_error), f"worker {worker.number}")
        return worker

    async def serving(self) -> None:
        """Wait until it serves. Raises WorkerError where that fails; it has ended then."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(STARTS_WITHIN):
                said = await loop.sock_recv(self._link, 1)
                self._serves = said == SERVES
                if not said:  # it ends by itself
                    await self._ended.wait()
        if not self._serves:
            self.kill()
            status = await self.ended()
            printed = self._said.decode(errors="replace").strip()[-_SAID_CHARACTERS:]
            raise WorkerError(printed or f"worker {self.number} ended with {describe(status)}")

    async def ended(self) -> int:
        """Wait until it has ended and all it said is written; its exit status, or -signal."""
        await self._ended.wait()
        return self._status

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it lives."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, if it lives."""
        self.signal(signal.SIGKILL)

    async def _read(self, told: bytes, write: Write, write_error: Write) -> None:
        def hear(lines: bytes) -> None:
            if self._serves:
                write_error(lines)
            else:
                self._said += lines + b"\n"

        try:
            with contextlib.suppress(OSError):  # it has died already
                await asyncio.get_running_loop().sock_sendall(self._link, told)
            async with asyncio.TaskGroup() as group:
                group.create_task(relay(self._process.stdout, write))
                group.create_task(relay(self._process.stderr, hear))
            self._status = await self._process.wait()
        finally:
            self.kill()
            self._link.close()
            self._ended.set()


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Ours, and the place that this package is in."""
    places = (str(Path(proxy.__file__).parent.parent), ours.get("PYTHONPATH", ""))
    return {**ours, "PYTHONPATH": os.pathsep.join(filter(None, places))}


async def relay(stream: asyncio.StreamReader | None, write: Write) -> None:
    """Write what comes, in whole lines."""
    rest = b""
    while stream is not None and (piece := await stream.read(_PIECE_BYTES)):
        lines, end, rest = (rest + piece).rpartition(b"\n")
        if end:
            write(lines)
        if len(rest) > _LINE_BYTES:
            write(rest)
            rest = b""
    if rest:
        write(rest)


def describe(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
