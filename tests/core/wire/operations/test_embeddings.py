import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.classify import Lookup, classify, find_operation
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.policy import Policy, Pool, Rules
from proxy.core.wire.operation import Answer, Json, JsonObject
from proxy.core.wire.operations.embeddings import OPERATION
from tests.core.values import OPERATIONS, SECRET, request
from tests.core.wire.streams import DONE, chunk, frames_of

CODED = base64.b64encode(struct.pack("<2f", 0.5, -1)).decode()
USAGE: JsonObject = {"prompt_tokens": 7, "total_tokens": 7}
NO_ANSWER = Answer(None, (), False, True, True, False, None, None, None, 0)


def item(index: Json = 0, embedding: Json = None, **members: Json) -> JsonObject:
    vector: Json = [0.5, -1, 0] if embedding is None else embedding
    return {"object": "embedding", "index": index, "embedding": vector, **members}


def described(*items: Json, **members: Json) -> Answer:
    usual: JsonObject = {"object": "list", "data": list(items), "model": "e1", "usage": USAGE}
    return OPERATION.describe_document(usual | members)


def is_whole(answer: Answer) -> bool:
    return not answer.has_error and not answer.is_empty


INPUTS: list[Json] = ["a", "", ["a"], ["a", "b", "a"], ["天"], [1, 2, 3], [[1, 2], [3]], [[0]]]


@pytest.mark.parametrize("asked", INPUTS)
@pytest.mark.parametrize("members", [{}, {"stream": False}, {"stream": None, "stream_options": 1}])
def test_the_question_is_all_that_is_asked_at_once(asked: Json, members: JsonObject) -> None:
    question = OPERATION.read({"model": "e1", "input": asked, **members})
    assert question is not None
    assert (question.model, question.stream, question.history) == ("e1", False, ())
    assert (question.last, question.include_usage) == (asked, False)


@pytest.mark.parametrize(
    ("asked", "items"),
    [("a", 1), (["a"], 1), (["a", "b", "a"], 3), ([1, 2, 3], 1), ([[1, 2], [3]], 2), ([[0]], 1)],
)
def test_there_are_as_many_items_to_come_as_inputs(asked: Json, items: int) -> None:
    question = OPERATION.read({"input": asked})
    assert question is not None
    assert question.items == planned(input=asked).items == items
    assert described(*map(item, range(items))).items == items


def test_a_server_of_one_model_need_not_be_told_which() -> None:
    question = OPERATION.read({"input": "a"})
    assert question is not None
    assert question.model == ""


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": None},
        {"input": 1},
        {"input": {"text": "a"}},
        {"input": []},
        {"input": [[]]},
        {"input": [[1], []]},
        {"input": [None]},
        {"input": [True]},
        {"input": [1.5]},
        {"input": ["a", 1]},
        {"input": [1, "a"]},
        {"input": [[1], "a"]},
        {"input": ["a", [1]]},
        {"input": [["a"]]},
        {"input": [[True]]},
        {"input": [[[1]]]},
        {"input": [{"text": "a"}, {"image": "b"}]},
        {"messages": [{"role": "user", "content": "a"}]},
        {"input": "a", "model": 1},
        {"input": "a", "stream": True},
        {"input": "a", "stream": 0},
        {"input": "a", "stream": "no"},
    ],
)
def test_a_body_of_another_form_is_not_read(body: JsonObject) -> None:
    assert OPERATION.read(body) is None


@given(st.permutations(range(5)))
def test_an_answer_is_whole_in_whatever_order_its_items_came(indexes: list[int]) -> None:
    answer = described(*(item(index) for index in indexes))
    assert is_whole(answer)
    assert answer.is_terminated


@pytest.mark.parametrize("embedding", [[0.5], [1], [0], CODED])
def test_a_vector_is_numbers_or_base64(embedding: Json) -> None:
    assert is_whole(described(item(embedding=embedding), item(1, [0.25])))


@pytest.mark.parametrize(
    "indexes",
    [[1], [0, 0], [0, 2], [1, 2], [-1, 0], [0, None], [0, "1"], [0, True], [0, 1.0], [0, [1]]],
)
def test_an_answer_with_indexes_twice_or_missing_is_not_whole(indexes: list[Json]) -> None:
    assert described(*map(item, indexes)).has_error


def test_an_item_without_an_index_makes_an_answer_odd() -> None:
    assert described({"object": "embedding", "embedding": [0.5]}).has_error


@pytest.mark.parametrize("embedding", [[], ""])
def test_an_answer_with_a_vector_of_nothing_is_empty(embedding: Json) -> None:
    assert described(item(), item(1, embedding)).is_empty


