"""The operator's bypass rules, and what is deterministic."""

import re

import pytest

from proxy.core.classify import Bypass, BypassReason, classify
from proxy.core.policy import BypassRules, Policy, Pool, Rules
from proxy.core.wire.operation import Json, JsonObject
from tests.core.values import OPERATIONS, SECRET, question, request


def reason_of(
    body: JsonObject, policy: Policy, target: str = "/v1/chat/completions"
) -> BypassReason | None:
    rules = Rules(1, (Pool("main", "http://upstream"),), policy)
    plan = classify(request(body, target=target), rules, OPERATIONS, SECRET)
    return plan.reason if isinstance(plan, Bypass) else None


def said(*parts: Json, role: str = "user") -> JsonObject:
    return {"role": role, "content": list(parts)}


TEXT: JsonObject = {"type": "text", "text": "看图"}
IMAGE: JsonObject = {"type": "image_url", "image_url": {"url": "data:,"}}

RULES: list[tuple[BypassReason, BypassRules, JsonObject, JsonObject]] = [
    (
        BypassReason.RULE_MODEL,
        BypassRules(models=("gpt-*-search", "qwen?")),
        question(model="gpt-9-search"),
        question(model="gpt-9-search2"),
    ),
    (
        BypassReason.RULE_MODEL,
        BypassRules(models=("qwen?",)),
        question(model="qwen3"),
        question(model="Qwen3"),
    ),
    (
        BypassReason.RULE_FIELD,
        BypassRules(fields=("web_search_options",)),
        question(web_search_options={}),
        question(web_search_options=None),
    ),
    (
        BypassReason.RULE_TEMPERATURE,
        BypassRules(max_temperature=0.7),
        question(temperature=0.71),
        question(temperature=0.7),
    ),
    (
        BypassReason.RULE_TEMPERATURE,
        BypassRules(max_temperature=0.0),
        question(temperature=1),
        question(temperature=None),
    ),
    (
        BypassReason.RULE_TOOLS,
        BypassRules(tools=True),
        question(tools=[{"type": "function"}]),
        question(tools=[]),
    ),
    (
        BypassReason.RULE_TOOLS,
        BypassRules(tools=True),
        question(functions=[{"name": "f"}]),
        question(tool_choice="none"),
    ),
    (
        BypassReason.RULE_MEDIA,
        BypassRules(media=True),
        question(messages=[said(TEXT, IMAGE)]),
        question(messages=[said(TEXT, {"type": "refusal"})]),
    ),
    (
        BypassReason.RULE_MEDIA,
        BypassRules(media=True),
        question(messages=[said(IMAGE), said(TEXT)]),
        question(messages=[said("text"), said(TEXT)]),
    ),
    (
        BypassReason.RULE_KEYWORD,
        BypassRules(keywords=("today", "今天")),
        question("今天天气如何？"),
        question("明天天气如何？"),
    ),
    (
        BypassReason.RULE_PATTERN,
        BypassRules(patterns=(re.compile(r"\bv\d+\b"), re.compile("第.章"))),
        question("总结第三章"),
        question("总结这本书"),
    ),
]


@pytest.mark.parametrize(("reason", "rules", "left_alone", "looked_up"), RULES)
def test_a_rule_leaves_alone_what_it_names_and_nothing_else(
    reason: BypassReason, rules: BypassRules, left_alone: JsonObject, looked_up: JsonObject
) -> None:
    assert reason_of(left_alone, Policy(bypass=rules)) is reason
    assert reason_of(looked_up, Policy(bypass=rules)) is None
    assert reason_of(left_alone, Policy()) is None


TODAY = Policy(bypass=BypassRules(keywords=("today", "今天")))


@pytest.mark.parametrize(
    ("prompt", "is_there"),
    [("today", True), (["Q", "今天呢"], True), ([1, 2], False), ([[1], [2]], False), ("Q", False)],
)
def test_a_prompt_is_the_last_user_text_too(prompt: Json, is_there: bool) -> None:
    reason = reason_of({"model": "m1", "prompt": prompt}, TODAY, "/v1/completions")
    assert reason is (BypassReason.RULE_KEYWORD if is_there else None)


def test_media_has_no_place_in_a_prompt() -> None:
    policy = Policy(bypass=BypassRules(media=True))
    assert reason_of({"model": "m1", "prompt": ["a", "b"]}, policy, "/v1/completions") is None


ZERO_OR_NOT: list[tuple[JsonObject, bool]] = [
    (question(temperature=0), True),
    (question(temperature=0.0), True),
    (question(temperature=-0.0), True),
    (question(temperature=1e-9), False),
    (question(temperature=1), False),
    (question(temperature=False), False),
    (question(temperature=None), False),
    (question(temperature="0"), False),
    ({"model": "m1", "messages": [{"role": "user", "content": "Q"}]}, False),
]


@pytest.mark.parametrize(("body", "is_deterministic"), ZERO_OR_NOT)
def test_only_temperature_zero_is_deterministic(body: JsonObject, is_deterministic: bool) -> None:
    expected = None if is_deterministic else BypassReason.NOT_DETERMINISTIC
    assert reason_of(body, Policy(deterministic_only=True)) is expected
    assert reason_of(body, Policy()) is None


@pytest.mark.parametrize("temperature", [True, "2", None, [2]])
def test_only_a_number_is_a_temperature(temperature: Json) -> None:
    policy = Policy(bypass=BypassRules(max_temperature=0.5))
    assert reason_of(question(temperature=temperature), policy) is None


def test_every_reason_is_told_by_a_word_of_its_own() -> None:
    assert len({reason.value for reason in BypassReason}) == len(BypassReason)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", reason) for reason in BypassReason)
