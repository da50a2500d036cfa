"""Workers are begun, kept and ended; the processes here are played by scripts.

tests/e2e/test_workers.py has the real ones.
"""

import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from proxy.cli.supervisor import Workers, held
from proxy.cli.worker import WorkerError, WorkerProcess
from proxy.core.address import Address
from proxy.server.listening import bound
from proxy.tasks import Tasks
from proxy.telemetry.log import Event
from tests.cli.test_handover import HANDOVER
from tests.cli.test_worker import READ, SERVES
from tests.watch import until

STAYS = SERVES + "time.sleep(60)\n"
DIES = SERVES + "raise SystemExit(3)\n"
FAILS = READ + "raise SystemExit(4)\n"


class Lines:
    """A log that keeps what was emitted."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Event]] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Keep one line."""
        self.seen.append((event, {"level": level, **fields}))


class Kept:
    """Two workers whose scripts the test chooses by number and run."""

    def __init__(self, script: Callable[[int, int], str], tasks: Tasks) -> None:
        self.log = Lines()
        self.begun: list[tuple[int, int]] = []
        self._script = script
        self.tasks = tasks
        self.workers = Workers(2, self._start, log=self.log, tasks=tasks)

    async def _start(self, number: int, run: int) -> WorkerProcess:
        self.begun.append((number, run))
        return await WorkerProcess.start(
            (sys.executable, "-c", self._script(number, run)),
            HANDOVER,
            run=run,
            tasks=self.tasks,
            write=lambda lines: None,
            write_error=lambda lines: None,
        )

    @property
    def deaths(self) -> list[Any]:
        """Worker and cause of each death that was logged."""
        return [(told["worker"], told["why"]) for _, told in self.log.seen]


@pytest.fixture
async def keep(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Kept]]:
    """Make workers; whatever runs at the end is killed."""
    monkeypatch.setattr("proxy.cli.supervisor.FIRST_PAUSE", 0.01)
    died: list[str] = []
    tasks = Tasks(lambda name, error: died.append(name))
    async with contextlib.AsyncExitStack() as stack:

        def make(script: Callable[[int, int], str]) -> Kept:
            kept = Kept(script, tasks)
            stack.push_async_callback(kept.workers.end, 0)
            return kept

        stack.push_async_callback(tasks.drain, 0)
        yield make
    assert died == []


async def test_all_serve_until_they_are_ended(keep: Callable[..., Kept]) -> None:
    kept = keep(lambda number, run: STAYS)
    assert (kept.workers.state, kept.workers.members()) == ("starting", [])
    await kept.workers.begin()
    assert kept.workers.state == "ok"
    assert [(member.number, member.run) for member in kept.workers.members()] == [(1, 0), (2, 0)]
    assert await kept.workers.end(10)
    assert kept.workers.state == "draining"
    assert (kept.begun, kept.deaths, kept.workers.restarts) == ([(1, 0), (2, 0)], [], 0)


async def test_one_that_dies_is_told_of_and_begun_again(keep: Callable[..., Kept]) -> None:
    kept = keep(lambda number, run: DIES if (number, run) == (2, 0) else STAYS)
    await kept.workers.begin()
    await until(lambda: [member.run for member in kept.workers.members()] == [0, 1])
    assert kept.log.seen == [
        ("worker died", {"level": "error", "worker": 2, "why": "status 3", "pause": 0.01})
    ]
    assert (kept.workers.state, kept.workers.restarts) == ("ok", 1)


async def test_one_that_cannot_come_back_is_tried_again_ever_more_rarely(
    keep: Callable[..., Kept],
) -> None:
    def script(number: int, run: int) -> str:
        if number == 1 or run == 4:
            return STAYS
        return FAILS if run else DIES

    kept = keep(script)
    await kept.workers.begin()
    await until(lambda: [member.run for member in kept.workers.members()] == [0, 4])
    assert kept.deaths[0] == (2, "status 3")
    assert kept.deaths[1:] == [(2, "worker 2 ended with status 4")] * 3
    assert [told["pause"] for _, told in kept.log.seen] == [0.01, 0.02, 0.04, 0.08]


async def test_without_any_it_is_being_restarted(
    keep: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.cli.supervisor.FIRST_PAUSE", 1000.0)
    kept = keep(lambda number, run: DIES)
    await kept.workers.begin()
    await until(lambda: len(kept.deaths) == 2)
    assert (kept.workers.state, kept.workers.members()) == ("restarting", [])


async def test_none_is_left_where_one_cannot_begin(keep: Callable[..., Kept]) -> None:
    kept = keep(lambda number, run: STAYS if number == 1 else FAILS)
    with pytest.raises(WorkerError, match="status 4"):
        await kept.workers.begin()
    assert (kept.deaths, kept.workers.state) == ([], "draining")


async def test_one_that_does_not_obey_is_killed(keep: Callable[..., Kept]) -> None:
    ignore = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    kept = keep(lambda number, run: ignore + STAYS if number == 1 else STAYS)
    await kept.workers.begin()
    assert not await kept.workers.end(0.2)
    assert kept.deaths == []


async def test_one_that_is_begun_while_all_end_does_not_stay(keep: Callable[..., Kept]) -> None:
    kept = keep(lambda number, run: DIES if (number, run) == (2, 0) else STAYS)
    await kept.workers.begin()
    await until(lambda: (2, 1) in kept.begun)
    await kept.workers.end(10)
    await until(lambda: not len(kept.tasks))  # each worker that runs has one


def test_a_held_address_takes_no_connection_and_lets_workers_share_it() -> None:
    with held(Address("127.0.0.1", 0)) as ours:
        address = Address(*ours.getsockname())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(ours.getsockname())
        with (
            bound(address, "listen", is_shared=True) as one,
            bound(address, "listen", is_shared=True) as other,
        ):
            assert one.getsockname() == other.getsockname() == ours.getsockname()
            with socket.create_connection(ours.getsockname()):
                pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(ours.getsockname())


def test_an_address_that_others_share_is_taken() -> None:
    with bound(Address("127.0.0.1", 0), "listen", is_shared=True) as theirs:
        address = Address(*theirs.getsockname())
        with pytest.raises(OSError, match=f"^listen {address}: Address already in use$"):
            held(address)


def test_an_address_of_ipv6_is_held() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        ours = held(Address("::1", 0))
    except OSError:
        pytest.skip("no IPv6 address")
    with ours:
        assert ours.getsockname()[1] > 0


async def test_signals_reach_all(keep: Callable[..., Kept]) -> None:
    kept = keep(lambda number, run: STAYS)
    await kept.workers.begin()
    kept.workers.signal(signal.SIGKILL)
    await until(lambda: sorted(kept.deaths) == [(1, "SIGKILL"), (2, "SIGKILL")])
