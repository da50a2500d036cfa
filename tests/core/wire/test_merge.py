import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.wire.merge import Manner, MergeError, merge, merge_calls, merge_objects
from proxy.core.wire.operation import Json, JsonObject

SPOKEN, STATED, LISTED, LATEST = Manner.SPOKEN, Manner.STATED, Manner.LISTED, Manner.LATEST

scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(-1, 1), st.text(max_size=4)
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values, st.sampled_from(Manner), st.integers(0, 2), st.integers(0, 2))
def test_what_is_said_once_is_kept_and_null_does_not_erase(
    value: Json, manner: Manner, before: int, after: int
) -> None:
    assert merge([None] * before + [value] + [None] * after, "x", manner) == value


@given(st.lists(st.text(max_size=5), min_size=1, max_size=9), st.booleans())
def test_the_fragments_of_a_known_text_are_joined(pieces: list[str], has_nulls: bool) -> None:
    said = [part for piece in pieces for part in ((None, piece) if has_nulls else (piece,))]
    assert merge(said, "reasoning_content", SPOKEN) == "".join(pieces)


@given(st.lists(values, max_size=6), st.sampled_from(Manner))
def test_any_values_are_merged_or_refused(said: list[Json], manner: Manner) -> None:
    try:
        merged = merge(said, "x", manner)
    except MergeError:
        return
    assert (merged is None) == all(value is None for value in said)


@pytest.mark.parametrize(
    ("manner", "name", "said", "merged"),
    [
        (SPOKEN, "content", ["", "He", "", "llo"], "Hello"),
        (SPOKEN, "content", ["", ""], ""),
        (SPOKEN, "content", ["ha", "ha"], "haha"),
        (SPOKEN, "x_note", ["go", "od"], "good"),
        (SPOKEN, "x_note", ["", "好", ""], "好"),
        (SPOKEN, "role", ["assistant", "assistant"], "assistant"),
        (SPOKEN, "type", ["function", ""], "function"),
        (SPOKEN, "name", ["look", "look"], "look"),
        (SPOKEN, "name", ["get_", "weather"], "get_weather"),
        (SPOKEN, "data", ["QUJD", "RA=="], "QUJDRA=="),
        (SPOKEN, "arguments", ['{"a"', ":1", "}"], '{"a":1}'),
        (SPOKEN, "arguments", ["{}"], "{}"),
        (SPOKEN, "arguments", [{"a": "b"}, {"a": "b"}], {"a": "b"}),
        (SPOKEN, "x", [1, 1], 1),
        (SPOKEN, "x", [{"a": 0}, {"b": None}], {"a": 0, "b": None}),
        (SPOKEN, "x", [[], [1, 2], []], [1, 2]),
        (SPOKEN, "x", [[], []], []),
        (SPOKEN, "token_ids", [[5], [5], [6]], [5, 5, 6]),
        (SPOKEN, "annotations", [[{"a": 1}], [{"a": 1}]], [{"a": 1}, {"a": 1}]),
        (
            SPOKEN,
            "reasoning_details",
            [
                [{"index": 1, "text": "b", "type": "t"}],
                [{"index": 0, "text": "a", "type": "t"}, {"index": 1, "text": "c", "type": "t"}],
            ],
            [{"index": 0, "text": "a", "type": "t"}, {"index": 1, "text": "bc", "type": "t"}],
        ),
        (STATED, "stop_reason", [None, 2, 2], 2),
        (STATED, "finish_reason", ["", "stop", "stop"], "stop"),
        (STATED, "x", [{"hate": {"severity": "safe"}}] * 2, {"hate": {"severity": "safe"}}),
        (STATED, "x", [[1], [1]], [1]),
        (LISTED, "logprobs", [{"content": [1]}, {"content": [1]}], {"content": [1, 1]}),
        (LISTED, "logprobs", [{"a": None, "b": []}, {"a": [None]}], {"a": [None], "b": []}),
        (LATEST, "created", [1, 2], 2),
        (LATEST, "id", ["a", "b", ""], "b"),
        (LATEST, "is_cached", [True, False], False),
        (LATEST, "usage", [{"a": 1, "b": 2}, {"a": 3}], {"a": 3}),
        (LATEST, "x_groq", [{"id": "r"}, {"id": "r", "n": 1}], {"id": "r", "n": 1}),
        (LATEST, "citations", [["a"], ["a", "b"]], ["a", "b"]),
    ],
)
def test_fragments_make_a_whole(manner: Manner, name: str, said: list[Json], merged: Json) -> None:
    assert merge(said, name, manner) == merged


