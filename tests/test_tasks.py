"""Background tasks are kept, told about, and waited for."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from proxy.tasks import Heartbeat, Tasks
from tests.watch import until

Told = list[tuple[str, BaseException]]


@pytest.fixture
def told() -> Told:
    """What the tasks said of errors."""
    return []


@pytest.fixture
async def tasks(told: Told) -> AsyncIterator[Tasks]:
    """Tasks that are cancelled at the end of the test."""
    tasks = Tasks(lambda name, error: told.append((name, error)))
    yield tasks
    await tasks.drain(0)


class Work:
    """A coroutine that says how far it is and ends when it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.was_cancelled = False

    async def run(self) -> None:
        """Wait for `go`."""
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


async def fail(error: BaseException) -> None:
    raise error


async def test_a_task_runs_beside_its_maker(tasks: Tasks, told: Told) -> None:
    work = Work()
    tasks.spawn(work.run(), "work")
    assert len(tasks) == 1
    await work.begun.wait()
    work.go.set()
    await tasks.drain(5)
    assert (len(tasks), work.was_cancelled, told) == (0, False, [])


async def test_a_task_has_its_name(tasks: Tasks) -> None:
    names: list[str] = []

    async def look() -> None:
        task = asyncio.current_task()
        assert task is not None
        names.append(task.get_name())

    tasks.spawn(look(), "look")
    await tasks.drain(5)
    assert names == ["look"]


async def test_a_task_without_other_references_is_not_lost(tasks: Tasks) -> None:
    done: list[str] = []

    async def wait_for_nobody() -> None:
        # Only this future knows the task, and only the task knows the future.
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            await future
        finally:
            done.append("ended")

    tasks.spawn(wait_for_nobody(), "waits")
    await asyncio.sleep(0)
    gc.collect()
    assert (len(tasks), done) == (1, [])


async def test_what_is_returned_cancels_it(tasks: Tasks, told: Told) -> None:
    work = Work()
    cancel = tasks.spawn(work.run(), "work")
    await work.begun.wait()
    cancel()
    await tasks.drain(5)
    assert (len(tasks), work.was_cancelled, told) == (0, True, [])
    cancel()


async def test_what_is_cancelled_before_its_first_step_lets_go_of_what_it_was_given(
    tasks: Tasks, told: Told
) -> None:
    work, loop = Work(), Work()
    tasks.spawn(work.run(), "work")()
    tasks.keep(lambda beat: loop.run(), "loop", every=1.0)()
    await tasks.drain(0)
    assert (len(tasks), work.was_cancelled, told) == (0, True, [])
    assert loop.was_cancelled


async def test_a_task_that_dies_is_told_by_its_name(tasks: Tasks, told: Told) -> None:
    error = OSError("disk full")
    tasks.spawn(fail(error), "writer")
    await tasks.drain(5)
    assert told == [("writer", error)]
    assert len(tasks) == 0


async def test_the_death_of_one_does_not_touch_the_others(tasks: Tasks, told: Told) -> None:
    work = Work()
    tasks.spawn(fail(ValueError()), "dies")
    tasks.spawn(work.run(), "lives")
    await work.begun.wait()
    await asyncio.sleep(0)
    assert ([name for name, _ in told], len(tasks)) == (["dies"], 1)


async def test_draining_nothing_is_done_at_once(tasks: Tasks) -> None:
    await tasks.drain(1000)
    assert len(tasks) == 0


async def test_draining_waits_within_the_grace(tasks: Tasks) -> None:
    work = Work()
    tasks.spawn(work.run(), "work")
    asyncio.get_running_loop().call_later(0.01, work.go.set)
    await tasks.drain(1000)
    assert not work.was_cancelled


async def test_draining_cancels_what_does_not_end_in_time(tasks: Tasks, told: Told) -> None:
    quick, slow = Work(), Work()
    quick.go.set()
    tasks.spawn(quick.run(), "quick")
    tasks.spawn(slow.run(), "slow")
    await tasks.drain(0.01)
    assert (quick.was_cancelled, slow.was_cancelled, len(tasks), told) == (False, True, 0, [])


async def test_draining_waits_for_what_a_cancelled_task_still_has_to_do(tasks: Tasks) -> None:
    steps: list[str] = []
    begun = asyncio.Event()

    async def tidy() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("tidied")

    tasks.spawn(tidy(), "tidy")
    await begun.wait()
    await tasks.drain(0)
    assert steps == ["tidied"]


