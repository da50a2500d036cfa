from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.core.wire.operation import Json, JsonObject
from proxy.core.wire.operations.chat import OPERATION
from tests.core.wire import served
from tests.core.wire.streams import (
    bytes_of,
    chunk,
    chunks_of,
    delta,
    frames_of,
    frames_of_bytes,
    read,
    without,
)

CHUNK = "chat.completion.chunk"


@st.composite
def calls(draw: st.DrawFn) -> list[Json]:
    found = draw(st.lists(served.arguments, max_size=3))
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": f"tool_{number}", "arguments": orjson.dumps(said).decode()},
        }
        for number, said in enumerate(found)
    ]


@st.composite
def choices(draw: st.DrawFn) -> JsonObject:
    """A choice as it stands in a document, without its index."""
    texts = served.texts
    optional: dict[str, st.SearchStrategy[Json]] = {
        "refusal": st.none() | texts,
        "reasoning_content": texts,
        "reasoning": st.none() | texts,
        "annotations": st.none() | st.just([{"type": "url_citation"}]),
        "x_vendor": served.vendor,
    }
    message: JsonObject = {"role": "assistant", "content": draw(st.none() | texts)}
    message |= draw(st.fixed_dictionaries({}, optional=optional))
    if called := draw(calls()):
        message["tool_calls"] = called
    elif draw(st.booleans()):
        message |= {"content": "", "tool_calls": []}
    fields: dict[str, st.SearchStrategy[Json]] = {
        "logprobs": served.logprobs,
        "token_ids": st.none() | st.lists(st.integers(0, 3), max_size=4),
        "stop_reason": st.none() | st.just(2),
        "content_filter_results": st.just({"hate": {"filtered": False, "severity": "safe"}}),
    }
    choice: JsonObject = {"message": message, "finish_reason": draw(served.finish_reasons)}
    return choice | draw(st.fixed_dictionaries({}, optional=fields))


documents = served.documents(choices(), "chat.completion")


@st.composite
def call_deltas(draw: st.DrawFn, called: list[JsonObject]) -> list[JsonObject]:
    """Calls as deltas: with an index and interleaved, or without one and in order."""
    has_index = draw(st.booleans())
    is_repeating = draw(st.booleans())
    told: list[list[JsonObject]] = []
    for index, call in enumerate(called):
        function = call["function"]
        assert isinstance(function, dict)
        first, *rest = draw(served.pieces(str(function["arguments"])))
        opening: JsonObject = call | {"function": function | {"arguments": first}}
        label: JsonObject = {"id": call["id"], "type": "function"} if is_repeating else {}
        fragments = [opening, *(label | {"function": {"arguments": part}} for part in rest)]
        place: JsonObject = {"index": index} if has_index else {}
        told.append([{"tool_calls": [place | fragment]} for fragment in fragments])
    in_order = [fragment for fragments in told for fragment in fragments]
    return draw(served.interleaved(told)) if has_index else in_order


@st.composite
def deltas(draw: st.DrawFn, message: JsonObject) -> list[JsonObject]:
    """A message in fragments: the role first, or everywhere; texts in any order."""
    called = message.get("tool_calls")
    content = message["content"]
    names = ("content", "refusal", "reasoning_content", "reasoning")
    texts = {name: message[name] for name in names if isinstance(message.get(name), str)}
    told: list[JsonObject] = []
    for name in draw(st.permutations(sorted(texts))):
        told += [{name: part} for part in draw(served.pieces(str(texts[name])))]
    told += draw(call_deltas([call for call in called or () if isinstance(call, dict)]))  # type: ignore[union-attr]  # a list where it is there at all
    known = {"role", *texts, *(("tool_calls",) if called else ())}
    rest = without(message, known)
    opening: JsonObject = {"role": "assistant", **rest}
    may_open = content if content is None and not called else draw(st.sampled_from(["", None]))
    opening["content"] = may_open
    if draw(st.booleans()):
        # Not beside an empty string: there the role would make it a mere opening.
        told = [one if one.get("content") == "" else {"role": "assistant", **one} for one in told]
    return [opening, *told]


