"""Background tasks: named, kept, and waited for at the end. The only place that creates one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """The tasks of one running application."""

    def __init__(self, on_error: Callable[[str, BaseException], None]) -> None:
        """`on_error` is told the name and the exception of a task that died of one."""
        self._on_error = on_error
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> Callable[[], object]:
        """Run a coroutine in the background; what is returned cancels it."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task.cancel

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(task.get_name(), error)

    async def drain(self, grace: float) -> None:
        """Wait up to `grace` seconds for all to end, then cancel the rest and wait for that."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace)
        # Again and again, for what is cancelled may leave a task behind.
        while self._running:
            for task in self._running:
                task.cancel()
            await asyncio.wait(self._running)
