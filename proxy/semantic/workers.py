"""One thread for each encoder: what waits is taken together, what nobody waits for is left out."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.ports import Vector
from proxy.semantic import runtime
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.manifest import ModelError
from proxy.telemetry.log import Log

_MAX_WAITING = 64
_BATCH_TEXTS = 4
_BATCH_TOKENS = 128
"""Four short texts in one pass cost a sixth less than one by one; more, or longer ones, no less."""

Result: TypeAlias = "Vector | Uncompared"


class _Job:
    """A text on its way through the thread."""

    __slots__ = ("abandoned", "ids", "result", "text")

    def __init__(self, text: str, result: asyncio.Future[Vector]) -> None:
        self.text = text
        self.result = result
        """Touched on the event loop only."""
        self.abandoned = False
        """Nobody waits any more. Set on the event loop, read by the thread."""
        self.ids: Sequence[int] = ()


class EncoderWorker:
    """An encoder behind the port of that name; its thread loads it and feeds it."""

    def __init__(
        self,
        name: str,
        load: Callable[[], OnnxEncoder],
        *,
        log: Log,
        identity: str = "",
        dimensions: int = 0,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        """`load` runs in the thread, when `start` is called or the first text comes. `identity`
        and `dimensions` are what is known of the encoder before that.

        It raises ModelError where there is no usable model.
        """
        self.name = name
        self.state: Uncompared | None = Uncompared.LOADING
        """Why it serves no text now: LOADING, MISSING or BROKEN; None when it does."""
        self.problem = ""
        """Where the model is missing: what ModelError told."""
        self.dimensions = dimensions
        """Of its vectors; 0 as long as that is not known."""
        self.identity = identity
        """Name and digest of model and tokenizer; empty as long as it is not known."""
        self._load = load
        self._log = log
        self._max_waiting = max_waiting
        self._open: set[_Job] = set()
        """What the thread has not answered yet."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._started = False
        self._closing = False
        self._failing = False
        self._loaded = asyncio.Event()
        self._ended = asyncio.Event()

    def start(self) -> None:
        """Begin to load, if that has not begun."""
        if not self._started:
            self._started = True
            threading.Thread(
                target=self._run,
                args=(asyncio.get_running_loop(),),
                name=f"encoder {self.name}",
                daemon=True,  # or the process could not end while a model is being prepared
            ).start()

    async def loaded(self) -> None:
        """Wait until loading has ended, well or not; `state` tells which."""
        self.start()
        await self._loaded.wait()

    async def embed(self, text: str, *, deadline: float) -> Vector:
        """The vector of a whole text, at most `deadline` seconds from now.

        Raises NotCompared with any of its reasons but SCRIPT and LANGUAGE.
        """
        self.start()
        if self.state is not None:
            raise NotCompared(self.state)
        if len(self._open) >= self._max_waiting:
            raise NotCompared(Uncompared.BUSY)
        job = _Job(text, asyncio.get_running_loop().create_future())
        self._open.add(job)
        self._jobs.put(job)
        try:
            async with asyncio.timeout(deadline):
                return await job.result
        except TimeoutError:
            raise NotCompared(Uncompared.DEADLINE) from None
        finally:
            job.abandoned = True

    async def close(self) -> None:
        """Serve nothing any more, and end the thread after the pass that it is in."""
        self._closing = True
        self.state = Uncompared.MISSING
        self._jobs.put(None)
        if self._loaded.is_set():
            await self._ended.wait()

    def _enter(self, identity: str, dimensions: int) -> None:
        self.identity, self.dimensions = identity, dimensions
        if not self._closing:
            self.state = None
        self._loaded.set()

    def _leave(self, state: Uncompared, problem: str) -> None:
        self.state = state
        self.problem = problem
        self._deliver(list(self._open), [state] * len(self._open))
        self._loaded.set()
        self._ended.set()

    def _deliver(self, jobs: Sequence[_Job], results: Sequence[Result]) -> None:
        for job, result in zip(jobs, results, strict=True):
            self._open.discard(job)
            if job.result.done():
                continue
            if isinstance(result, Uncompared):
                job.result.set_exception(NotCompared(result))
            else:
                job.result.set_result(result)

    # What follows runs in the thread.

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        state, problem = Uncompared.BROKEN, "its thread died"
        self._log.emit("info", "encoder loading", {"encoder": self.name})
        try:
            encoder = self._load()
            self._log.emit("info", "encoder loaded", {"encoder": encoder.identity})
            _call(loop, self._enter, encoder.identity, encoder.dimensions)
            self._serve(encoder, loop)
            state, problem = Uncompared.MISSING, "it was closed"
        except ModelError as error:
            state, problem = Uncompared.MISSING, str(error)
            self._log.emit("error", "encoder missing", {"encoder": self.name, "why": problem})
        finally:
            # An error that nobody foresaw ends the thread and is printed; nobody waits for it.
            _call(loop, self._leave, state, problem)

    def _serve(self, encoder: OnnxEncoder, loop: asyncio.AbstractEventLoop) -> None:
        """Take what waits; of that the oldest text, with others that are about as long."""
        pending: list[_Job] = []
        while True:
            while not pending or not self._jobs.empty():
                job = self._jobs.get()
                if job is None:
                    return
                pending.append(job)
            refused = {job: reason for job in pending if (reason := _refusal(encoder, job))}
            pending = [job for job in pending if job not in refused]
            batch = _batch(pending)
            pending = [job for job in pending if job not in batch]
            results = [*refused.values(), *(self._encode(encoder, batch) if batch else ())]
            _call(loop, self._deliver, [*refused, *batch], results)

    def _encode(self, encoder: OnnxEncoder, batch: Sequence[_Job]) -> list[Result]:
        try:
            vectors = encoder.forward([job.ids for job in batch])
        except runtime.ERRORS as error:
            if not self._failing:
                told = {"encoder": self.name, "error": type(error).__name__}
                self._log.emit("error", "encoder fails", told)
            self._failing = True
            return [Uncompared.BROKEN] * len(batch)
        self._failing = False
        # The sum of a row is not finite where one of its values is not.
        sane = np.isfinite(vectors.sum(axis=1))
        return [
            vector if is_sane else Uncompared.BAD_VECTOR
            for vector, is_sane in zip(vectors, sane, strict=True)
        ]


def _refusal(encoder: OnnxEncoder, job: _Job) -> Uncompared | None:
    """Split a text into tokens, if that is not done; why it is not to be encoded."""
    if job.abandoned:
        return Uncompared.DEADLINE
    if not job.ids:
        try:
            job.ids = encoder.tokenize(job.text).ids
        except NotCompared as error:
            return error.reason
    return None


def _batch(pending: Sequence[_Job]) -> list[_Job]:
    """The oldest, and those nearest to it in length, as many as pay."""
    if not pending:
        return []
    oldest = pending[0]
    nearest = sorted(pending, key=lambda job: abs(len(job.ids) - len(oldest.ids)))
    batch: list[_Job] = []
    longest = 0
    for job in nearest[:_BATCH_TEXTS]:
        longest = max(longest, len(job.ids))
        if batch and longest * (len(batch) + 1) > _BATCH_TOKENS:
            break
        batch.append(job)
    return batch


def _call(
    loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object
) -> None:
    # A loop that has been closed has nobody left who waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)