@st.composite
def fragments(draw: st.DrawFn, choice: JsonObject) -> list[JsonObject]:
    """A choice in fragments, with log probabilities and labels on any of them."""
    message = choice["message"]
    assert isinstance(message, dict)
    told: list[JsonObject] = [{"delta": one} for one in draw(deltas(message))]
    if draw(st.booleans()):
        told.append({"delta": {}})
    told = [{"index": choice["index"], "finish_reason": None} | one for one in told]
    for name, value in without(choice, ("index", "message", "finish_reason")).items():
        for place in draw(st.lists(st.sampled_from(range(len(told))), max_size=2)):
            told[place] |= {name: None}
        for place, part in draw(parts(name, value, len(told))):
            told[place] |= {name: part}
    told[-1]["finish_reason"] = choice["finish_reason"]
    return told


@st.composite
def parts(draw: st.DrawFn, name: str, value: Json, count: int) -> list[tuple[int, Json]]:
    """A member of a choice in parts, with the places where they are told."""
    places = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3, unique=True))
    if name == "logprobs" and isinstance(value, dict):
        content = value["content"]
        assert isinstance(content, list)
        split = [content[: len(places) - 1], content[len(places) - 1 :]]
        told: list[Json] = [{"content": list(part), "refusal": None} for part in split]
        return list(zip(sorted(places), told, strict=False)) if len(places) > 1 else [(0, value)]
    if name == "token_ids" and isinstance(value, list) and len(places) > 1:
        first, second, *_ = sorted(places)
        return [(first, value[:1]), (second, value[1:])]
    return [(place, value) for place in (places[:1] if name == "token_ids" else places)]


@st.composite
def told(draw: st.DrawFn) -> tuple[JsonObject, bytes]:
    """A document, and a stream that says the same."""
    document = draw(documents)
    found = document["choices"]
    assert isinstance(found, list)
    spread = [draw(fragments(choice)) for choice in found if isinstance(choice, dict)]
    chunks = draw(served.chunks(document, draw(served.interleaved(spread)), CHUNK))
    return document, draw(served.written(chunks))


@settings(max_examples=100)
@given(told())
def test_any_way_to_stream_an_answer_gives_its_document(told: tuple[JsonObject, bytes]) -> None:
    document, body = told
    frames = frames_of_bytes(body)
    assert read(OPERATION.to_document(frames)) == document
    from_stream = OPERATION.describe_stream(bytes_of(frames))
    from_document = OPERATION.describe_document(document)
    assert from_stream == from_document


@settings(max_examples=100)
@given(documents, st.booleans())
def test_a_document_comes_back_from_its_stream(document: JsonObject, include_usage: bool) -> None:
    body = OPERATION.to_stream(document, include_usage=include_usage)
    if include_usage and "usage" not in document:
        assert body is None
        return
    assert body is not None
    chunks = chunks_of(body)
    expected = document if include_usage else without(document, ["usage"])
    assert read(OPERATION.to_document(frames_of_bytes(body))) == expected
    assert {(one["id"], one["created"], one["model"], one["object"]) for one in chunks} == {
        ("answer-1", 1700000001, "m1", CHUNK)
    }
    assert ("usage" in chunks[-1]) is include_usage
    assert not any("usage" in one for one in chunks[:-1])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", "stop"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ["choices", "index", "delta", "message", "content", "tool_calls", "error", "usage"]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=100)
@given(st.lists(json_values, max_size=4), st.dictionaries(st.just("choices"), json_values))
def test_odd_structure_raises_nothing(chunks: list[Json], document: JsonObject) -> None:
    frames = frames_of(*chunks)
    OPERATION.describe_stream(bytes_of(frames))
    OPERATION.to_document(frames)
    OPERATION.without_usage(frames)
    OPERATION.describe_document(document)
    document["object"] = "chat.completion"
    OPERATION.to_stream(document, include_usage=False)


