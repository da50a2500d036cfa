import orjson
import pytest

from proxy.core.wire.operation import Json, JsonObject
from proxy.core.wire.operations.chat import OPERATION
from proxy.core.wire.sse import encode
from tests.core.wire.streams import (
    DONE,
    chunk,
    chunks_of,
    delta,
    frames_of,
    frames_of_bytes,
    read,
    without,
)

USAGE: JsonObject = {"prompt_tokens": 3, "completion_tokens": 1}
OPENING = chunk(delta(role="assistant", content=""))
TEXT = chunk(delta(content="好"))
END = chunk(delta(finish_reason="stop"))
CHOICE: JsonObject = {
    "index": 0,
    "message": {"role": "assistant", "content": "好"},
    "finish_reason": "stop",
}
DOCUMENT: JsonObject = chunk() | {"object": "chat.completion", "choices": [CHOICE]}


def document_of(*chunks: Json, end: bytes = DONE) -> JsonObject | None:
    text = OPERATION.to_document(frames_of(*chunks, end=end))
    return None if text is None else read(text)


def test_a_stream_gives_the_document_with_the_usual_members_first() -> None:
    document = document_of(OPENING, TEXT, END, chunk(usage=USAGE, x_vendor={"a": 0}))
    assert document == DOCUMENT | {"usage": USAGE, "x_vendor": {"a": 0}}
    assert list(document) == ["id", "object", "created", "model", "choices", "usage", "x_vendor"]


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        ([OPENING | {"usage": USAGE}, TEXT, END], USAGE),
        ([OPENING, TEXT, END | {"usage": USAGE}], USAGE),
        ([OPENING | {"usage": {"prompt_tokens": 1}}, TEXT | {"usage": USAGE}, END], USAGE),
        ([OPENING, TEXT, END, {"usage": USAGE}], USAGE),
    ],
)
def test_usage_is_the_last_one_told(chunks: list[Json], usage: JsonObject) -> None:
    assert document_of(*chunks) == DOCUMENT | {"usage": usage}


def test_usage_that_is_null_only_does_not_appear() -> None:
    assert document_of(OPENING | {"usage": None}, TEXT, END | {"usage": None}) == DOCUMENT


def test_members_of_the_chunks_are_the_last_ones_told() -> None:
    azure: JsonObject = {"id": "", "object": "", "created": 0, "model": ""}
    azure |= {"choices": [], "prompt_filter_results": [{}]}
    ends = [END | {"created": 1700000002}, chunk(created=1700000003)]
    chunks = [azure, OPENING, TEXT, *ends]
    assert document_of(*chunks) == DOCUMENT | {
        "created": 1700000003,
        "prompt_filter_results": [{}],
    }


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [chunk()],
        [OPENING, TEXT],
        [OPENING, TEXT, END, chunk(delta(content="more"))],
        [OPENING, TEXT, END, chunk(delta(tool_calls=[{"index": 0}]))],
        [OPENING, TEXT, END, chunk(delta() | {"logprobs": {"content": [1]}})],
        [OPENING, TEXT, END, chunk(delta() | {"token_ids": [1]})],
        [OPENING, TEXT, END, chunk(delta(finish_reason="length"))],
        [OPENING, TEXT, END, chunk(delta(2, content="a", finish_reason="stop"))],
        [OPENING, TEXT, END, chunk(delta(-1, content="a", finish_reason="stop"))],
        [OPENING, TEXT, END, chunk(7)],
        [OPENING, TEXT, END, chunk({"delta": {}})],
        [OPENING, TEXT, END, chunk({"delta": {}, "index": True})],
        [OPENING, TEXT, END, chunk() | {"choices": {}}],
        [OPENING, TEXT, END, {"type": "ping"}],
        [OPENING, TEXT, END, {"choices": None}],
        [OPENING, TEXT, END, {"error": {"message": "late"}}],
        [OPENING, TEXT, END, [1]],
        [OPENING, TEXT, END, chunk(object="chat.completion")],
        [one | {"object": "text_completion"} for one in (OPENING, TEXT, END)],
        [without(one, ["object"]) for one in (OPENING, TEXT, END)],
        [OPENING, TEXT, END, chunk(citations=["a"]), chunk(citations=["b"])],
    ],
)
def test_a_stream_that_is_incomplete_or_unclear_gives_no_document(chunks: list[Json]) -> None:
    assert document_of(*chunks) is None


@pytest.mark.parametrize(
    "more",
    [
        b"event: note\ndata: {}\n\n",
        b"event: error\n\n",
        encode('{"choices":[],"seed":12345678901234567890123}'),
        encode('{"choices":[],"x":NaN}'),
        encode(b'{"choices":[],"x":"\xff"}'),
        encode('{"choices":[],"x":' + "[" * 400 + "]" * 400 + "}"),
        2 * encode('{"choices":[],"x":' + "[" * 1000 + "]" * 1000 + "}"),
    ],
)
def test_a_frame_that_could_not_be_told_without_loss_gives_no_document(more: bytes) -> None:
    body = b"".join(encode(orjson.dumps(one)) for one in (OPENING, TEXT, END))
    assert OPERATION.to_document(frames_of_bytes(body + DONE)) is not None
    assert OPERATION.to_document(frames_of_bytes(body + more + DONE)) is None


