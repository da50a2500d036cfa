"""Whose turn it is at the upstream: low priority yields to clients (mission E1)."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Self

from proxy.core.errors import BackgroundBusy
from proxy.core.model import LiveBody

MAX_WAITING = 256
"""Further ones are refused at once."""
WAIT_SECONDS = 60.0
"""How long one waits at most: nobody starves for ever, and clients' deadlines are longer."""

_CLOSED = "The proxy is about to end; ask again later."


class Turns:
    """Counts the calls under way, and lets those that wait begin in the order in which they came.

    None begins while more than `yield_above` calls of clients are under way; at most
    `max_concurrent` are at a time. A reload calls `bound`.
    """

    def __init__(self, *, yield_above: int, max_concurrent: int) -> None:
        self._yield_above = yield_above
        self._max_concurrent = max_concurrent
        self._clients = 0
        self._background = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def bound(self, *, yield_above: int, max_concurrent: int) -> None:
        """Take other bounds."""
        self._yield_above = yield_above
        self._max_concurrent = max_concurrent
        self._let_begin()

    def client_began(self) -> None:
        """A call for a client is under way. It never waits."""
        self._clients += 1

    def client_ended(self) -> None:
        """It has ended."""
        self._clients -= 1
        if self._waiting:
            self._let_begin()

    async def take(self) -> None:
        """Wait for a turn, which lasts until `give_back`. Raises BackgroundBusy."""
        if self._is_closed:
            raise BackgroundBusy(_CLOSED)
        if not self._waiting and self._is_free():
            self._background += 1
            return
        if len(self._waiting) >= MAX_WAITING:
            raise BackgroundBusy("Too many requests of low priority wait; ask again later.")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it came in the same moment
            elif turn in self._waiting:
                self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise BackgroundBusy("Others keep the upstream busy; ask again later.") from None
            raise

    def close(self) -> None:
        """No more begin: the proxy is to end, and nobody waits for these."""
        self._is_closed = True
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(BackgroundBusy(_CLOSED))

    def watched(self, body: LiveBody) -> LiveBody:
        """The body of a call for a client that is passed on as it comes; it ends with that."""
        return _Watched(body, self.client_ended)

    def give_back(self) -> None:
        """A call of low priority has ended, or was not needed."""
        self._background -= 1
        self._let_begin()

    def _is_free(self) -> bool:
        return self._clients <= self._yield_above and self._background < self._max_concurrent

    def _let_begin(self) -> None:
        while self._waiting and self._is_free():
            turn = self._waiting.popleft()
            if not turn.done():
                self._background += 1
                turn.set_result(None)


class _Watched:
    """A live body; whoever closes it says that its call has ended."""

    __slots__ = ("_body", "_on_ended")

    def __init__(self, body: LiveBody, on_ended: Callable[[], None]) -> None:
        self._body = body
        self._on_ended: Callable[[], None] | None = on_ended

    @property
    def at_end(self) -> bool:
        return self._body.at_end

    def ready(self) -> bytes:
        return self._body.ready()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, bytes]:
        return self._body.__anext__()

    async def aclose(self) -> None:
        on_ended, self._on_ended = self._on_ended, None
        if on_ended is not None:
            on_ended()
        await self._body.aclose()
