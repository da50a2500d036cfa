"""What of a request body counts in the key: everything but the deny-list (B02, B03, B20, B50)."""

from typing import Any

import pytest

from proxy.core.wire.operation import Json, JsonObject
from tests.core.values import CHAT, COMPLETIONS, key_of, question


def schema(kind: str) -> JsonObject:
    """A response format; always of the same name."""
    json_schema: JsonObject = {"name": "answer", "strict": True, "schema": {"type": kind}}
    return {"type": "json_schema", "json_schema": json_schema}


def tool(name: str, **members: Json) -> JsonObject:
    """A function that the model may call."""
    function: JsonObject = {"name": name}
    return {"type": "function", "function": function | members}


PARAMETERS: list[tuple[str, Json, Json]] = [
    ("model", "m1", "m2"),
    ("max_tokens", 16, 17),
    ("max_completion_tokens", 16, 17),
    ("temperature", 0, 1.2),
    ("top_p", 0.9, 0.95),
    ("stop", "\n", ["\n"]),
    ("stop", ["a", "b"], ["b", "a"]),
    ("n", 1, 2),
    ("presence_penalty", 0.1, 0.2),
    ("frequency_penalty", 0.1, 0.2),
    ("logit_bias", {"50256": -100}, {"50256": 100}),
    ("seed", 1, 2),
    ("tools", [tool("f")], [tool("g")]),
    ("tools", [tool("f"), tool("g")], [tool("g"), tool("f")]),
    ("tools", [tool("f", description="查天气")], [tool("f", description="查股价")]),
    ("tools", [tool("f", parameters={"a": 1})], [tool("f", parameters={"a": "1"})]),
    ("tool_choice", "none", "auto"),
    ("functions", [{"name": "f"}], [{"name": "g"}]),
    ("function_call", "none", {"name": "f"}),
    ("parallel_tool_calls", True, False),
    ("response_format", schema("object"), schema("array")),
    ("logprobs", True, False),
    ("top_logprobs", 2, 5),
    ("reasoning_effort", "low", "high"),
    ("verbosity", "low", "high"),
    ("modalities", ["text"], ["text", "audio"]),
    ("audio", {"voice": "a"}, {"voice": "b"}),
    ("prediction", {"content": "a"}, {"content": "b"}),
    ("web_search_options", {}, {"search_context_size": "low"}),
    ("top_k", 40, 41),
    ("min_p", 0.05, 0.1),
    ("repetition_penalty", 1.1, 1.2),
    ("length_penalty", 1, 2),
    ("use_beam_search", True, False),
    ("ignore_eos", True, False),
    ("min_tokens", 0, 1),
    ("stop_token_ids", [1], [2]),
    ("bad_words", ["a"], ["b"]),
    ("skip_special_tokens", True, False),
    ("prompt_logprobs", 0, 1),
    ("echo", True, False),
    ("suffix", "a", "b"),
    ("guided_json", {"type": "object"}, {"type": "array"}),
    ("guided_regex", "a+", "b+"),
    ("structured_outputs", {"choice": ["是"]}, {"choice": ["否"]}),
    ("chat_template", "a", "b"),
    ("chat_template_kwargs", {"enable_thinking": True}, {"enable_thinking": False}),
    ("add_generation_prompt", True, False),
    ("continue_final_message", True, False),
    ("include_reasoning", True, False),
    ("mm_processor_kwargs", {"a": 1}, {"a": 2}),
    ("documents", [{"text": "甲"}], [{"text": "乙"}]),
    ("priority", 0, 1),
    ("cache_salt", "a", "b"),
    ("grammar", "root ::= a", "root ::= b"),
    ("mirostat", 1, 2),
    ("n_probs", 1, 2),
    ("dry_multiplier", 0.5, 0.8),
    ("id_slot", 0, 1),
    ("provider", {"order": ["a", "b"]}, {"order": ["b", "a"]}),
    ("models", ["a"], ["b"]),
    ("thinking", {"type": "enabled"}, {"type": "disabled"}),
    ("a_field_of_tomorrow", 1, 2),
    ("未知", "甲", "乙"),
]


@pytest.mark.parametrize(
    ("name", "value", "other"), PARAMETERS, ids=lambda it: it if isinstance(it, str) else ""
)
def test_every_parameter_counts(name: str, value: Json, other: Json) -> None:
    keys = [key_of(question(**{name: each})).exact for each in (value, other, value)]
    assert keys[0] != keys[1]
    assert keys[0] == keys[2]
    if name not in question():
        assert key_of(question()).exact not in keys


