"""The process that keeps several workers: they share an address, and one admin listener."""

import asyncio
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.admin.member import Member
from proxy.admin.united import RESTARTING, Fleet, UnitedListener
from proxy.app import Worker
from proxy.cli.handover import ENDS_WITHIN, Handover
from proxy.cli.worker import WorkerError, WorkerProcess, Write, describe
from proxy.clock import SystemClock
from proxy.config import Config
from proxy.config_file import ConfigError
from proxy.core.address import Address
from proxy.server.listening import bound, url_of
from proxy.tasks import Tasks
from proxy.telemetry.log import Log, StructLog, form_of, trace_of

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
"""Seconds before a worker that died is begun again; they double while it does not live long."""
LIVES_LONG = 60.0
"""Seconds."""

STARTING = "starting"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    config: Config
    raw: bytes
    """The content of the configuration file; empty where there is none."""
    read: Callable[[], Config]
    """Reads the configuration as it is now. Blocks, raises ConfigError."""
    command: Sequence[str]
    """Begins a worker."""


class Workers:
    """Processes that serve as one. One that dies is begun again, after a pause."""

    def __init__(
        self,
        count: int,
        start: Callable[[int, int], Awaitable[WorkerProcess]],
        *,
        log: Log,
        tasks: Tasks,
    ) -> None:
        """`start` begins the worker of a number; its second argument counts its processes."""
        self._count = count
        self._start = start
        self._log = log
        self._tasks = tasks
        self._processes: dict[int, WorkerProcess] = {}
        self._serving: dict[int, WorkerProcess] = {}
        self._has_started = False
        self._is_ending = False
        self.restarts = 0

    @property
    def state(self) -> str:
        """Why no worker serves; "ok" where some do."""
        if self._is_ending:
            return "draining"
        if not self._has_started:
            return STARTING
        return "ok" if self._serving else RESTARTING

    def members(self) -> list[Member]:
        """Those that serve."""
        return [
            Member(number, worker.run, worker.admin_socket)
            for number, worker in sorted(self._serving.items())
        ]

    async def begin(self) -> None:
        """Start all, and keep them. Raises WorkerError where one cannot serve; none is left."""
        numbers = range(1, self._count + 1)
        begun = await asyncio.gather(
            *(self._begin(number, 0) for number in numbers), return_exceptions=True
        )
        for failed in begun:
            if isinstance(failed, BaseException):
                await self.end(0)
                raise failed
        self._has_started = True
        for number in numbers:
            self._tasks.spawn(self._keep(number), f"keep worker {number}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all."""
        for worker in self._processes.values():
            worker.signal(number)

    async def end(self, seconds: float) -> bool:
        """Have all drain, and kill those that have not ended by then; whether all obeyed."""
        self._is_ending = True
        self.signal(signal.SIGTERM)
        running = list(self._processes.values())
        try:
            async with asyncio.timeout(seconds):
                for worker in running:
                    await worker.ended()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            for worker in running:
                await worker.ended()
            return False
        return True

    async def _begin(self, number: int, run: int) -> None:
        worker = self._processes[number] = await self._start(number, run)
        if self._is_ending:
            worker.kill()
        try:
            await worker.serving()
        except WorkerError:
            del self._processes[number]
            raise
        self._serving[number] = worker

    async def _keep(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        pause, run = FIRST_PAUSE, 0
        while True:
            began = loop.time()
            why = await self._until_it_ends(number, run)
            if self._is_ending:
                return
            self._log.emit("error", "worker died", {"worker": number, "why": why, "pause": pause})
            if loop.time() - began > LIVES_LONG:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause, run = min(2 * pause, LONGEST_PAUSE), run + 1
            self.restarts += 1

    async def _until_it_ends(self, number: int, run: int) -> str:
        """Begin a worker if it does not run, and wait for its end; why it has ended."""
        try:
            if number not in self._serving:
                await self._begin(number, run)
            status = await self._serving[number].ended()
        except WorkerError as error:
            return str(error)
        del self._serving[number], self._processes[number]
        return describe(status)


class Supervisor:
    """Runs a plan until a signal ends it."""

    def __init__(self, plan: Plan, *, write: Write, write_error: Write) -> None:
        """`write` takes log lines, `write_error` what workers print to standard error.

        Must be made inside a running event loop.
        """
        static, dynamic = plan.config.static, plan.config.dynamic
        self._plan = plan
        self._write = write
        self._write_error = write_error
        self._log = StructLog(
            write, form=static.log_format, level=dynamic.log_level, wall=SystemClock().now
        )
        self._tasks = Tasks(self._task_died)
        self._workers = Workers(static.workers, self._start, log=self._log, tasks=self._tasks)
        self._secret = secrets.token_bytes(32)
        self._address = static.listen
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        """For the sockets of the workers' admin listeners; nobody else may enter it."""
        self._sockets = Path()
        self._ended = asyncio.Event()

    async def run(self) -> int:
        """The exit status. Raises OSError for an address, WorkerError for what cannot serve."""
        static = self._plan.config.static
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._workers.signal, signal.SIGHUP)
        self._folder = tempfile.TemporaryDirectory(prefix="reprise-")
        with (
            self._folder as folder,
            held(static.listen) as data,
            bound(static.admin_listen, "admin.listen") as admin,
        ):
            self._address = Address(static.listen.host, data.getsockname()[1])
            self._sockets = Path(folder)
            listener = UnitedListener(self._fleet())
            await listener.start(admin)
            try:
                return await self._serve(url_of(data), url_of(admin))
            finally:
                await listener.stop()
                await self._tasks.drain(0)

    async def _serve(self, url: str, admin_url: str) -> int:
        try:
            await self._workers.begin()
        except WorkerError:
            if self._ended.is_set():
                return 0
            raise
        self._log.emit("info", "listening", {"url": url, "admin_url": admin_url})
        await self._ended.wait()
        grace = await asyncio.to_thread(self._grace)
        self._log.emit("info", "draining workers", {"grace": grace})
        obeyed = await self._workers.end(grace + ENDS_WITHIN)
        self._log.emit("info", "stopped", {})
        return 0 if obeyed else 1

    def _end(self) -> None:
        if self._ended.is_set():  # asked twice: at once
            self._workers.signal(signal.SIGKILL)
            if self._folder is not None:
                self._folder.cleanup()
            os._exit(1)
        self._ended.set()
        if self._workers.state == STARTING:
            self._workers.signal(signal.SIGKILL)

    def _grace(self) -> float:
        try:
            return self._plan.read().dynamic.shutdown_grace
        except ConfigError:
            return self._plan.config.dynamic.shutdown_grace

    async def _start(self, number: int, run: int) -> WorkerProcess:
        admin_socket = self._sockets / f"{number}.sock"
        admin_socket.unlink(missing_ok=True)
        worker = Worker(
            number=number,
            listen=self._address,
            admin_socket=str(admin_socket),
            secret=self._secret,
            log_form=form_of(self._plan.config.static.log_format),
        )
        return await WorkerProcess.start(
            self._plan.command,
            Handover(worker, self._plan.raw),
            run=run,
            tasks=self._tasks,
            write=self._write,
            write_error=self._write_error,
        )

    def _fleet(self) -> Fleet:
        return Fleet(
            count=self._plan.config.static.workers,
            token=self._plan.config.static.admin_token,
            members=self._workers.members,
            restarts=lambda: self._workers.restarts,
            state=lambda: self._workers.state,
        )

    def _task_died(self, name: str, error: BaseException) -> None:
        self._log.emit("error", "background task died", {"task": name, **trace_of(error)})


def held(address: Address) -> socket.socket:
    """A socket that keeps an address for workers to share, and takes nothing itself.

    So the port that the system chose stays ours while workers die and are begun again. Raises
    OSError where somebody listens there already, even if he would share it.
    """
    with bound(address, "listen", listens=False) as alone:
        chosen = Address(address.host, alone.getsockname()[1])
        return bound(chosen, "listen", is_shared=True, listens=False)
