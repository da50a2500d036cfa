"""What one process has learnt is found by another, which embeds nothing for it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from proxy.core.cache.change import Change, Learnt
from proxy.core.cache.value import StoredResponse
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.meaning.vectors import to_bytes
from proxy.ports import Matrix
from tests.pipeline.level import ASKED, OTHER, STORED, Level, near


@pytest.fixture
async def level() -> Level:
    return Level()


async def taken_in(other: Level, noted: Sequence[Change], stored: StoredResponse) -> None:
    """Let another process have an answer, and what was noted of it."""
    other.store.put(replace(stored))
    await other.meaning.adopt([change for change in noted if isinstance(change, Learnt)])
    await other.settled()


async def test_what_one_has_learnt_is_found_by_another_without_embedding_it(level: Level) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    (learnt,) = noted
    assert isinstance(learnt, Learnt)
    assert (learnt.key, learnt.text, learnt.encoder) == (stored.key, STORED, "by-words")
    other = Level()
    await taken_in(other, noted, stored)
    assert other.encoder.texts == []
    assert await other.finds(near(ASKED)) == stored.key
    assert await other.meaning.learnt([stored.key, b"x" * 32]) == [learnt]


async def test_vectors_of_another_encoder_are_made_anew(level: Level) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    (learnt,) = noted
    assert isinstance(learnt, Learnt)
    unlike = replace(learnt, encoder="another", vector=bytes(reversed(learnt.vector)))
    other = Level()
    told = other.heard()
    await taken_in(other, [unlike], stored)
    assert other.encoder.texts == [STORED]
    assert told == [learnt]
    assert await other.finds(near(ASKED)) == stored.key


async def test_what_is_learnt_of_an_entry_that_is_not_here_is_left_out(level: Level) -> None:
    noted = level.heard()
    await level.know(near(STORED))
    other = Level()
    await other.meaning.adopt([change for change in noted if isinstance(change, Learnt)])
    assert (len(other.meaning), len(other.index)) == (0, 0)


async def test_an_entry_that_goes_while_it_is_taken_in_is_not_found(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    other = Level()
    other.store.put(replace(stored))
    take_in = other.index.take_in

    async def slowly(
        partition: bytes, keys: Sequence[bytes], vectors: Matrix, *, until: float
    ) -> None:
        await take_in(partition, keys, vectors)
        other.store.delete(stored.key)

    monkeypatch.setattr(other.index, "take_in", slowly)
    await other.meaning.adopt([change for change in noted if isinstance(change, Learnt)])
    assert (len(other.meaning), len(other.index)) == (0, 0)


async def test_a_later_answer_to_the_same_question_prolongs_what_was_learnt(level: Level) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    other = Level()
    await taken_in(other, noted, stored)
    level.clock.advance(500.0)
    later = await level.know(near(STORED))
    assert [type(change) for change in noted] == [Learnt, Learnt]
    await taken_in(other, noted[1:], later)
    other.clock.advance(1200.0)
    assert await other.finds(near(ASKED)) == stored.key


async def test_where_no_encoder_serves_a_text_nothing_is_taken_in(level: Level) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    other = Level()
    other.fake.refusal = Uncompared.SCRIPT
    await taken_in(other, noted, stored)
    assert len(other.meaning) == 0


@pytest.mark.parametrize("spoilt", ["no length", "no numbers", "another size"])
async def test_a_vector_that_is_none_is_made_anew_and_harms_no_other(
    level: Level, spoilt: str
) -> None:
    noted = level.heard()
    stored = await level.know(near(STORED))
    good = await level.know(near(OTHER))
    bad, other_learnt = noted
    assert isinstance(bad, Learnt)
    vector = {
        "no length": bytes(len(bad.vector)),
        "no numbers": b"\xff" * len(bad.vector),
        "another size": to_bytes(np.array([1.0, 0.0], np.float32)),
    }[spoilt]
    other = Level()
    other.store.put(replace(good))
    await taken_in(other, [replace(bad, vector=vector), other_learnt], stored)
    assert await other.finds(near(ASKED)) == stored.key
    assert len(other.meaning) == len(other.index) == 2