def merged(*deltas: JsonObject, finish_reason: str = "stop") -> Json:
    """The message that a stream of these deltas gives; None where refused."""
    chunks = [chunk(delta(**one)) for one in deltas]
    text = OPERATION.to_document(frames_of(*chunks, chunk(delta(finish_reason=finish_reason))))
    if text is None:
        return None
    found = read(text)["choices"]
    assert isinstance(found, list)
    assert isinstance(found[0], dict)
    return found[0]["message"]


def said(content: Json, **members: Json) -> JsonObject:
    return {"role": "assistant", "content": content} | members


def call(index: int | None, arguments: str, **members: Json) -> JsonObject:
    function: JsonObject = {"arguments": arguments}
    if "name" in members:
        function["name"] = members.pop("name")
    return ({} if index is None else {"index": index}) | members | {"function": function}


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        # llama.cpp: null content beside the role; vLLM: an empty one
        ([said(None), {"content": "巴"}, {"content": "黎"}], said("巴黎")),
        ([said(""), {"content": "Paris"}], said("Paris")),
        ([said("")], said("")),
        ([{"content": "no role"}], said("no role")),
        # the role again in each chunk
        ([said("a"), said("b"), said("")], said("ab")),
        # DeepSeek and llama.cpp; vLLM and OpenRouter
        (
            [
                {"role": "assistant", "content": None, "reasoning_content": ""},
                {"content": None, "reasoning_content": "hm"},
                {"content": None, "reasoning_content": "m"},
                {"content": "ok", "reasoning_content": None},
            ],
            said("ok", reasoning_content="hmm"),
        ),
        (
            [
                {
                    "reasoning": "a",
                    "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}],
                },
                {
                    "reasoning": "b",
                    "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}],
                },
            ],
            said(
                None,
                reasoning="ab",
                reasoning_details=[{"type": "reasoning.text", "text": "ab", "index": 0}],
            ),
        ),
        ([said(None), {"refusal": "I "}, {"refusal": "can't"}], said(None, refusal="I can't")),
        # calls only: an empty string beside the role is no content
        (
            [said(""), {"content": None, "tool_calls": [call(0, "{}", id="c1", name="f")]}],
            said(None, tool_calls=[call(None, "{}", id="c1", name="f")]),
        ),
        (
            [{"content": ""}, {"tool_calls": [call(0, "{}", id="c1", name="f")]}],
            said("", tool_calls=[call(None, "{}", id="c1", name="f")]),
        ),
        ([said("x", tool_calls=[])], said("x", tool_calls=[])),
        # legacy
        (
            [
                {"function_call": {"name": "f", "arguments": ""}},
                {"function_call": {"arguments": "{"}},
                {"function_call": {"arguments": "}"}},
            ],
            said(None, function_call={"name": "f", "arguments": "{}"}),
        ),
        (
            [
                {"audio": {"id": "a1", "transcript": "He"}},
                {"audio": {"id": "a1", "data": "QUJD", "transcript": "y"}},
                {"audio": {"data": "RA==", "expires_at": 9}},
            ],
            said(
                None,
                audio={"id": "a1", "transcript": "Hey", "data": "QUJDRA==", "expires_at": 9},
            ),
        ),
        ([{"content": "a", "x_vendor": {"a": 0}}], said("a", x_vendor={"a": 0})),
    ],
)
def test_the_deltas_of_known_servers_give_their_message(
    deltas: list[JsonObject], message: JsonObject
) -> None:
    assert merged(*deltas) == message


