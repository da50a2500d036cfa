"""What was answered by meaning needs no comparison again, and the conversation goes on."""

from typing import Any

import orjson
import pytest

from proxy.core.cache.change import Aliased
from proxy.core.cache.thread import answer_digest
from proxy.core.meaning.outcome import Match
from proxy.core.model import Shape
from tests.fakes.answers import chat_answer, chat_stream
from tests.pipeline.level import ASKED, STORED, Level, follow_up, near


@pytest.fixture
async def level() -> Level:
    return Level()


async def test_a_fresh_answer_replaces_the_one_that_was_given_by_meaning(level: Level) -> None:
    # B46: no-cache is the way out of a bad entry, also where it was stored for another question.
    stored = await level.know(near(STORED))
    assert await level.finds(near(ASKED)) == stored.key
    fresh = await level.know(near(ASKED, ("Cache-Control", "no-cache")), "Cuzco.")
    assert level.store.get(stored.key) is None
    assert level.aliases.get(fresh.key) is None
    assert await level.finds(near(STORED)) == fresh.key


async def test_an_answer_of_its_own_takes_the_place_of_an_alias_only(level: Level) -> None:
    stored = await level.know(near(STORED))
    assert await level.finds(near(ASKED)) == stored.key
    own = await level.know(near(ASKED), "Lima, as ever.")
    assert level.aliases.get(own.key) is None
    assert level.store.get(stored.key) is stored


async def test_conversations_that_began_in_other_words_go_on_as_one(level: Level) -> None:
    await level.know(near(STORED), "Lima.")
    await level.finds(near(ASKED))
    stored = await level.know(follow_up(STORED, "Lima.", level), "Since 1535.")
    assert follow_up(ASKED, "Lima.", level).key.exact == follow_up(STORED, "Lima.", level).key.exact
    assert (
        follow_up(ASKED, "Cuzco.", level).key.exact != follow_up(STORED, "Cuzco.", level).key.exact
    )
    reworded = follow_up(ASKED, "Lima.", level, last="And how old is it?")
    assert await level.finds(reworded) == stored.key


async def test_a_streamed_answer_leads_on_too(level: Level) -> None:
    body = b"".join(chat_stream(["Li", "ma."]))
    await level.know(near(STORED), shape=Shape.SSE, body=body)
    await level.finds(near(ASKED))
    assert follow_up(ASKED, "Lima.", level).key.exact == follow_up(STORED, "Lima.", level).key.exact


async def test_a_large_answer_leads_on_too(level: Level) -> None:
    answer = "Lima, " * 20_000
    await level.know(near(STORED), answer)
    await level.finds(near(ASKED))
    assert follow_up(ASKED, answer, level).key.exact == follow_up(STORED, answer, level).key.exact


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SILENT: dict[str, Any] = {
    "tool calls": chat_answer(
        "Lima.",
        choices=[{"index": 0, "message": {"content": "Lima.", "tool_calls": [CALL]}}],
    ),
    "no text": chat_answer(None),
    "no choices": chat_answer("Lima.", choices=[]),
    "a choice that is no object": chat_answer("Lima.", choices=["Lima."]),
    "text of parts": chat_answer(
        "Lima.", choices=[{"message": {"content": [{"type": "text", "text": "Lima."}]}}]
    ),
    "no message": chat_answer("Lima.", choices=[{"text": "Lima."}]),
}


@pytest.mark.parametrize("answer", SILENT.values(), ids=SILENT)
async def test_an_answer_that_is_more_than_text_leads_nowhere(
    level: Level, answer: dict[str, Any]
) -> None:
    await level.know(near(STORED), body=orjson.dumps(answer))
    assert await level.finds(near(ASKED)) is not None
    alias = level.aliases.get(near(ASKED).key.exact)
    assert alias is not None
    assert alias.answer == b""
    assert follow_up(ASKED, "Lima.", level).key.exact != follow_up(STORED, "Lima.", level).key.exact


async def test_what_was_taken_back_meanwhile_leads_nowhere(level: Level) -> None:
    stored = await level.know(near(STORED), "Lima, " * 20_000)
    assert isinstance(await level.meaning.find(near(ASKED)), Match)
    level.aliases.pop_all(stored.key)
    await level.settled()
    assert len(level.aliases) == 0


async def test_what_was_answered_by_meaning_is_told(level: Level) -> None:
    stored = await level.know(near(STORED))
    noted = level.heard()
    asked = near(ASKED)
    assert await level.finds(asked) == stored.key
    first, second = noted
    assert isinstance(first, Aliased)
    assert isinstance(second, Aliased)
    assert (first.key, first.target, first.judge) == (asked.key.exact, stored.key, b"judge")
    assert (first.answer, second.answer) == (b"", answer_digest("Lima."))
