"""Answers of other replicas are asked for, and kept if they are what was asked for."""

import asyncio
from collections.abc import Callable

import pytest

from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.pipeline.replicas import Replicas
from tests.core.values import NOW, stored_response
from tests.fakes.shared import SharedEntries
from tests.pipeline.plans import plan

EVER = float("-inf")


def answer(asked: Lookup, **members: object) -> StoredResponse:
    return stored_response(**({"key": asked.key.exact, "tenant": asked.tenant} | members))


class Scene:
    """Replicas over entries that a test sets."""

    def __init__(self, patience: float = 5.0) -> None:
        self.shared = SharedEntries()
        self.admitted: list[StoredResponse] = []
        self.may_admit = True
        self.replicas = Replicas(self.shared, admit=self._admit, patience=patience)

    def _admit(self, stored: StoredResponse) -> bool:
        self.admitted.append(stored)
        return self.may_admit


async def test_an_answer_that_is_stored_elsewhere_is_kept_here() -> None:
    scene, asked = Scene(), plan()
    assert not await scene.replicas.find(asked)
    stored = scene.shared.entries[asked.key.exact] = answer(asked)
    assert await scene.replicas.find(asked)
    assert scene.admitted == [stored]


@pytest.mark.parametrize(
    "spoilt",
    [lambda asked: answer(asked, key=b"x" * 32), lambda asked: answer(asked, tenant=b"x" * 32)],
    ids=["another key", "another tenant"],
)
async def test_an_answer_to_another_question_is_not(
    spoilt: Callable[[Lookup], StoredResponse],
) -> None:
    scene, asked = Scene(), plan()
    scene.shared.entries[asked.key.exact] = spoilt(asked)
    assert not await scene.replicas.find(asked)
    assert not await scene.replicas.claim(asked, EVER)
    assert scene.admitted == []


async def test_what_may_not_be_served_counts_as_absent() -> None:
    scene, asked = Scene(), plan()
    scene.may_admit = False
    scene.shared.entries[asked.key.exact] = answer(asked)
    assert not await scene.replicas.find(asked)


async def test_the_first_makes_the_call_and_the_second_gets_its_answer() -> None:
    scene, asked = Scene(), plan()
    assert not await scene.replicas.claim(asked, EVER)
    second = asyncio.gather(scene.replicas.claim(asked, EVER))
    await asyncio.sleep(0)
    scene.shared.entries[asked.key.exact] = answer(asked)
    scene.replicas.release(asked)
    (has_come,) = await second
    assert has_come


async def test_an_answer_that_is_not_newer_does_not_do() -> None:
    scene, asked = Scene(), plan()
    scene.shared.entries[asked.key.exact] = answer(asked, created=NOW)
    assert not await scene.replicas.claim(asked, NOW)
    scene.replicas.release(asked)
    assert await scene.replicas.claim(asked, NOW - 1)


async def test_without_patience_nobody_is_waited_for() -> None:
    scene, asked = Scene(patience=0.0), plan()
    scene.shared.entries[asked.key.exact] = answer(asked)
    assert not await scene.replicas.claim(asked, EVER)
    scene.replicas.release(asked)
    assert scene.shared.claimed == {}
