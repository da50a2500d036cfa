"""One worker as its supervisor sees it; here a script plays the worker."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import proxy
from proxy.cli.worker import WorkerError, WorkerProcess, describe, environment, relay
from proxy.tasks import Tasks
from tests.cli.test_handover import HANDOVER

DEADLINE = 30.0
READ = "import socket, sys, time\nlink = socket.socket(fileno=0)\nline = link.recv(1 << 16)\n"
SERVES = READ + "link.send(b'+')\n"


class Started:
    """A worker, and what was written of its output."""

    def __init__(self, worker: WorkerProcess, lines: list[bytes], errors: list[bytes]) -> None:
        self.worker = worker
        self.lines = lines
        self.errors = errors

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.worker.ended()


@contextlib.asynccontextmanager
async def started(script: str) -> AsyncIterator[Started]:
    """A worker that runs a script."""
    died: list[BaseException] = []
    tasks = Tasks(lambda name, error: died.append(error))
    lines: list[bytes] = []
    errors: list[bytes] = []
    worker = await WorkerProcess.start(
        (sys.executable, "-c", script),
        HANDOVER,
        run=0,
        tasks=tasks,
        write=lines.append,
        write_error=errors.append,
    )
    try:
        yield Started(worker, lines, errors)
    finally:
        worker.kill()
        await tasks.drain(DEADLINE)
    assert died == []


async def test_it_is_told_what_it_needs_and_says_that_it_serves() -> None:
    script = SERVES + "print(line.decode(), end='')\nprint('oops', file=sys.stderr)\n"
    async with started(script) as one:
        await one.worker.serving()
        assert await one.ended() == 0
        assert b"".join(one.lines).startswith(b'{"number": 2')
        assert one.errors == [b"oops"]
        assert (one.worker.number, one.worker.admin_socket) == (2, "/tmp/2.sock")  # noqa: S108


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("print('no', file=__import__('sys').stderr)\nraise SystemExit(2)", "no"),
        (READ + "raise SystemExit(3)", "worker 2 ended with status 3"),
        (READ + "import os; os.kill(os.getpid(), 9)", "worker 2 ended with SIGKILL"),
        (READ + "link.send(b'-'); time.sleep(60)", "worker 2 ended with SIGKILL"),
    ],
)
async def test_one_that_cannot_serve_tells_why(script: str, told: str) -> None:
    async with started(script) as one:
        with pytest.raises(WorkerError, match=f"^{told}$"):
            await one.worker.serving()
        assert one.errors == []


async def test_one_that_does_not_come_up_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.worker.STARTS_WITHIN", 0.05)
    async with started(READ + "time.sleep(60)") as one:
        with pytest.raises(WorkerError, match="SIGKILL"):
            await one.worker.serving()


async def test_what_cannot_be_run_is_told() -> None:
    tasks = Tasks(lambda name, error: None)
    with pytest.raises(WorkerError, match=r"worker 2: .*No such file"):
        await WorkerProcess.start(
            ("/nowhere/python",),
            HANDOVER,
            run=0,
            tasks=tasks,
            write=lambda lines: None,
            write_error=lambda lines: None,
        )
    assert len(tasks) == 0


@pytest.mark.parametrize("turns", range(6))
async def test_one_whose_start_is_given_up_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    pairs: list[socket.socket] = []
    pair = socket.socketpair

    def kept() -> tuple[socket.socket, socket.socket]:
        pairs.extend(pair())
        return pairs[0], pairs[1]

    tasks = Tasks(lambda name, error: None)
    starting = asyncio.get_running_loop().create_task(
        WorkerProcess.start(
            (sys.executable, "-c", READ + "time.sleep(60)"),
            HANDOVER,
            run=0,
            tasks=tasks,
            write=lambda lines: None,
            write_error=lambda lines: None,
        )
    )
    monkeypatch.setattr("proxy.cli.worker.socket.socketpair", kept)
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])
    await tasks.drain(0)
    assert [one.fileno() for one in pairs] == [-1, -1][: len(pairs)]


async def test_signals_reach_it_while_it_lives() -> None:
    obey = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    script = READ + obey + "link.send(b'+')\ntime.sleep(60)\n"
    async with started(script) as one:
        await one.worker.serving()
        one.worker.signal(signal.SIGTERM)
        assert await one.ended() == 7
        one.worker.signal(signal.SIGTERM)


async def test_it_is_not_reached_by_the_terminal() -> None:
    async with started(SERVES + "import os\nprint(os.getsid(0) == os.getpid())\n") as one:
        await one.worker.serving()
        assert await one.ended() == 0
        assert one.lines == [b"True"]


async def test_lines_are_written_whole() -> None:
    stream = asyncio.StreamReader()
    written: list[bytes] = []

    async def feed() -> None:
        for piece in (b"one\ntw", b"o", b"\nthree\nfo", b"ur"):
            stream.feed_data(piece)
            for _ in range(3):
                await asyncio.sleep(0)
        stream.feed_eof()

    async with asyncio.TaskGroup() as group:
        group.create_task(relay(stream, written.append))
        group.create_task(feed())
    assert written == [b"one", b"two\nthree", b"four"]


async def test_a_line_without_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.worker._LINE_BYTES", 10)
    stream = asyncio.StreamReader()
    written: list[bytes] = []
    stream.feed_data(b"x" * 11)
    stream.feed_eof()
    await relay(stream, written.append)
    await relay(None, written.append)
    assert written == [b"x" * 11]


@pytest.mark.parametrize(
    ("status", "words"), [(0, "status 0"), (-15, "SIGTERM"), (-9, "SIGKILL"), (-99, "signal 99")]
)
def test_an_end_has_words(status: int, words: str) -> None:
    assert describe(status) == words


def test_a_worker_finds_this_package() -> None:
    place = str(Path(proxy.__file__).parent.parent)
    assert environment({"A": "b"}) == {"A": "b", "PYTHONPATH": place}
    assert environment({"PYTHONPATH": "/x"})["PYTHONPATH"] == f"{place}{os.pathsep}/x"