def test_calls_in_interleaved_fragments_are_merged_even_from_the_last_chunk() -> None:
    chunks = [
        chunk(delta(role="assistant", content=None)),
        chunk(delta(tool_calls=[call(0, "", id="c1", type="function", name="look")])),
        chunk(delta(tool_calls=[call(1, "", id="c2", type="function", name="list")])),
        chunk(delta(tool_calls=[call(0, '{"path"'), call(1, "[")])),
        chunk(delta(tool_calls=[call(0, ':"a"}')])),
        chunk(delta(tool_calls=[call(1, "]")], finish_reason="tool_calls")),
    ]
    document = read(OPERATION.to_document(frames_of(*chunks)))
    assert document["choices"] == [
        {
            "index": 0,
            "message": said(
                None,
                tool_calls=[
                    call(None, '{"path":"a"}', id="c1", type="function", name="look"),
                    call(None, "[]", id="c2", type="function", name="list"),
                ],
            ),
            "finish_reason": "tool_calls",
        }
    ]


@pytest.mark.parametrize(
    "deltas",
    [
        [{"content": "a"}, {"content": [{"type": "text", "text": "b"}]}],
        [{"role": "assistant"}, {"role": "user"}],
        [{"tool_calls": [call(0, "{}", id="c1")]}, {"tool_calls": [call(0, "{}", id="c2")]}],
        [{"tool_calls": "f"}],
        [{"x_state": "draft", "content": "a"}, {"x_state": "draft", "content": "b"}],
        [{"x_number": 1}, {"x_number": 2}],
    ],
)
def test_a_message_that_is_unclear_is_refused(deltas: list[JsonObject]) -> None:
    assert merged(*deltas) is None


def test_a_choice_with_delta_and_message_is_refused() -> None:
    both = delta(content="a", finish_reason="stop") | {"message": said("a")}
    assert OPERATION.to_document(frames_of(chunk(both))) is None
    no_object: JsonObject = {"index": 0, "delta": "a", "finish_reason": "stop"}
    assert OPERATION.to_document(frames_of(chunk(no_object))) is None


def test_a_choice_without_delta_adds_nothing() -> None:
    end: JsonObject = {"index": 0, "delta": None, "finish_reason": "stop"}
    document = read(OPERATION.to_document(frames_of(chunk(delta(content="a")), chunk(end))))
    assert document["choices"] == [{"index": 0, "message": said("a"), "finish_reason": "stop"}]


def answered(message: Json, **members: Json) -> JsonObject:
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1700000001,
        "model": "m1",
        "choices": [choice | members],
    }


def spread(message: Json, **members: Json) -> list[Json]:
    """The choices in the chunks into which a document is spread."""
    body = OPERATION.to_stream(answered(message, **members), include_usage=False)
    found: list[Json] = []
    for one in chunks_of(body):
        assert isinstance(one["choices"], list)
        found += one["choices"]
    return found


def test_a_document_is_spread_the_way_a_server_sends_it() -> None:
    scores: JsonObject = {"content": [{"token": "ok", "logprob": -0.5}]}
    message = said(
        "ok",
        reasoning_content="hmm",
        refusal=None,
        tool_calls=[call(None, "{}", id="c1", name="f"), call(None, "[]", id="c2", name="g")],
        x_vendor={"a": 0},
    )
    blank: JsonObject = {"index": 0, "finish_reason": None, "logprobs": None}
    expected: list[JsonObject] = [
        blank | {"delta": {"role": "assistant", "content": "", "refusal": None}},
        blank | {"delta": {"reasoning_content": "hmm"}},
        blank | {"delta": {"content": "ok"}, "logprobs": scores},
        blank | {"delta": {"tool_calls": [call(0, "{}", id="c1", name="f")]}},
        blank | {"delta": {"tool_calls": [call(1, "[]", id="c2", name="g")]}},
        blank | {"delta": {"x_vendor": {"a": 0}}},
        blank | {"delta": {}, "finish_reason": "stop", "stop_reason": None},
    ]
    assert spread(message, logprobs=scores, stop_reason=None) == expected


