"""The script of a text chooses its encoder."""

import pytest

from proxy.core.meaning.script import Script
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.semantic.encoders import Encoders, Served
from proxy.semantic.models import E5, MINILM
from proxy.semantic.workers import EncoderWorker
from tests.semantic.test_workers import Lines


def worker(name: str) -> EncoderWorker:
    return EncoderWorker(name, lambda: pytest.fail("loaded"), log=Lines())


@pytest.fixture
def encoders() -> Encoders:
    return Encoders(
        [
            Served(worker("english"), frozenset(MINILM.scripts)),
            Served(worker("many"), frozenset(E5.scripts)),
            Served(worker("latin too"), frozenset({Script.LATIN})),
        ]
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("How do I get my money back?", "english"),
        ("怎么退款", "many"),
        ("Что такое кэш?", "many"),
        ("我的iPhone无法充电", "many"),
    ],
)
def test_first_that_serves_the_script_reads_the_text(
    encoders: Encoders, text: str, name: str
) -> None:
    assert encoders.pick(text).name == name


def test_script_that_nobody_serves_is_not_compared(encoders: Encoders) -> None:
    with pytest.raises(NotCompared) as caught:
        encoders.pick("12 + 30 = ?")
    assert caught.value.reason is Uncompared.SCRIPT


async def test_all_are_closed(encoders: Encoders) -> None:
    await encoders.close()
    assert {one.state for one in encoders.workers} == {Uncompared.MISSING}
