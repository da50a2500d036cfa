"""An encoder's thread: bounded, in batches, and no task waits longer than it wants."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.semantic.encoder import OnnxEncoder, Vectors
from proxy.semantic.workers import EncoderWorker
from tests.semantic import tiny

PATIENCE = 10.0
"""Seconds that nothing here takes."""


class Lines:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Fulfils proxy.telemetry.log.Log."""
        self.events.append(f"{level}: {event}")


class HeldEncoder(OnnxEncoder):
    """A real one that can be held, and remembers how many texts came at once."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.may_run = threading.Event()
        self.may_run.set()
        self.is_running = threading.Event()
        self.batches: list[int] = []
        self.has_mistake = False

    def forward(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """As the real one, once it may."""
        if hasattr(self, "has_mistake"):  # else it tries itself
            self.batches.append(len(ids))
            self.is_running.set()
            assert self.may_run.wait(PATIENCE)
            assert not self.has_mistake or len(self.batches) == 1
        return super().forward(ids)


async def ended(name: str) -> None:
    """Wait until no thread of this name is left."""
    for thread in threading.enumerate():
        if thread.name == name:
            await asyncio.to_thread(thread.join, PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.prepared(tmp_path / "tiny")


@pytest.fixture
def encoder(model: Path) -> HeldEncoder:
    return HeldEncoder(model)


@asynccontextmanager
async def working(
    load: Callable[[], OnnxEncoder], *, log: Lines | None = None, max_waiting: int = 64
) -> AsyncIterator[EncoderWorker]:
    worker = EncoderWorker("tiny", load, log=log or Lines(), max_waiting=max_waiting)
    try:
        async with asyncio.timeout(PATIENCE):
            await worker.loaded()
        yield worker
    finally:
        async with asyncio.timeout(PATIENCE):
            await worker.close()


async def refusal(worker: EncoderWorker, text: str, *, deadline: float = PATIENCE) -> Uncompared:
    with pytest.raises(NotCompared) as caught:
        await worker.embed(text, deadline=deadline)
    return caught.value.reason


@asynccontextmanager
async def held(worker: EncoderWorker, encoder: HeldEncoder) -> AsyncIterator[asyncio.Task[Any]]:
    """While the thread is within a pass that does not end; what is yielded waits for it."""
    encoder.is_running.clear()
    encoder.may_run.clear()
    try:
        first = asyncio.Task(worker.embed("shoes", deadline=PATIENCE))
        assert await asyncio.to_thread(encoder.is_running.wait, PATIENCE)
        yield first
    finally:
        encoder.may_run.set()


async def test_vector_is_the_encoders_own(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        vector = await worker.embed("return the shoes", deadline=PATIENCE)
        assert np.array_equal(vector, encoder.encode(["return the shoes"])[0])
        assert worker.identity == encoder.identity
        assert worker.state is None


async def test_many_tasks_get_their_own_vectors(minilm: OnnxEncoder) -> None:
    texts = [f"question {number} about {'shoes ' * (number % 9)}" for number in range(40)]
    async with working(lambda: minilm) as worker:
        found = await asyncio.gather(*(worker.embed(text, deadline=PATIENCE) for text in texts))
    alone = [minilm.encode([text])[0] for text in texts]
    assert min(float(a @ b) for a, b in zip(found, alone, strict=True)) > 0.9999


async def test_what_waits_is_taken_together(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            others = [asyncio.Task(worker.embed("shoes", deadline=PATIENCE)) for _ in range(9)]
            await asyncio.sleep(0)
        await asyncio.gather(first, *others)
    assert encoder.batches == [1, 4, 4, 1]


async def test_only_texts_of_like_length_are_taken_together(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            texts = ["shoes", "shoes " * 100, "I " * 3, "shoes " * 90]
            others = [asyncio.Task(worker.embed(text, deadline=PATIENCE)) for text in texts]
            await asyncio.sleep(0)
        await asyncio.gather(first, *others)
    assert encoder.batches == [1, 2, 1, 1]


async def test_full_queue_refuses_at_once(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder, max_waiting=3) as worker:
        async with held(worker, encoder) as first:
            others = [asyncio.Task(worker.embed("shoes", deadline=PATIENCE)) for _ in range(2)]
            await asyncio.sleep(0)
            assert await refusal(worker, "shoes") is Uncompared.BUSY
        await asyncio.gather(first, *others)
        await worker.embed("shoes", deadline=PATIENCE)


async def test_late_text_is_refused_and_its_work_left_out(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            assert await refusal(worker, "shoes", deadline=0.001) is Uncompared.DEADLINE
        await first
        await worker.embed("shoes", deadline=PATIENCE)
    assert encoder.batches == [1, 1]


async def test_cancelled_task_leaves_no_work(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            task = asyncio.Task(worker.embed("shoes", deadline=PATIENCE))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            first.cancel()
        await worker.embed("shoes", deadline=PATIENCE)
        with pytest.raises(asyncio.CancelledError):
            await first
    assert encoder.batches == [1, 1]


async def test_reasons_of_the_encoder_arrive(minilm: OnnxEncoder) -> None:
    async with working(lambda: minilm) as worker:
        assert await refusal(worker, "怎么退款") is Uncompared.UNKNOWN_TOKENS
        assert await refusal(worker, " ") is Uncompared.EMPTY
        assert await refusal(worker, "word " * 300) is Uncompared.TOO_LONG


async def test_insane_vector_is_refused_alone(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            bad = asyncio.Task(refusal(worker, tiny.ZERO))
            good = asyncio.Task(worker.embed("shoes", deadline=PATIENCE))
            await asyncio.sleep(0)
        assert await bad is Uncompared.BAD_VECTOR
        assert np.array_equal(await good, await first)
    assert encoder.batches == [1, 2]


async def test_failing_model_is_told_once_and_goes_on(encoder: HeldEncoder) -> None:
    log = Lines()
    async with working(lambda: encoder, log=log) as worker:
        assert await refusal(worker, tiny.BREAKING) is Uncompared.BROKEN
        assert await refusal(worker, tiny.BREAKING) is Uncompared.BROKEN
        await worker.embed("shoes", deadline=PATIENCE)
        assert await refusal(worker, tiny.BREAKING) is Uncompared.BROKEN
    loads = ["info: encoder loading", "info: encoder loaded"]
    assert log.events == [*loads, *["error: encoder fails"] * 2]


async def test_lazy_encoder_begins_to_load_with_the_first_text(model: Path) -> None:
    may_load = threading.Event()
    begun = threading.Event()

    def load() -> OnnxEncoder:
        begun.set()
        assert may_load.wait(PATIENCE)
        return OnnxEncoder(model)

    worker = EncoderWorker("tiny", load, log=Lines())
    assert not begun.is_set()
    assert await refusal(worker, "shoes") is Uncompared.LOADING
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    assert await refusal(worker, "shoes") is Uncompared.LOADING
    assert worker.identity == ""
    may_load.set()
    async with asyncio.timeout(PATIENCE):
        await worker.loaded()
        await worker.embed("shoes", deadline=PATIENCE)
        await worker.close()


async def test_missing_model_is_told_with_its_remedy(tmp_path: Path) -> None:
    log = Lines()
    async with working(partial(OnnxEncoder, tmp_path), log=log) as worker:
        assert worker.state is Uncompared.MISSING
        assert "reprise models prepare" in worker.problem
        assert await refusal(worker, "shoes") is Uncompared.MISSING
    assert log.events == ["info: encoder loading", "error: encoder missing"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_thread_that_dies_leaves_nobody_waiting(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            waiting = asyncio.Task(refusal(worker, "shoes"))
            await asyncio.sleep(0)
            encoder.has_mistake = True
        await first
        assert await waiting is Uncompared.BROKEN
        await ended("encoder tiny")  # and has printed its error, within this test
        assert worker.state is Uncompared.BROKEN
        assert await refusal(worker, "shoes") is Uncompared.BROKEN


async def test_closed_worker_ends_after_its_pass_and_refuses(encoder: HeldEncoder) -> None:
    async with working(lambda: encoder) as worker:
        async with held(worker, encoder) as first:
            waiting = asyncio.Task(refusal(worker, "shoes"))
            await asyncio.sleep(0)
            closing = asyncio.Task(worker.close())
            await asyncio.sleep(0)
            assert await refusal(worker, "shoes") is Uncompared.MISSING
        await closing
        assert (await first).shape == (tiny.WIDTH,)
        assert await waiting is Uncompared.MISSING


async def test_worker_that_loads_is_closed_without_waiting(model: Path) -> None:
    may_load = threading.Event()

    def load() -> OnnxEncoder:
        assert may_load.wait(PATIENCE)
        return OnnxEncoder(model)

    worker = EncoderWorker("tiny", load, log=Lines())
    worker.start()
    await worker.close()
    may_load.set()
    async with asyncio.timeout(PATIENCE):
        await worker.loaded()
    assert await refusal(worker, "shoes") is Uncompared.MISSING


async def test_worker_that_never_began_is_closed() -> None:
    await EncoderWorker("tiny", lambda: pytest.fail("loaded"), log=Lines()).close()


def test_thread_outlives_its_loop_quietly(model: Path) -> None:
    may_load = threading.Event()
    done = threading.Event()

    def load() -> OnnxEncoder:
        assert may_load.wait(PATIENCE)
        return OnnxEncoder(model)

    class LastLine(Lines):
        def emit(self, level: str, event: str, fields: dict[str, Any]) -> None:
            if event == "encoder loaded":
                done.set()

    async def start_and_leave() -> None:
        worker = EncoderWorker("tiny", load, log=LastLine())
        worker.start()
        await worker.close()

    asyncio.run(start_and_leave())
    may_load.set()
    assert done.wait(PATIENCE)
