"""Questions that one answer would serve."""

from dataclasses import replace

import pytest

from tests.pipeline.level import ASKED, NEAR, OTHER, STORED, Level


@pytest.fixture
async def level() -> Level:
    return Level()


async def test_questions_that_one_answer_would_serve_are_grouped(level: Level) -> None:
    texts = [STORED, OTHER, ASKED, "42", f"{OTHER}!", "Where do penguins live?", f"{STORED}?"]
    assert await level.meaning.same(texts, NEAR) == [[0, 2, 6], [1, 4]]
    assert await level.meaning.same([], NEAR) == []
    assert await level.meaning.same(texts, replace(NEAR, keywords=("Peru",))) == [[1, 4]]