def test_a_stream_cut_before_its_end_gives_no_document() -> None:
    assert document_of(OPENING, TEXT, END, end=b"") is None
    assert document_of(OPENING, TEXT, END, end=DONE + encode("{}")) is None


def test_a_silent_chunk_after_the_end_is_no_contradiction() -> None:
    label: JsonObject = {"content_filter_results": {"hate": {"filtered": False}}}
    after = chunk(delta(role="assistant", content="") | label, usage=USAGE)
    assert document_of(OPENING, TEXT, END, after) == DOCUMENT | {
        "choices": [CHOICE | label],
        "usage": USAGE,
    }


def test_choices_come_in_the_order_of_their_index() -> None:
    second = delta(1, role="assistant", content="坏", finish_reason="length")
    document = document_of(chunk(second), OPENING, TEXT, END)
    assert document is not None
    assert [read(orjson.dumps(one))["finish_reason"] for one in choices_of(document)] == [
        "stop",
        "length",
    ]


def choices_of(document: JsonObject) -> list[Json]:
    choices = document["choices"]
    assert isinstance(choices, list)
    return choices


def test_members_of_a_document_are_spread_over_its_stream() -> None:
    document = DOCUMENT | {
        "choices": [CHOICE, CHOICE | {"index": 1}],
        "usage": USAGE,
        "system_fingerprint": "fp_1",
        "service_tier": None,
        "timings": {"n": 1},
    }
    *others, last, usage = chunks_of(OPERATION.to_stream(document, include_usage=True))
    envelope = without(document, ["choices", "usage", "timings"]) | {
        "object": "chat.completion.chunk"
    }
    assert all(without(one, ["choices"]) == envelope for one in others)
    assert without(last, ["choices"]) == envelope | {"timings": {"n": 1}}
    assert usage == envelope | {"choices": [], "usage": USAGE}


@pytest.mark.parametrize(
    ("document", "include_usage"),
    [
        (DOCUMENT, True),
        (DOCUMENT | {"usage": None}, True),
        (DOCUMENT | {"usage": 7}, False),
        (DOCUMENT | {"object": "text_completion"}, False),
        (DOCUMENT | {"error": {"message": "no"}}, False),
        (without(DOCUMENT, ["object"]), False),
        (without(DOCUMENT, ["choices"]), False),
        (DOCUMENT | {"choices": []}, False),
        (DOCUMENT | {"choices": {"0": CHOICE}}, False),
        (DOCUMENT | {"choices": [CHOICE, "a"]}, False),
        (DOCUMENT | {"choices": [CHOICE | {"index": 1}]}, False),
        (DOCUMENT | {"choices": [CHOICE | {"index": False}]}, False),
        (DOCUMENT | {"choices": [without(CHOICE, ["index"])]}, False),
        (DOCUMENT | {"choices": [CHOICE | {"finish_reason": None}]}, False),
        (DOCUMENT | {"choices": [CHOICE | {"finish_reason": ""}]}, False),
        (DOCUMENT | {"choices": [CHOICE | {"delta": {}}]}, False),
    ],
)
def test_a_document_of_another_form_is_not_spread(
    document: JsonObject, include_usage: bool
) -> None:
    assert OPERATION.to_stream(document, include_usage=include_usage) is None


def test_a_document_that_is_too_deep_is_not_spread() -> None:
    deep = orjson.loads("[" * 600 + "]" * 600)
    assert OPERATION.to_stream(DOCUMENT | {"x": deep}, include_usage=False) is None


def test_the_usage_chunk_alone_is_left_out_and_no_other_byte() -> None:
    before = b": ping\n\n" + encode(orjson.dumps(OPENING | {"usage": None}))
    between = b'data: {"choices":[ ],"x":1}\r\n\r\n' + encode(orjson.dumps(END)) + b":\r\r"
    usage = b"id: 7\n" + encode(orjson.dumps(chunk(usage=USAGE)))
    frames = frames_of_bytes(before + usage + between + usage + DONE)
    assert OPERATION.without_usage(frames) == before + between + DONE


def test_a_stream_without_usage_stays_as_it_is() -> None:
    frames = frames_of(OPENING, TEXT, END)
    assert OPERATION.without_usage(frames) == b"".join(frame.raw for frame in frames)


@pytest.mark.parametrize(
    "odd",
    [
        TEXT | {"usage": USAGE},
        {"usage": USAGE},
        {"usage": USAGE, "choices": None},
        {"error": "late"},
        "text",
    ],
)
def test_usage_that_rides_on_another_chunk_cannot_be_left_out(odd: Json) -> None:
    assert OPERATION.without_usage(frames_of(OPENING, odd, END, chunk(usage=USAGE))) is None
