"""The pipeline that serves, before an upstream that is told what to say."""

from typing import Any

import pytest

from proxy.config import Config, load
from proxy.core.exchange import Fwd, Level
from proxy.rehearsal import rehearsing
from proxy.telemetry.log import Event
from tests.fakes.models import prepared_models


class Lines:
    """A log that is kept."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        self.events.append(event)


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))
    return load(None, upstream="http://127.0.0.1:9", env={})


def asked(*texts: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[position % 2], "content": text} for position, text in enumerate(texts)]


async def test_the_upstream_says_what_it_is_told_and_the_cache_repeats_it(config: Config) -> None:
    async with rehearsing(config, Lines()) as rehearsal:
        first = await rehearsal.ask(asked("How do I oil a chain?"), "With oil. 油")
        assert (first.answer, first.exchange.fwd) == ("With oil. 油", Fwd.MISS)
        again = await rehearsal.ask(asked("How do I oil a chain?"), "other")
        assert (again.answer, again.exchange.level) == ("With oil. 油", Level.EXACT)
        reworded = await rehearsal.ask(asked("How can I oil a chain?"), "other")
        assert (reworded.answer, reworded.exchange.level) == ("With oil. 油", Level.SEMANTIC)


async def test_namespaces_are_caches_of_their_own(config: Config) -> None:
    async with rehearsing(config, Lines()) as rehearsal:
        await rehearsal.ask(asked("How do I oil a chain?"), "one", namespace="a")
        other = await rehearsal.ask(asked("How do I oil a chain?"), "two", namespace="b")
        assert other.answer == "two"


async def test_a_conversation_goes_on_from_a_reworded_beginning(config: Config) -> None:
    async with rehearsing(config, Lines()) as rehearsal:
        await rehearsal.ask(asked("How do I oil a chain?"), "With oil.")
        await rehearsal.ask(asked("How do I oil a chain?", "With oil.", "How often?"), "Weekly.")
        await rehearsal.ask(asked("How can I oil a chain?"), "never asked")
        conversation = asked("How can I oil a chain?", "With oil.", "How often?")
        last = await rehearsal.ask(conversation, "never asked")
        assert (last.answer, last.exchange.level) == ("Weekly.", Level.EXACT)