async def test_draining_cancels_what_a_cancelled_task_leaves_behind(tasks: Tasks) -> None:
    heir, begun = Work(), asyncio.Event()

    async def leave(make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            tasks.spawn(make(), "heir")

    tasks.spawn(leave(heir.run), "leaves")
    await begun.wait()
    async with asyncio.timeout(5):
        await tasks.drain(0)
    assert len(tasks) == 0


async def test_an_error_while_draining_is_told(tasks: Tasks, told: Told) -> None:
    error, begun = RuntimeError("late"), asyncio.Event()

    async def die_when_cancelled() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            raise error

    tasks.spawn(die_when_cancelled(), "late")
    await begun.wait()
    await tasks.drain(0)
    assert told == [("late", error)]


async def test_a_loop_that_dies_is_told_of_and_begun_again(
    tasks: Tasks, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.tasks.FIRST_PAUSE", 0.001)
    runs = asyncio.Semaphore(0)

    async def run(beat: Callable[[], None]) -> None:
        runs.release()
        if len(told) < 3:
            raise ValueError(len(told))
        beat()
        await asyncio.Event().wait()

    stop = tasks.keep(run, "loop", every=1.0)
    async with asyncio.timeout(10):
        for _ in range(4):
            await runs.acquire()
    heartbeat = tasks.heartbeats["loop"]
    assert [str(error) for _, error in told] == ["0", "1", "2"]
    assert (heartbeat.deaths, heartbeat.pause) == (3, 0.001)
    stop()
    assert tasks.heartbeats == {}
    await tasks.drain(1)


async def test_a_loop_whose_work_is_cancelled_by_another_is_begun_again(
    tasks: Tasks, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.tasks.FIRST_PAUSE", 0.001)
    again = asyncio.Event()

    async def run(beat: Callable[[], None]) -> None:
        if told:
            again.set()
            await asyncio.Event().wait()
        raise asyncio.CancelledError

    tasks.keep(run, "loop", every=1.0)
    async with asyncio.timeout(10):
        await again.wait()
    assert [(name, type(error)) for name, error in told] == [("loop", asyncio.CancelledError)]
    assert tasks.heartbeats["loop"].deaths == 1


async def test_a_loop_that_returns_has_ended(tasks: Tasks, told: Told) -> None:
    async def run(beat: Callable[[], None]) -> None:
        beat()

    tasks.keep(run, "loop", every=1.0)
    await until(lambda: not len(tasks))
    assert (tasks.heartbeats, told) == ({}, [])


async def test_a_loop_is_stopped_in_its_pause(
    tasks: Tasks, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.tasks.FIRST_PAUSE", 1000.0)
    stop = tasks.keep(lambda beat: fail(OSError()), "loop", every=1.0)
    async with asyncio.timeout(10):
        await until(lambda: told)
        stop()
        await tasks.drain(1000)
    assert [name for name, _ in told] == ["loop"]


async def test_what_a_loop_dies_of_while_it_is_stopped_is_told(tasks: Tasks, told: Told) -> None:
    begun = asyncio.Event()

    async def run(beat: Callable[[], None]) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            raise OSError("disk full")

    stop = tasks.keep(run, "loop", every=1.0)
    await begun.wait()
    stop()
    await tasks.drain(5)
    assert [(name, str(error)) for name, error in told] == [("loop", "disk full")]


async def test_a_loop_that_is_stopped_leaves_the_heartbeat_of_its_heir(tasks: Tasks) -> None:
    first, second = Work(), Work()
    stop_first = tasks.keep(lambda beat: first.run(), "loop", every=1.0)
    await first.begun.wait()
    tasks.keep(lambda beat: second.run(), "loop", every=2.0)
    stop_first()
    await second.begun.wait()
    assert tasks.heartbeats["loop"].every == 2.0


async def test_a_stopped_loop_ends_its_work(tasks: Tasks) -> None:
    work = Work()
    stop = tasks.keep(lambda beat: work.run(), "loop", every=1.0)
    await work.begun.wait()
    stop()
    await tasks.drain(5)
    assert work.was_cancelled


def test_a_heartbeat_is_late_after_three_rounds() -> None:
    heartbeat = Heartbeat(every=10.0, last=100.0)
    assert (heartbeat.age(90.0), heartbeat.age(105.0)) == (0.0, 5.0)
    assert not heartbeat.is_late(130.0)
    assert heartbeat.is_late(131.0)


async def test_a_loop_is_not_waited_for_at_the_end(tasks: Tasks) -> None:
    work = Work()
    tasks.keep(lambda beat: work.run(), "loop", every=1.0)
    await work.begun.wait()
    async with asyncio.timeout(5):
        await tasks.drain(1000)
    assert work.was_cancelled
