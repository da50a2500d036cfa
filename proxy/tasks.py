"""Background tasks: named, kept, and waited for at the end. The only place that creates one."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType
from typing import Any, TypeAlias

Beat: TypeAlias = Callable[[], None]
"""Says that a piece of work was done well."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds before a loop that died is begun again; they double until it does well."""


@dataclass(slots=True)
class Heartbeat:
    """How a loop is doing (mission E9)."""

    every: float
    """Seconds within which it should do well once."""
    last: float
    """Loop time in seconds at which it last did well, or was begun."""
    deaths: int = 0
    pause: float = FIRST_PAUSE

    def age(self, now: float) -> float:
        """Seconds since it last did well; `now` is the event loop's time."""
        return max(0.0, now - self.last)

    def is_late(self, now: float) -> bool:
        """Whether somebody should look after it."""
        return self.age(now) > 3 * self.every + FIRST_PAUSE


class Tasks:
    """The tasks of one running application."""

    def __init__(self, on_error: Callable[[str, BaseException], None]) -> None:
        """`on_error` is told the name and the exception of a task that died of one."""
        self._on_error = on_error
        self._running: set[asyncio.Task[Any]] = set()
        self._endless: set[asyncio.Task[Any]] = set()
        self._heartbeats: dict[str, Heartbeat] = {}

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> Callable[[], object]:
        """Run a coroutine in the background; what is returned cancels it.

        However early that is, it is begun before: its `finally` lets go of what it was given.
        """
        return partial(_cancel, self._begin(coroutine, name))

    def _begin(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    @property
    def heartbeats(self) -> Mapping[str, Heartbeat]:
        """Those of the loops that are kept, by their names."""
        return self._heartbeats

    def keep(
        self, run: Callable[[Beat], Coroutine[Any, Any, Any]], name: str, *, every: float
    ) -> Callable[[], object]:
        """Run a loop until what is returned is called.

        What dies of an error, or of a cancellation that is not ours, is told of and begun again
        after a pause; one that returns has ended.
        `run` gets a function to call after each piece of work that went well, at least every
        `every` seconds when all is in order.
        """
        heartbeat = Heartbeat(every, asyncio.get_running_loop().time())
        self._heartbeats[name] = heartbeat
        task = self._begin(self._keep(run, name, heartbeat), f"keep {name}")
        self._endless.add(task)

        def end() -> None:
            self._forget(name, heartbeat)
            _cancel(task)

        return end

    def _forget(self, name: str, heartbeat: Heartbeat) -> None:
        if self._heartbeats.get(name) is heartbeat:  # another may have its name by now
            del self._heartbeats[name]

    async def _keep(
        self,
        run: Callable[[Beat], Coroutine[Any, Any, Any]],
        name: str,
        heartbeat: Heartbeat,
    ) -> None:
        loop = asyncio.get_running_loop()

        def beat() -> None:
            heartbeat.last = loop.time()
            heartbeat.pause = FIRST_PAUSE

        while True:
            task = loop.create_task(run(beat), name=name)
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError:
                _cancel(task)
                await asyncio.wait((task,))
                if (error := _error(task)) is not None:
                    self._on_error(name, error)
                raise
            # Nobody but us ends it: that something it waited for was cancelled is a death too.
            error = asyncio.CancelledError() if task.cancelled() else _error(task)
            if error is None:
                self._forget(name, heartbeat)
                return
            heartbeat.deaths += 1
            self._on_error(name, error)
            await asyncio.sleep(heartbeat.pause)
            heartbeat.pause = min(2 * heartbeat.pause, LONGEST_PAUSE)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        self._endless.discard(task)
        if (error := _error(task)) is not None:
            self._on_error(task.get_name(), error)

    async def drain(self, grace: float) -> None:
        """Wait up to `grace` seconds for all to end, then cancel the rest and wait for that.

        Loops that are kept would never end: they are only cancelled.
        """
        if ending := self._running - self._endless:
            await asyncio.wait(ending, timeout=grace)
        # Again and again, for what is cancelled may leave a task behind.
        while self._running:
            for task in self._running:
                _cancel(task)
            await asyncio.wait(self._running)


def _cancel(task: asyncio.Task[Any]) -> None:
    """Cancel a task; one that waits for its first step, right after that."""
    coroutine = task.get_coro()
    if isinstance(coroutine, CoroutineType) and getcoroutinestate(coroutine) == CORO_CREATED:
        task.get_loop().call_soon(task.cancel)
    else:
        task.cancel()


def _error(task: asyncio.Task[Any]) -> BaseException | None:
    """What a task that has ended died of; None where it was cancelled or returned."""
    return None if task.cancelled() else task.exception()