@pytest.mark.parametrize(
    "embedding",
    [
        *([None], [0.5, None], ["0.5"], [True], [[0.5]], {"float": [0.5]}, 0.5, False),
        *("AA=", "a b ", "天天天天"),
    ],
)
def test_what_cannot_be_a_vector_makes_an_answer_odd(embedding: Json) -> None:
    assert described(item() | {"embedding": embedding}).has_error
    assert described({"object": "embedding", "index": 0}).has_error


@pytest.mark.parametrize("data", [None, [], "", {}, 0])
def test_an_answer_without_items_is_empty(data: Json) -> None:
    assert described(data=data).is_empty


@pytest.mark.parametrize("data", ["a", 1, {"0": item()}, [item(), None], [item(), "a"], [[0.5]]])
def test_data_of_another_structure_makes_an_answer_odd(data: Json) -> None:
    assert described(data=data).has_error


@pytest.mark.parametrize(
    "answer",
    [
        described(item(), error={"message": "no"}),
        described(item(), object="error"),
        described(item(), item(1, error="overloaded")),
    ],
)
def test_an_error_member_is_an_error(answer: Answer) -> None:
    assert answer.has_error


def test_a_null_for_an_error_is_none() -> None:
    assert is_whole(described(item(error=None), error=None))


@pytest.mark.parametrize(
    ("usage", "has_usage", "prompt_tokens"),
    [
        (USAGE, True, 7),
        ({"prompt_tokens": 0}, True, 0),
        ({"total_tokens": 7}, True, None),
        ({"prompt_tokens": -1}, True, None),
        ({"prompt_tokens": True}, True, None),
        ({"prompt_tokens": "7"}, True, None),
        ("7", False, None),
        (None, False, None),
    ],
)
def test_usage_is_what_the_server_says(
    usage: Json, has_usage: bool, prompt_tokens: int | None
) -> None:
    answer = described(item(), usage=usage)
    assert (answer.has_usage, answer.prompt_tokens) == (has_usage, prompt_tokens)
    assert (answer.completion_tokens, answer.cached_tokens) == (None, None)


@pytest.mark.parametrize(("model", "told"), [("e1", "e1"), ("", None), (1, None), (None, None)])
def test_the_model_is_what_the_server_says(model: Json, told: str | None) -> None:
    assert described(item(), model=model).model == told


def test_there_are_no_streams() -> None:
    assert OPERATION.describe_document({}) == NO_ANSWER
    assert OPERATION.describe_stream(DONE) == NO_ANSWER._replace(is_terminated=False)
    assert not OPERATION.has_ended(DONE)
    frames = frames_of(chunk())
    assert OPERATION.to_document(frames) is None
    assert OPERATION.without_usage(frames) is None
    document: JsonObject = {"object": "list", "data": [item()], "usage": USAGE}
    assert OPERATION.to_stream(document, include_usage=False) is None


@pytest.mark.parametrize(
    "path", ["/v1/embeddings", "/embeddings", "/openai/deployments/d/embeddings"]
)
def test_paths_that_end_so_are_the_operations(path: str) -> None:
    assert find_operation(path, OPERATIONS) is OPERATION


def planned(policy: Policy | None = None, /, **members: Json) -> Lookup:
    body: JsonObject = {"model": "e1", "input": "Why?"}
    rules = Rules(1, (Pool("u", "http://127.0.0.1:9"),), policy or Policy())
    asked = request(body | members, target="/v1/embeddings")
    plan = classify(asked, rules, OPERATIONS, SECRET)
    assert isinstance(plan, Lookup)
    return plan


@pytest.mark.parametrize(
    "members",
    [
        {"user": "u1"},
        {"metadata": {"a": "b"}},
        {"safety_identifier": "s"},
        {"prompt_cache_key": "p"},
        {"service_tier": "flex"},
        {"stream": False},
        {"stream_options": None},
    ],
)
def test_members_that_cannot_change_a_vector_do_not_count(members: JsonObject) -> None:
    assert planned(**members).key == planned().key


@pytest.mark.parametrize(
    "members",
    [
        {"input": ["Why?"]},
        {"input": "why?"},
        {"input": "Why? "},
        {"model": "e2"},
        {"encoding_format": "float"},
        {"dimensions": 256},
        {"input_type": "query"},
        {"truncate": "END"},
    ],
)
def test_members_that_may_change_a_vector_count(members: JsonObject) -> None:
    assert planned(**members).key.exact != planned().key.exact


def test_vectors_are_deterministic_without_a_temperature() -> None:
    assert planned(Policy(deterministic_only=True)).key == planned().key


def test_the_order_of_a_batch_counts() -> None:
    assert planned(input=["a", "b"]).key.exact != planned(input=["b", "a"]).key.exact


@pytest.mark.parametrize("asked", INPUTS)
def test_nothing_is_compared_by_meaning(asked: Json) -> None:
    plan = planned(input=asked)
    assert (plan.text, plan.uncompared) == ("", Uncompared.FORM)
