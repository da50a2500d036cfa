"""The encoder and the index that need no models."""

import asyncio

import numpy as np
import pytest

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from tests.fakes.semantic import FakeEncoder, FakeIndex, vector_of


def test_texts_are_as_near_as_they_share_words() -> None:
    stored = vector_of("Why is the sky blue?")
    assert float(stored @ vector_of("why IS the sky blue")) == pytest.approx(1.0)
    assert float(stored @ vector_of("Why is the sea blue?")) == pytest.approx(0.8)
    assert float(vector_of("天为什么蓝") @ vector_of("天为什么红")) == pytest.approx(0.8)
    assert float(np.linalg.norm(stored)) == pytest.approx(1.0)


async def test_the_encoder_does_as_told() -> None:
    encoder = FakeEncoder()
    with pytest.raises(NotCompared):
        await encoder.embed("?!", deadline=1.0)
    encoder.refusal = Uncompared.BUSY
    with pytest.raises(NotCompared) as caught:
        await encoder.embed("word", deadline=1.0)
    assert caught.value.reason is Uncompared.BUSY
    encoder.may_answer.clear()
    with pytest.raises(NotCompared) as caught:
        await encoder.embed("word", deadline=0.01)
    assert caught.value.reason is Uncompared.DEADLINE
    encoder.refusal = None
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(encoder.embed("word", deadline=5.0))
        encoder.may_answer.set()
    assert waiting.result().shape == vector_of("word").shape
    assert encoder.texts == ["?!", "word", "word", "word"]


async def test_partitions_do_not_see_each_other() -> None:
    index = FakeIndex()
    for partition, key, text in ((b"p", b"1", "a b"), (b"p", b"2", "a c"), (b"q", b"3", "a b")):
        index.add(partition, key, vector_of(text))
    vector = vector_of("a b")
    assert [one.key for one in await index.search(b"p", vector, 5)] == [b"1", b"2"]
    assert {one.key for one in await index.search_all(vector, 2)} == {b"1", b"3"}
    index.discard(b"p", b"1")
    index.discard(b"p", b"not there")
    assert [one.key for one in await index.search(b"p", vector, 5)] == [b"2"]
    assert len(index) == 2
