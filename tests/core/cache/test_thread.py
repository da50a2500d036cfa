"""Conversations that began with differently worded questions go on as one, and no others do."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.key import Key
from proxy.core.cache.thread import Thread, answer_digest
from proxy.core.wire.operation import Json, JsonObject
from tests.core.values import key_of, question

STORED, ASKED = "What is the capital city of Peru?", "Which city is the capital of Peru?"
ANSWER = "Lima, naturalmente: 利马."
CALL: JsonObject = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


class FakeThreads:
    """Fulfils proxy.core.cache.thread.Threads from a dictionary."""

    def __init__(self) -> None:
        self.known: dict[bytes, Thread] = {}

    def thread(self, key: bytes, least: float) -> Thread | None:
        """What was noted."""
        return self.known.get(key)

    def note(self, asked: Key, stored: Key, answer: str) -> None:
        """`asked` was given what is stored for `stored`."""
        self.known[asked.exact] = Thread(stored.exact, answer_digest(answer))


def user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def assistant(text: Json, **members: Json) -> JsonObject:
    return {"role": "assistant", "content": text} | members


def conversation(*messages: Json, threads: FakeThreads | None = None, **parts: Any) -> Key:
    if threads is not None:
        parts["threads"] = threads
    return key_of(question(messages=list(messages)), **parts)


def answered(*, answer: str = ANSWER, **parts: Any) -> FakeThreads:
    """ASKED was given the answer that is stored for STORED."""
    threads = FakeThreads()
    asked, stored = (conversation(user(text), **parts) for text in (ASKED, STORED))
    threads.note(asked, stored, answer)
    return threads


def both(
    *following: Json, threads: FakeThreads, asked: str = ASKED, **parts: Any
) -> tuple[Key, Key]:
    """The keys of the conversations that began with STORED and with ASKED."""
    stored, other = (
        conversation(user(text), *following, threads=threads, **parts) for text in (STORED, asked)
    )
    return stored, other


NEXT = user("And how many people live there?")


def test_what_follows_a_reworded_question_meets_what_follows_the_stored_one() -> None:
    stored, asked = both(assistant(ANSWER), NEXT, threads=answered())
    assert asked == stored
    assert stored == conversation(user(STORED), assistant(ANSWER), NEXT)


def test_the_reworded_question_itself_keeps_its_key() -> None:
    threads = answered()
    assert conversation(user(ASKED), threads=threads) == conversation(user(ASKED))
    assert conversation(user(ASKED)) != conversation(user(STORED))


@pytest.mark.parametrize(
    "reply",
    [
        assistant(ANSWER + " "),
        assistant(ANSWER[:-1]),
        assistant(""),
        assistant(None),
        assistant([{"type": "text", "text": ANSWER}]),
        user(ANSWER),
        {"role": "system", "content": ANSWER},
        {"role": "tool", "tool_call_id": "c1", "content": ANSWER},
        {"content": ANSWER},
    ],
)
def test_another_reply_keeps_them_apart(reply: Json) -> None:
    stored, asked = both(reply, NEXT, threads=answered())
    assert asked.history != stored.history
    assert asked == conversation(user(ASKED), reply, NEXT)


def test_a_spelling_that_nfc_makes_equal_is_the_same_reply() -> None:
    threads = answered(answer="Café")
    stored, asked = both(assistant("Cafe\u0301"), NEXT, threads=threads)
    assert asked == stored


@pytest.mark.parametrize("extra", [{"tool_calls": [CALL]}, {"name": "bot"}, {"refusal": None}])
def test_all_else_in_the_reply_counts_as_ever(extra: JsonObject) -> None:
    threads = answered()
    plain, _ = both(assistant(ANSWER), NEXT, threads=threads)
    stored, asked = both(assistant(ANSWER, **extra), NEXT, threads=threads)
    assert asked == stored
    assert asked != plain


def test_a_question_of_two_is_not_the_first() -> None:
    stored, asked = both(user("More."), assistant(ANSWER), NEXT, threads=answered())
    assert asked.history != stored.history


def test_threads_go_on_from_turn_to_turn() -> None:
    threads = answered()
    second, reworded, reply = "How old is it?", "What is its age?", "Founded in 1535."
    start = (user(STORED), assistant(ANSWER))
    threads.note(
        conversation(user(ASKED), assistant(ANSWER), user(reworded), threads=threads),
        conversation(*start, user(second)),
        reply,
    )
    last = user("By whom?")
    expected = conversation(*start, user(second), assistant(reply), last)
    for first in (STORED, ASKED):
        for then in (second, reworded):
            messages = (user(first), assistant(ANSWER), user(then), assistant(reply), last)
            assert conversation(*messages, threads=threads) == expected
    broken = (user(ASKED), assistant(ANSWER + "!"), user(reworded), assistant(reply), last)
    assert conversation(*broken, threads=threads).history != expected.history


@pytest.mark.parametrize(
    "parts",
    [
        {"tenant": b"o" * 32},
        {"namespace": "n"},
        {"epoch": "2"},
        {"pool": "other"},
        {"target": "/v1/chat/completions?x=1"},
        {"settings": {"model": "m2"}},
    ],
)
def test_nobody_else_is_led_along(parts: dict[str, Any]) -> None:
    stored, asked = both(assistant(ANSWER), NEXT, threads=answered(), **parts)
    assert asked.history != stored.history
    assert asked == conversation(user(ASKED), assistant(ANSWER), NEXT, **parts)


def test_a_system_prompt_before_it_makes_it_another_question() -> None:
    threads = answered()
    system: JsonObject = {"role": "system", "content": "Answer in French."}
    stored, asked = (
        conversation(system, user(text), assistant(ANSWER), NEXT, threads=threads)
        for text in (STORED, ASKED)
    )
    assert asked.history != stored.history


def test_masks_are_for_the_question_and_the_answer_counts_as_it_was_given() -> None:
    masks = (re.compile(r"\d+"),)
    threads = answered(answer="42 people", masks=masks)
    stored, asked = both(assistant("42 people"), NEXT, threads=threads, masks=masks)
    assert asked == stored
    stored, asked = both(assistant("43 people"), NEXT, threads=threads, masks=masks)
    assert asked != stored


def test_a_follow_up_reaches_no_other_conversation() -> None:
    # B50: the same last question, and histories that differ in one word or one turn.
    age = user("How old is she?")
    histories: list[tuple[Json, ...]] = [
        (user("Who runs company X?"), assistant("Ann.")),
        (user("Who runs company Y?"), assistant("Ann.")),
        (user("Who runs company X?"), assistant("Anne.")),
        (age, assistant("32."), user("Assume the year is 1990."), assistant("OK.")),
        (),
    ]
    threads = answered()
    keys = [conversation(*history, age, threads=threads) for history in histories]
    assert len({key.history for key in keys}) == len({key.exact for key in keys}) == len(histories)


texts = st.text("ab é茶", max_size=3)
messages = st.builds(
    lambda role, text: {"role": role, "content": text},
    st.sampled_from(["user", "assistant", "system"]),
    texts,
)


@given(st.lists(messages, min_size=1, max_size=5))
def test_unknown_questions_are_no_threads(turns: list[Json]) -> None:
    assert conversation(*turns, threads=answered()) == conversation(*turns)


@given(texts, texts)
def test_an_answer_is_known_by_its_text(one: str, other: str) -> None:
    assert (answer_digest(one) == answer_digest(other)) == (one == other)


def test_an_answer_may_hold_anything() -> None:
    assert len(answer_digest("\ud800")) == len(answer_digest("")) == 16
    assert answer_digest("\ud800") != answer_digest("\ud801")
