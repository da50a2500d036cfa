import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.core.wire.operation import Json, JsonObject
from proxy.core.wire.operations.completions import OPERATION
from tests.core.wire import served
from tests.core.wire.streams import bytes_of, chunks_of, frames_of, frames_of_bytes, read, without

TEXT = "text_completion"


@st.composite
def choices(draw: st.DrawFn) -> JsonObject:
    """A choice as it stands in a document, without its index."""
    scores: JsonObject = {"tokens": ["a"], "token_logprobs": [None], "text_offset": [0]}
    fields: dict[str, st.SearchStrategy[Json]] = {
        "logprobs": st.none() | st.just(scores),
        "token_ids": st.none() | st.lists(st.integers(0, 3), max_size=3),
        "stop_reason": st.none() | st.just("END"),
        "prompt_logprobs": st.none(),
    }
    choice: JsonObject = {
        "text": draw(st.just("") | served.texts),
        "finish_reason": draw(served.finish_reasons),
    }
    return choice | draw(st.fixed_dictionaries({}, optional=fields))


documents = served.documents(choices(), TEXT)


@st.composite
def told(draw: st.DrawFn) -> tuple[JsonObject, bytes]:
    """A document, and a stream that says the same."""
    document = draw(documents)
    spread: list[list[JsonObject]] = []
    found = document["choices"]
    assert isinstance(found, list)
    for choice in found:
        assert isinstance(choice, dict)
        texts = draw(served.pieces(str(choice["text"])))
        blank: JsonObject = {"index": choice["index"], "finish_reason": None}
        fragments = [blank | {"text": text} for text in texts]
        fragments[-1] |= without(choice, ("index", "text"))
        spread.append(fragments)
    chunks = draw(served.chunks(document, draw(served.interleaved(spread)), TEXT))
    return document, draw(served.written(chunks))


@settings(max_examples=50)
@given(told())
def test_any_way_to_stream_an_answer_gives_its_document(told: tuple[JsonObject, bytes]) -> None:
    document, body = told
    frames = frames_of_bytes(body)
    assert read(OPERATION.to_document(frames)) == document
    assert OPERATION.describe_stream(bytes_of(frames)) == OPERATION.describe_document(document)


@settings(max_examples=50)
@given(documents, st.booleans())
def test_a_document_comes_back_from_its_stream(document: JsonObject, include_usage: bool) -> None:
    body = OPERATION.to_stream(document, include_usage=include_usage)
    if include_usage and "usage" not in document:
        assert body is None
        return
    assert body is not None
    assert {one["object"] for one in chunks_of(body)} == {TEXT}
    expected = document if include_usage else without(document, ["usage"])
    assert read(OPERATION.to_document(frames_of_bytes(body))) == expected


def answered(**members: Json) -> JsonObject:
    choice: JsonObject = {"index": 0, "finish_reason": "stop", **members}
    return {"id": "cmpl-7", "object": TEXT, "created": 1, "model": "m1", "choices": [choice]}


def fragment(text: Json, **members: Json) -> JsonObject:
    """A chunk with one choice."""
    choice: JsonObject = {"index": 0, "text": text, "finish_reason": None, **members}
    return answered() | {"choices": [choice]}


def test_log_probabilities_are_parallel_lists_that_go_on() -> None:
    first: JsonObject = {
        "tokens": ["a"],
        "token_logprobs": [None],
        "top_logprobs": [None],
        "text_offset": [0],
    }
    second: JsonObject = {
        "tokens": ["a", "b"],
        "token_logprobs": [-0.5, -0.25],
        "top_logprobs": [{"a": -0.5}, {"b": -0.25}],
        "text_offset": [1, 2],
    }
    frames = frames_of(
        fragment("a", logprobs=first, token_ids=[1]),
        fragment("ab", logprobs=second, token_ids=[1, 2]),
        fragment("", logprobs=None, finish_reason="stop"),
    )
    assert read(OPERATION.to_document(frames))["choices"] == [
        {
            "index": 0,
            "text": "aab",
            "logprobs": {
                "tokens": ["a", "a", "b"],
                "token_logprobs": [None, -0.5, -0.25],
                "top_logprobs": [None, {"a": -0.5}, {"b": -0.25}],
                "text_offset": [0, 1, 2],
            },
            "token_ids": [1, 1, 2],
            "finish_reason": "stop",
        }
    ]


def test_a_document_is_spread_the_way_a_server_sends_it() -> None:
    document = answered(text="好", logprobs={"tokens": ["好"]}, stop_reason=None)
    body = OPERATION.to_stream(document, include_usage=False)
    blank: JsonObject = {"index": 0, "text": "", "finish_reason": None, "logprobs": None}
    assert [one["choices"] for one in chunks_of(body)] == [
        [blank | {"text": "好", "logprobs": {"tokens": ["好"]}}],
        [blank | {"finish_reason": "stop", "stop_reason": None}],
    ]


@pytest.mark.parametrize("members", [{}, {"text": None}, {"text": ["a"]}])
def test_a_choice_without_text_is_refused_in_both_directions(members: JsonObject) -> None:
    assert OPERATION.to_stream(answered(**members), include_usage=False) is None
    end: JsonObject = {"index": 0, "finish_reason": "stop", **members}
    assert OPERATION.to_document(frames_of(answered() | {"choices": [end]})) is None


def test_a_choice_without_text_is_empty() -> None:
    assert OPERATION.describe_document(answered(text="")).is_empty
    assert OPERATION.describe_stream(
        bytes_of(frames_of(fragment("", finish_reason="stop")))
    ).is_empty
    assert not OPERATION.describe_document(answered(text="a")).is_empty


@pytest.mark.parametrize("prompt", ["Q", "", ["a", "b"], [1, 2], [[1], [2]], [1, "a"]])
def test_the_question_is_the_whole_prompt(prompt: Json) -> None:
    question = OPERATION.read({"model": "m1", "prompt": prompt, "stream": True})
    assert question is not None
    assert (question.model, question.stream, question.history, question.last) == (
        "m1",
        True,
        (),
        prompt,
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": None},
        {"prompt": []},
        {"prompt": {"text": "Q"}},
        {"prompt": [None]},
        {"prompt": "Q", "model": 1},
        {"prompt": "Q", "stream": "yes"},
        {"prompt": "Q", "stream_options": 1},
    ],
)
def test_a_body_of_another_form_is_not_read(body: JsonObject) -> None:
    assert OPERATION.read(body) is None


def test_the_operation_says_what_counts() -> None:
    assert OPERATION.name == "text_completion"
    assert OPERATION.suffixes == ("/completions",)
    assert OPERATION.input_fields == {"prompt"}
    assert OPERATION.ignored_fields == {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "service_tier",
    }
