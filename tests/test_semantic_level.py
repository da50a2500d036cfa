"""What the semantic level is put together from: which encoder reads what, and what is missing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from proxy.config_model import EncoderModel
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.outcome import Match, NoMatch
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.meaning.verifier import Verifier, VerifierError
from proxy.pipeline.aliases import Aliases
from proxy.semantic import models
from proxy.semantic.manifest import ModelError
from proxy.semantic_level import SemanticLevel, make_gate
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.core.values import stored_response
from tests.fakes.clock import FakeClock
from tests.fakes.models import prepared_models
from tests.pipeline.plans import plan
from tests.watch import until

MINILM = EncoderModel(model="all-minilm-l6-v2", scripts=("latin",))
E5 = EncoderModel(model="multilingual-e5-small", scripts=("han",), load="lazy")

Start: TypeAlias = Callable[..., AbstractAsyncContextManager[SemanticLevel]]


@pytest.fixture(scope="session")
def gate() -> Gate:
    return make_gate("")


@pytest.fixture
def log() -> list[bytes]:
    return []


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(max_bytes=1 << 20, max_entries=100, max_entry_bytes=1 << 20)


@pytest.fixture
def level(
    monkeypatch: pytest.MonkeyPatch, gate: Gate, store: MemoryStore, log: list[bytes]
) -> Start:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))

    @asynccontextmanager
    async def start(*encoders: EncoderModel) -> AsyncIterator[SemanticLevel]:
        made = SemanticLevel(
            encoders=encoders,
            gate=gate,
            scan_below=100,
            store=store,
            aliases=Aliases(),
            negatives=Negatives(),
            clock=FakeClock(),
            tasks=Tasks(lambda name, error: None),
            log=StructLog(log.append, form="json", level="info", wall=lambda: 0.0),
        )
        try:
            yield made
        finally:
            await made.close()

    return start


async def test_eager_encoders_are_loaded_and_lazy_ones_wait_for_a_text(level: Start) -> None:
    async with level(MINILM, E5) as made:
        await made.loaded()
        assert made.figures() == {"semantic_entries": 0, "encoders_ready": 1, "encoders": 2}
        assert await made.meaning.find(plan("怎么重置密码？")) == NoMatch(Uncompared.LOADING)
        await until(lambda: made.figures()["encoders_ready"] == 2)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("What is the capital city of Peru?", "Which city is the capital of Peru?"),
        ("怎么重置密码？", "请问如何重置密码？"),
    ],
)
async def test_each_text_is_read_by_the_encoder_of_its_script(
    level: Start, store: MemoryStore, first: str, other: str
) -> None:
    async with level(MINILM, E5) as made:
        await made.load_all()
        stored = stored_response(key=plan(first).key.exact, ttl=1000.0)
        store.put(stored)
        made.meaning.learn(plan(first), stored)
        await until(lambda: len(made.meaning) == 1)
        async with asyncio.timeout(10):
            while not isinstance(found := await made.meaning.find(plan(other)), Match):
                assert found == NoMatch(Uncompared.DEADLINE)
        assert found.key == stored.key


async def test_a_script_without_an_encoder_is_not_compared(level: Start) -> None:
    async with level(MINILM) as made:
        await made.load_all()
        assert await made.meaning.find(plan("怎么重置密码？")) == NoMatch(Uncompared.SCRIPT)


async def test_a_missing_model_is_told_of_and_waited_for_no_longer(
    level: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: list[bytes]
) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(tmp_path))
    monkeypatch.setattr(models, "PACKAGED", {})
    async with level(MINILM) as made:
        await made.loaded()
        assert made.figures()["encoders_ready"] == 0
        assert await made.meaning.find(plan("Why is the sky blue?")) == NoMatch(Uncompared.MISSING)
        with pytest.raises(ModelError, match="all-minilm-l6-v2"):
            await made.load_all()
    assert b"encoder missing" in b"".join(log)


async def test_a_model_may_be_a_directory(level: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPRISE_MODELS")
    directory = str(prepared_models() / "all-minilm-l6-v2")
    async with level(EncoderModel(model=directory, scripts=("latin",))) as made:
        await made.load_all()
        assert made.figures()["encoders_ready"] == 1


def test_a_verifier_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "verifier.json"
    file.write_bytes(Verifier({}, {}).to_bytes())
    assert make_gate(str(file)).floor("all-minilm-l6-v2", "en") == 0.0
    assert make_gate("").floor("all-minilm-l6-v2", "en") > 0.0
    file.write_bytes(b"{}")
    with pytest.raises(VerifierError, match=r"verifier\.json"):
        make_gate(str(file))
    with pytest.raises(FileNotFoundError):
        make_gate(str(tmp_path / "none.json"))
