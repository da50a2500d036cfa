import pytest

from proxy.core.wire import answer
from proxy.core.wire.operation import Answer, Json, JsonObject
from proxy.core.wire.sse import Frame, encode
from tests.core.wire.streams import DONE, chunk, delta, frames_of, frames_of_bytes

STOP = delta(content="yes", finish_reason="stop")


def speaks(choice: JsonObject) -> bool:
    said = choice.get("delta", choice.get("message"))
    return isinstance(said, dict) and bool(said.get("content"))


def of_stream(*chunks: Json, end: bytes = DONE) -> Answer:
    recording = answer.read_recording(frames_of(*chunks, end=end))
    return answer.describe_recording(recording, speaks)


def of_document(**members: Json) -> Answer:
    return answer.describe_document(members, speaks)


def choice(index: Json = 0, content: Json = "yes", finish_reason: Json = "stop") -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": content}
    return {"index": index, "message": message, "finish_reason": finish_reason}


def test_a_good_stream_is_described() -> None:
    usage: JsonObject = {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    told = of_stream(
        chunk(delta(role="assistant", content="")),
        chunk(delta(1, content="no")),
        chunk(delta(content="yes")),
        chunk(delta(1, finish_reason="tool_calls"), delta(finish_reason="stop")),
        chunk(usage=usage),
    )
    assert told == Answer(
        model="m1",
        finish_reasons=("stop", "tool_calls"),
        has_error=False,
        is_empty=False,
        is_terminated=True,
        has_usage=True,
        prompt_tokens=7,
        completion_tokens=2,
        cached_tokens=0,
    )


def test_a_good_document_is_described() -> None:
    told = of_document(
        model="m1", choices=[choice(1, finish_reason="length"), choice(0)], usage={}, error=None
    )
    assert told.model == "m1"
    assert told.finish_reasons == ("stop", "length")
    assert not told.has_error
    assert not told.is_empty
    assert told.is_terminated
    assert told.has_usage
    assert told.prompt_tokens is None


@pytest.mark.parametrize(
    "body",
    [
        encode('{"error":{"message":"overloaded"}}') + DONE,
        encode('{"error":""}') + DONE,
        encode('{"object":"error","message":"overloaded"}') + DONE,
        encode('{"choices":[{"index":0,"delta":{},"error":{"code":1}}]}') + DONE,
        b'event: error\ndata: {"code":1}\n\n' + DONE,
        b"event: error\n\n" + DONE,
        b'error: {"code":500}\n\n' + DONE,
        encode("overloaded") + DONE,
        encode("") + DONE,
        encode("[1]") + DONE,
        encode("[" * 3000) + DONE,
        encode('{"choices":[7]}') + DONE,
        encode('{"choices":[{"index":"0"}]}') + DONE,
        encode('{"choices":[{"index":true}]}') + DONE,
        encode('{"choices":[{"index":-1}]}') + DONE,
        encode('{"choices":[{"index":1000000000}]}') + DONE,
        DONE + encode('{"choices":[]}'),
        DONE + DONE,
    ],
)
def test_an_error_or_what_nobody_understands_in_a_stream_is_an_error(body: bytes) -> None:
    recording = answer.read_recording(frames_of_bytes(body))
    assert answer.describe_recording(recording, speaks).has_error


@pytest.mark.parametrize(
    "body",
    [
        encode('{"error":null,"choices":[]}') + DONE,
        encode('{"choices":null}') + DONE,
        encode('{"logprob":-Infinity,"half":"\\ud83d"}') + DONE,
        b": ping\n\n: error\n\n" + DONE + b"\n: bye\n\n",
        b"id: 7\nretry: 10\nevent: message\ndata: {}\n\n" + DONE,
        b"event: ping\ndata: {}\n\n" + DONE,
        encode(" [DONE] "),
    ],
)
def test_what_only_looks_odd_is_no_error(body: bytes) -> None:
    recording = answer.read_recording(frames_of_bytes(body))
    told = answer.describe_recording(recording, speaks)
    assert not told.has_error
    assert told.is_terminated


@pytest.mark.parametrize(
    "members",
    [
        {"error": {"message": "overloaded"}},
        {"error": "overloaded", "choices": [choice()]},
        {"object": "error"},
        {"choices": [choice() | {"error": {"code": 502}}]},
        {"choices": [choice(), choice()]},
        {"choices": [choice(), "yes"]},
        {"choices": [choice("0")]},
        {"choices": {"0": choice()}},
    ],
)
def test_an_error_or_an_unclear_choice_in_a_document_is_an_error(
    members: dict[str, Json],
) -> None:
    assert answer.describe_document(members, speaks).has_error


def test_no_choice_at_all_is_empty_and_no_error() -> None:
    for told in (of_document(choices=[]), of_document(), of_stream(), of_stream(chunk())):
        assert told.is_empty
        assert told.finish_reasons == ()
        assert not told.has_error


def test_one_silent_choice_makes_the_answer_empty() -> None:
    assert of_document(choices=[choice(0), choice(1, content="")]).is_empty
    assert of_stream(chunk(STOP), chunk(delta(1, content="", finish_reason="stop"))).is_empty


def test_a_choice_without_index_is_counted_by_its_place() -> None:
    spoken: JsonObject = {"delta": {"content": "yes"}, "finish_reason": "stop"}
    assert of_stream(chunk(spoken, spoken)).finish_reasons == ("stop", "stop")


@pytest.mark.parametrize(
    ("chunks", "reasons"),
    [
        ([chunk(delta(content="a"))], (None,)),
        ([chunk(delta(content="a", finish_reason=""))], (None,)),
        ([chunk(delta(content="a", finish_reason=7))], (None,)),
        ([chunk(STOP), chunk(delta(finish_reason=None))], ("stop",)),
        ([chunk(STOP), chunk(delta(finish_reason="stop"))], ("stop",)),
        ([chunk(STOP), chunk(delta(finish_reason="length"))], (None,)),
        ([chunk(delta(2, content="a", finish_reason="stop"))], (None, None, "stop")),
    ],
)
def test_a_choice_that_does_not_tell_one_reason_has_none(
    chunks: list[Json], reasons: tuple[str | None, ...]
) -> None:
    assert of_stream(*chunks).finish_reasons == reasons


def test_only_done_ends_a_stream() -> None:
    assert not of_stream(chunk(STOP), end=b"").is_terminated
    assert not of_stream(chunk(STOP), end=b": [DONE]\n\n").is_terminated


def test_the_model_is_the_last_that_was_named() -> None:
    assert of_stream(chunk(model="a"), chunk(model="b"), chunk(model="")).model == "b"
    assert of_stream(chunk(model=7)).model is None


@pytest.mark.parametrize(
    ("members", "counts"),
    [
        ({}, (None, None, None)),
        ({"usage": None}, (None, None, None)),
        ({"usage": {"prompt_tokens": True, "completion_tokens": "9"}}, (None, None, None)),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 0}}, (None, 0, None)),
        (
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": None, "cached_tokens": 4}},
            (9, None, 4),
        ),
        ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 5}}, (9, None, 5)),
        ({"timings": {"cache_n": 40, "prompt_n": 2, "predicted_n": 3}}, (42, 3, 40)),
        ({"timings": {"prompt_n": 2}}, (2, None, None)),
        (
            {"usage": {"prompt_tokens": 50, "completion_tokens": 6}, "timings": {"prompt_n": 2}},
            (50, 6, None),
        ),
    ],
)
def test_tokens_are_counted_by_the_names_that_servers_use(
    members: dict[str, Json], counts: tuple[int | None, int | None, int | None]
) -> None:
    told = of_stream(chunk(STOP, **members))
    assert (told.prompt_tokens, told.completion_tokens, told.cached_tokens) == counts


def test_usage_on_each_chunk_is_not_added_up() -> None:
    chunks = [chunk(STOP, usage={"completion_tokens": count}) for count in (1, 2, 3)]
    assert of_stream(*chunks).completion_tokens == 3


def test_bytes_that_are_not_utf8_do_not_make_an_error() -> None:
    frames = [Frame(b"", '{"choices":[],"x":"\udcff"}'), Frame(b"", "[DONE]")]
    assert not answer.read_recording(frames).has_error