@pytest.mark.parametrize(
    ("manner", "name", "said"),
    [
        (SPOKEN, "content", ["text", {"type": "text"}]),
        (SPOKEN, "content", [[{"text": "a"}], [{"text": "b"}]]),
        (SPOKEN, "x_label", ["draft", "draft"]),
        (SPOKEN, "x_label", ["draft", "draft", "final"]),
        (SPOKEN, "role", ["assistant", "tool"]),
        (SPOKEN, "channel", ["analysis", "final"]),
        (SPOKEN, "name", ["get_", "get_weather"]),
        (SPOKEN, "name", ["a", "b", "a"]),
        (SPOKEN, "data", ["QQ==", "QUJD"]),
        (SPOKEN, "arguments", ['{"a":1}', '{"b":2}']),
        (SPOKEN, "arguments", [{"a": 1}, {"b": 2}]),
        (SPOKEN, "x", [1, 2]),
        (SPOKEN, "x", [1, True]),
        (SPOKEN, "x", [1, 1.0]),
        (SPOKEN, "x", [[1], [2]]),
        (SPOKEN, "x", [[{"a": 1}], [{"index": 0}]]),
        (SPOKEN, "x", [[{"index": 0}, {"index": 0}], [{"index": 0}]]),
        (SPOKEN, "x", [[{"index": "0"}], [{"index": 0}]]),
        (SPOKEN, "x", [[{"index": True}], [{"index": 0}]]),
        (SPOKEN, "x", [[{"index": -1}], [{"index": 0}]]),
        (SPOKEN, "x", [[{"index": 0, "type": "a"}], [{"index": 0, "type": "b"}]]),
        (STATED, "stop_reason", ["a", "b"]),
        (STATED, "x", [[1], [2]]),
        (LISTED, "logprobs", [{"content": [1]}, [1]]),
        (LISTED, "logprobs", [{"x": "a"}, {"x": "b"}]),
        (LATEST, "citations", [["a"], ["b"]]),
        (LATEST, "x", ["a", {}]),
    ],
)
def test_what_is_unclear_is_refused(manner: Manner, name: str, said: list[Json]) -> None:
    with pytest.raises(MergeError):
        merge(said, name, manner)


def test_members_come_in_the_order_of_their_first_appearance() -> None:
    merged = merge_objects([{"b": None}, {"a": "x"}, {"b": "y"}], SPOKEN)
    assert list(merged.items()) == [("b", "y"), ("a", "x")]


def call(name: str = "", arguments: str = "", **members: Json) -> JsonObject:
    function: JsonObject = {"name": name, "arguments": arguments}
    return {"function": function, **members}


@pytest.mark.parametrize(
    ("lists", "calls"),
    [
        ([], []),
        ([None, []], []),
        (
            [
                [call("f", "", index=0, id="a", type="function")],
                [call("g", "", index=1, id="b", type="function")],
                [call("", '{"x"', index=1)],
                [call("", "{}", index=0)],
                [call("", ":1}", index=1)],
            ],
            [
                call("f", "{}", id="a", type="function"),
                call("g", '{"x":1}', id="b", type="function"),
            ],
        ),
        (
            [[call("f", "{}", index=3)], [call("g", "{}", index=1)]],
            [call("g", "{}"), call("f", "{}")],
        ),
        (
            [[call("f", "{}", id="a"), call("f", "{}", id="b")]],
            [call("f", "{}", id="a"), call("f", "{}", id="b")],
        ),
        ([[call("f", "[", id="a")], [call("", "]")]], [call("f", "[]", id="a")]),
        ([[call("f", "[", id="a")], [call("f", "]", id="a")]], [call("f", "[]", id="a")]),
        ([[call("f", "[", id="")], [call("", "]", id=None)]], [call("f", "[]", id="")]),
        ([[{"function": None}], [{"id": "a", "x": 1}]], [{"function": None}, {"id": "a", "x": 1}]),
        ([[{"index": None, "id": "a"}]], [{"id": "a"}]),
    ],
)
def test_fragments_of_calls_make_calls_without_index(
    lists: list[Json], calls: list[JsonObject]
) -> None:
    assert merge_calls(lists) == calls


@pytest.mark.parametrize(
    "lists",
    [
        [{"index": 0}],
        [["f"]],
        [[call("f", "{}", index=0, id="a")], [call("g", "{}", index=0, id="b")]],
        [[call("f", "{}", index=0)], [call("f", "{}", index=0)]],
        [[call("f", "{}", index=0)], [call("g", "{}")]],
        [[call("f", "{}")], [call("g", "{}")]],
        [[call("f", "{}", id=7)]],
        [[call("f", "{}", index=1.5)]],
    ],
)
def test_calls_that_cannot_be_told_apart_are_refused(lists: list[Json]) -> None:
    with pytest.raises(MergeError):
        merge_calls(lists)
