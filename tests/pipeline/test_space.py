"""Waiting for an encoder that loads."""

import pytest

from proxy.core.meaning.uncompared import Uncompared
from proxy.pipeline import space
from tests.pipeline.level import ASKED, STORED, Level, near
from tests.watch import until


@pytest.fixture
async def level() -> Level:
    return Level()


async def test_a_question_that_made_the_encoder_load_is_learned_when_it_has(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_LOADING_SECONDS", 0.001)
    level.encoder.refusal = Uncompared.LOADING
    stored = level.put(near(STORED))
    await until(lambda: len(level.encoder.texts) > 2)
    assert len(level.meaning) == 0
    level.encoder.refusal = None
    await until(lambda: len(level.meaning) == 1)
    assert await level.finds(near(ASKED)) == stored.key


async def test_an_encoder_that_never_has_loaded_is_not_waited_for_for_ever(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_LOADING_SECONDS", 0.001)
    monkeypatch.setattr(space, "LEARN_SECONDS", 0.005)
    level.encoder.refusal = Uncompared.LOADING
    await level.know(near(STORED))
    assert (len(level.meaning), len(level.encoder.texts)) == (0, 5)
