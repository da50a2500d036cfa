"""Starts, awaits and ends the bench's processes, each by its own id."""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]

_END_SECONDS = 10.0
_POLL_SECONDS = 0.005
_FIRST_PORT, _COUNT_OF_PORTS = 16_000, 16_000
_PORTS = itertools.count(os.getpid() * 4001)  # processes at once begin far from each other


class BenchError(Exception):
    """The bench cannot go on; the text says why."""


def free_port() -> int:
    """A port that nobody listens on; no other call in this process gave it.

    Not one of those that the system itself gives to whoever asks for any: what is started on it a
    moment later, or again after a while, finds it free.
    """
    while True:
        port = _FIRST_PORT + next(_PORTS) % _COUNT_OF_PORTS
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def python(*arguments: str) -> list[str]:
    """A command line for this interpreter."""
    return [sys.executable, *arguments]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, then make it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class Processes:
    """A group of servers that ends with its `with` block, whatever happens in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._started):
            end(process)

    def start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a server; what it prints goes to files of its name."""
        with self.log(name).open("ab") as out, self.log(f"{name}.err").open("ab") as err:
            process = subprocess.Popen(  # noqa: S603 - our own argument list
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End one of them before the others."""
        self._started.remove(process)
        end(process)

    @property
    def ids(self) -> list[int]:
        """The ids of what was started."""
        return [process.pid for process in self._started]

    def log(self, name: str) -> Path:
        """The file that a server's stdout goes to."""
        return self._folder / f"{name}.log"

    def await_answer(
        self,
        name: str,
        process: subprocess.Popen[bytes],
        port: int,
        *,
        path: str = "/v1/models",
        seconds: float = 20.0,
    ) -> None:
        """Wait until a server gives its first 200."""
        deadline = time.monotonic() + seconds
        while not answers(port, path):
            if process.poll() is not None or time.monotonic() > deadline:
                said = self.log(f"{name}.err").read_text(errors="replace")[-2000:]
                said += self.log(name).read_text(errors="replace")[-2000:]
                raise BenchError(f"{name} does not answer on port {port}:\n{said}")
            time.sleep(_POLL_SECONDS)


def answers(port: int, path: str) -> bool:
    """Whether GET gives 200 now."""
    with contextlib.suppress(OSError), _ask(port, path) as stream:
        return b" 200 " in stream.recv(64)
    return False


def _ask(port: int, path: str) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port), 5)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    stream.sendall(head.encode())
    return stream


def all_metrics(port: int) -> dict[str, float]:
    """Every metric of ours, whose admin listener has this port, by its name with labels."""
    with _ask(port, "/metrics") as stream:
        told = b"".join(iter(partial(stream.recv, 1 << 16), b""))
    lines = told.partition(b"\r\n\r\n")[2].decode().splitlines()
    found = (line.rpartition(" ") for line in lines if line.startswith("reprise_"))
    return {name: float(value) for name, _, value in found}


def metric(port: int, name: str) -> float:
    """A metric without labels of ours, whose admin listener has this port."""
    found = all_metrics(port).get(f"reprise_{name}")
    if found is None:
        raise BenchError(f"no metric {name}")
    return found


def await_metric(port: int, name: str, least: float, seconds: float = 60.0) -> None:
    """Wait until a metric of ours has risen to a value."""
    deadline = time.monotonic() + seconds
    while (value := metric(port, name)) < least:
        if time.monotonic() > deadline:
            raise BenchError(f"{name} stays at {value:g}, below {least:g}")
        time.sleep(_POLL_SECONDS)


def pin(ids: Iterable[int], cpus: AbstractSet[int]) -> None:
    """Keep processes, with all their threads and children, on these processors."""
    for process in ids:
        for task in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):  # a thread may have ended meanwhile
                os.sched_setaffinity(int(task.name), cpus)
                pin(map(int, (task / "children").read_text().split()), cpus)


def resident_bytes(process: int) -> int:
    """VmRSS of a process, by its id."""
    status = Path(f"/proc/{process}/status").read_text()
    return _kilobytes(status, "VmRSS:") * 1024


def processor_seconds(process: int) -> float:
    """Processor time that a process has taken so far, without its children."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def settled_resident_bytes(process: subprocess.Popen[bytes]) -> int:
    """VmRSS once it has not moved for half a second."""
    previous = resident_bytes(process.pid)
    for _ in range(20):
        time.sleep(0.5)
        current = resident_bytes(process.pid)
        if current == previous:
            break
        previous = current
    return previous


def _kilobytes(status: str, name: str) -> int:
    for line in status.splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise BenchError(f"no {name} in /proc/<pid>/status")