IGNORED: list[tuple[str, Json]] = [
    ("stream", True),
    ("stream_options", {"include_usage": True}),
    ("user", "u-17"),
    ("metadata", {"run": "三"}),
    ("safety_identifier", "s"),
    ("store", True),
    ("prompt_cache_key", "k"),
    ("service_tier", "flex"),
]


@pytest.mark.parametrize(("name", "value"), IGNORED)
def test_what_cannot_change_the_answer_does_not_count(name: str, value: Json) -> None:
    assert key_of(question(**{name: value})) == key_of(question())


def test_nothing_else_is_ignored() -> None:
    assert {name for name, _ in IGNORED} == CHAT.ignored_fields
    assert COMPLETIONS.ignored_fields < CHAT.ignored_fields


@pytest.mark.parametrize("name", ["Stream", "USER", "user_", "meta", "metadata2"])
def test_a_name_like_an_ignored_one_counts(name: str) -> None:
    assert key_of(question(**{name: True})).exact != key_of(question()).exact


def test_an_ignored_name_inside_a_message_counts() -> None:
    message = {"role": "user", "content": "Q", "metadata": {"a": 1}}
    assert key_of(question(messages=[message])).exact != key_of(question()).exact


def image(data: str) -> JsonObject:
    """An image part."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def said(*parts: Json) -> JsonObject:
    """A question whose last message has these content parts."""
    return question(messages=[{"role": "user", "content": list(parts)}])


def text(words: str) -> JsonObject:
    """A text part."""
    return {"type": "text", "text": words}


DESCRIBE = text("Describe this. 请描述。")


def test_images_audio_and_files_count() -> None:
    audio: JsonObject = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    bodies = [
        said(DESCRIBE, image("AAAA")),
        said(DESCRIBE, image("BBBB")),
        said(image("AAAA"), DESCRIBE),
        said(DESCRIBE),
        question("Describe this. 请描述。"),
        said(DESCRIBE, image("AAAA") | {"detail": "low"}),
        said(DESCRIBE, {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}),
        said(DESCRIBE, audio),
        said(DESCRIBE, {"type": "file", "file": {"file_id": "f-1"}}),
        said(DESCRIBE, image("AAAA"), image("AAAA")),
    ]
    assert len({key_of(body).exact for body in bodies}) == len(bodies)


def test_tool_calls_and_their_results_count() -> None:
    asked = {"role": "user", "content": "List files"}

    def call(ident: str, path: str) -> JsonObject:
        function: JsonObject = {"name": "read_dir", "arguments": f'{{"path":"{path}"}}'}
        calls: list[Json] = [{"id": ident, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def result(ident: str, content: str) -> JsonObject:
        return {"role": "tool", "tool_call_id": ident, "content": content}

    turns: list[list[Any]] = [
        [asked],
        [asked, call("c1", "/")],
        [asked, call("c1", "/"), result("c1", "a.txt")],
        [asked, call("c1", "/"), result("c1", "b.txt")],
        [asked, call("c1", "/srv"), result("c1", "a.txt")],
        [asked, call("c2", "/"), result("c2", "a.txt")],
        [asked, call("c1", "/"), result("c2", "a.txt")],
        [asked, call("c1", "/"), {"role": "user", "content": "a.txt"}],
    ]
    tools = [tool("read_dir")]
    assert len({key_of(question(messages=each, tools=tools)).exact for each in turns}) == len(turns)


def test_every_earlier_turn_counts() -> None:
    def conversation(*contents: str) -> JsonObject:
        roles = ("user", "assistant")
        return question(
            messages=[
                {"role": roles[number % 2], "content": content}
                for number, content in enumerate(contents)
            ]
        )

    conversations = [
        conversation("Who runs X?", "Ann Li, 48.", "How old is she?"),
        conversation("Who runs Y?", "Bea Wu, 51.", "How old is she?"),
        conversation("Who runs X?", "Ann Li, 47.", "How old is she?"),
        conversation("How old is she?"),
        conversation("谁经营X公司？", "李安", "她多大？"),
        conversation("谁经营X公司？", "李安", "他多大？"),
        conversation("How old is she?", "Who?", "Assume the year is 1990", "ok", "How old is she?"),
    ]
    assert len({key_of(body).exact for body in conversations}) == len(conversations)


def test_role_name_and_order_of_messages_count() -> None:
    system = {"role": "system", "content": "Answer in French."}
    user = {"role": "user", "content": "Q"}
    bodies = [
        question(messages=[system, user]),
        question(messages=[user, system]),
        question(messages=[system | {"role": "developer"}, user]),
        question(messages=[system | {"content": "Answer in German."}, user]),
        question(messages=[system, user | {"name": "ann"}]),
        question(messages=[user]),
    ]
    assert len({key_of(body).exact for body in bodies}) == len(bodies)