@pytest.mark.parametrize(
    ("message", "deltas"),
    [
        (said("hi"), [said(""), {"content": "hi"}]),
        (said(""), [said("")]),
        (said(None), [said(None)]),
        ({"role": "assistant"}, [said(None)]),
        (said(None, refusal="no"), [said(None), {"refusal": "no"}]),
        (
            said("", tool_calls=[call(0, "{}", id="c1")]),
            [said(None), {"content": ""}, {"tool_calls": [call(0, "{}", id="c1")]}],
        ),
    ],
)
def test_content_opens_as_servers_open_it(message: JsonObject, deltas: list[JsonObject]) -> None:
    ends: Sequence[JsonObject] = [*deltas, {}]
    assert spread(message) == [
        {
            "index": 0,
            "delta": one,
            "finish_reason": None if place < len(deltas) else "stop",
        }
        for place, one in enumerate(ends)
    ]


def test_log_probabilities_without_text_come_at_the_end() -> None:
    called = said(None, tool_calls=[call(None, "{}", id="c1")])
    *_, last = spread(called, logprobs={"content": []}, token_ids=[7])
    assert last == {
        "index": 0,
        "delta": {},
        "finish_reason": "stop",
        "logprobs": {"content": []},
        "token_ids": [7],
    }


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        None,
        {"content": "no role"},
        said([{"type": "text", "text": "hi"}]),
        said(None, tool_calls={"0": call(None, "{}")}),
        said(None, tool_calls=["f"]),
        said(None, tool_calls=[call(7, "{}")]),
    ],
)
def test_a_message_of_unknown_form_is_not_spread(message: Json) -> None:
    assert OPERATION.to_stream(answered(message), include_usage=False) is None


@pytest.mark.parametrize(
    "message",
    [
        said("a"),
        said(" "),
        said(None, reasoning_content="hm"),
        said("", reasoning="hm"),
        said(None, refusal="no"),
        said(None, tool_calls=[call(None, "{}")]),
        said(None, function_call={"name": "f", "arguments": "{}"}),
        said(None, audio={"id": "a1"}),
        said([{"type": "text", "text": "a"}]),
    ],
)
def test_any_text_or_call_is_something(message: JsonObject) -> None:
    assert not OPERATION.describe_document(answered(message)).is_empty
    stream = frames_of(chunk(delta(**message)), chunk(delta(finish_reason="stop")))
    assert not OPERATION.describe_stream(bytes_of(stream)).is_empty


@pytest.mark.parametrize(
    "message",
    [said(None), said(""), said(None, tool_calls=[], audio=None, refusal="", x="a"), None, "a"],
)
def test_a_message_that_says_nothing_is_empty(message: Json) -> None:
    assert OPERATION.describe_document(answered(message)).is_empty


def test_the_question_is_the_last_message() -> None:
    system: JsonObject = {"role": "system", "content": "简短"}
    user: JsonObject = {"role": "user", "content": "Q"}
    question = OPERATION.read(
        {
            "model": "m1",
            "messages": [system, user],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )
    assert question is not None
    assert (question.model, question.stream, question.history, question.last) == (
        "m1",
        True,
        (system,),
        user,
    )
    assert question.include_usage


@pytest.mark.parametrize("more", [{}, {"stream": None}, {"stream": False, "stream_options": None}])
def test_model_and_stream_may_be_left_out(more: JsonObject) -> None:
    question = OPERATION.read({"messages": [{}], **more})
    assert question is not None
    assert (question.model, question.stream, question.stream_options) == ("", False, {})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": None},
        {"messages": "Q"},
        {"messages": {"role": "user"}},
        {"messages": [{}, "Q"]},
        {"messages": [{}], "model": None},
        {"messages": [{}], "model": 1},
        {"messages": [{}], "stream": "true"},
        {"messages": [{}], "stream": 1},
        {"messages": [{}], "stream_options": []},
        {"messages": [{}], "stream_options": True},
    ],
)
def test_a_body_of_another_form_is_not_read(body: JsonObject) -> None:
    assert OPERATION.read(body) is None


def test_the_operation_says_what_counts() -> None:
    assert OPERATION.name == "chat"
    assert OPERATION.suffixes == ("/chat/completions",)
    assert OPERATION.input_fields == {"messages"}
    assert OPERATION.ignored_fields == {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "store",
        "prompt_cache_key",
        "service_tier",
    }
