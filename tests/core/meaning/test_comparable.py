"""Which requests are compared by meaning: form by form, rule by rule (B03, B20)."""

import re
from typing import Any

import pytest

from proxy.core.classify import Lookup, classify
from proxy.core.meaning.comparable import compared_text, form_refusal, plain_text, rule
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.policy import Policy, Pool, Rules, SemanticRules
from proxy.core.wire.operation import Json, JsonObject
from tests.core.values import CHAT, COMPLETIONS, OPERATIONS, SECRET, question, request

TOOL: JsonObject = {"type": "function", "function": {"name": "ls"}}
TEXT_PART: JsonObject = {"type": "text", "text": "Why?"}
IMAGE_PART: JsonObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def refusal(body: JsonObject, **rules: Any) -> Uncompared | None:
    asked = CHAT.read(body)
    assert asked is not None
    return form_refusal(body, asked, SemanticRules(**rules))


def last(message: Json) -> JsonObject:
    return question(messages=[{"role": "system", "content": "S"}, message])


def user(content: Json, **members: Json) -> JsonObject:
    return {"role": "user", "content": content} | members


@pytest.mark.parametrize(
    "body",
    [
        question(),
        question(messages=[user([TEXT_PART])]),
        question(messages=[user("a"), {"role": "assistant", "content": "b"}, user("c")]),
        question(n=1),
        question(n=None, seed=None, logprobs=False, tools=[], functions=[], temperature=None),
        question(temperature=1.0),
        question(temperature="high"),
        question(tool_choice="none", response_format={"type": "json_object"}, stream=True),
    ],
)
def test_a_plain_question_is_compared(body: JsonObject) -> None:
    assert refusal(body) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (last(user([TEXT_PART, IMAGE_PART])), Uncompared.FORM),
        (last(user([IMAGE_PART])), Uncompared.FORM),
        (last(user([TEXT_PART, TEXT_PART])), Uncompared.FORM),
        (last(user([TEXT_PART | {"cache_control": {"type": "ephemeral"}}])), Uncompared.FORM),
        (last(user([{"type": "text"}])), Uncompared.FORM),
        (last(user([{"type": "text", "text": None}])), Uncompared.FORM),
        (last(user([{"type": "input_text", "text": "Why?"}])), Uncompared.FORM),
        (last(user(["Why?"])), Uncompared.FORM),
        (last(user([])), Uncompared.FORM),
        (last(user(None)), Uncompared.FORM),
        (last(user({"text": "Why?"})), Uncompared.FORM),
        (last(user("Why?", name="ann")), Uncompared.FORM),
        (last({"role": "user"}), Uncompared.FORM),
        (last({"role": "user", "text": "Why?"}), Uncompared.FORM),
        (last({"role": "assistant", "content": "Why?"}), Uncompared.FORM),
        (last({"role": "system", "content": "Why?"}), Uncompared.FORM),
        (last({"role": "developer", "content": "Why?"}), Uncompared.FORM),
        (last({"role": "tool", "tool_call_id": "c1", "content": "a.txt"}), Uncompared.FORM),
        (question(tools=[TOOL]), Uncompared.TOOLS),
        (question(functions=[{"name": "f"}]), Uncompared.TOOLS),
        (question(n=2), Uncompared.CHOICES),
        (question(n=0), Uncompared.CHOICES),
        (question(n="1"), Uncompared.CHOICES),
        (question(logprobs=True), Uncompared.LOGPROBS),
        (question(logprobs=5), Uncompared.LOGPROBS),
        (question(seed=0), Uncompared.SEED),
        (question(temperature=1.01), Uncompared.TEMPERATURE),
        (question(temperature=2), Uncompared.TEMPERATURE),
    ],
)
def test_a_form_that_is_more_than_a_plain_question_is_not(
    body: JsonObject, reason: Uncompared
) -> None:
    assert refusal(body) is reason


def test_the_operator_may_compare_with_tools_and_at_other_temperatures() -> None:
    assert refusal(question(tools=[TOOL]), tools=True) is None
    assert refusal(question(temperature=1.5), max_temperature=2.0) is None
    assert refusal(question(temperature=0.1), max_temperature=0.0) is Uncompared.TEMPERATURE
    assert refusal(question(), max_temperature=0.0) is None


def test_what_is_turned_off_is_off_whatever_is_asked() -> None:
    for body in (question(), question(seed=1), last(user(None))):
        assert refusal(body, enabled=False) is Uncompared.OFF


@pytest.mark.parametrize("message", ["Why?", None, 5, ["Why?"], {}])
def test_what_is_no_message_has_no_text(message: Json) -> None:
    assert plain_text(message) is None


def test_the_text_is_taken_as_it_was_written() -> None:
    assert plain_text(user(" Why\n")) == " Why\n"
    assert plain_text(user([TEXT_PART])) == "Why?"
    assert plain_text(user("")) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is the weather today?", Uncompared.RULE_KEYWORD),
        ("TODAY, what is on?", Uncompared.RULE_KEYWORD),
        ("Who won the todayshow?", None),
        ("今天天气怎么样", Uncompared.RULE_KEYWORD),
        ("ticket AB-1234 is open", Uncompared.RULE_PATTERN),
        ("today: AB-1234", Uncompared.RULE_KEYWORD),
        ("What is rain?", None),
        ("", None),
    ],
)
def test_a_rule_leaves_a_question_out(text: str, reason: Uncompared | None) -> None:
    rules = SemanticRules(
        keywords=("today", "今天"), patterns=(re.compile(r"x{9}"), re.compile(r"[A-Z]{2}-\d{4}"))
    )
    assert rule(text, rules) is reason
    assert rule(text, SemanticRules()) is None


@pytest.mark.parametrize(
    ("masked", "text"),
    [
        ("  Why?\n", "Why?"),
        ("order \x1a\x1a is late", "order   is late"),
        ("\x1a\x1b\x1b\x1a is late", "is late"),
        ("a\x1a\x1ab\x1a\x1b\x1ac", "a b c"),
        ("\x1a\x1a", ""),
        (" \t\n", ""),
        ("as it is,\n twice", "as it is,\n twice"),
    ],
)
def test_a_mask_leaves_a_blank_in_the_text(masked: str, text: str) -> None:
    assert compared_text(masked) == text


POOL = Pool("u", "http://127.0.0.1:9")


def planned(body: JsonObject, policy: Policy | None = None, target: str | None = None) -> Lookup:
    asked = request(body, target=target or "/v1/chat/completions")
    plan = classify(asked, Rules(1, (POOL,), policy or Policy()), OPERATIONS, SECRET)
    assert isinstance(plan, Lookup)
    return plan


def test_a_plan_tells_the_text_or_why_there_is_none() -> None:
    assert (planned(question(" Why? ")).text, planned(question()).uncompared) == ("Why?", None)
    seeded = planned(question("Why?", seed=1))
    assert (seeded.text, seeded.uncompared) == ("", Uncompared.SEED)
    off = Policy(semantic=SemanticRules(enabled=False))
    assert planned(question("Why?"), off).uncompared is Uncompared.OFF
    assert planned(question(" \n")).uncompared is Uncompared.EMPTY
    assert not any(planned(body).is_remembered for body in (question("Q"), question(" ")))


def test_what_a_mask_matches_is_not_in_the_text() -> None:
    policy = Policy(masks=(re.compile(r"\d+"), re.compile("Ann|Bob")))
    one, other = (
        planned(question(text), policy) for text in ("Where is Ann's 12th?", "Where is Bob's 7th?")
    )
    assert one.text == other.text == "Where is  's  th?"
    assert one.key == other.key
    assert planned(question("007"), policy).uncompared is Uncompared.EMPTY
    part = planned(question(messages=[user([TEXT_PART | {"text": "Ann?"}])]), policy)
    assert part.text == "?"


def test_a_prompt_for_completion_is_not_compared() -> None:
    body: JsonObject = {"model": "m1", "prompt": "Once"}
    asked = COMPLETIONS.read(body)
    assert asked is not None
    assert form_refusal(body, asked, SemanticRules()) is Uncompared.FORM
    assert planned(body, target="/v1/completions").uncompared is Uncompared.FORM
