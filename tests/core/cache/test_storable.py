"""What may be stored: whole answers, and nothing else (B16, B23, B24, B29)."""

import gzip
from typing import Any

import orjson
import pytest

from proxy.core.cache.storable import DoNotStore, Store, Unstorable, Verdict, shape_of, storable
from proxy.core.model import Shape
from proxy.core.wire.headers import by_name
from proxy.core.wire.operation import Json, JsonObject, Operation
from proxy.core.wire.sse import encode
from tests.core.values import CHAT, COMPLETIONS, EMBEDDINGS, wire_fields
from tests.core.wire.streams import DONE, chunk, delta

JSON_TYPE = ("Content-Type", "application/json")
LIMIT = 1 << 20
CALL: JsonObject = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def head(
    *fields: tuple[str, str], status: int = 200, is_shared: bool = False
) -> Shape | DoNotStore:
    return shape_of(status, by_name(wire_fields(*fields)), is_shared=is_shared)


def judge(
    body: bytes,
    shape: Shape,
    operation: Operation = CHAT,
    coding: bytes | None = None,
    max_bytes: int = LIMIT,
    items: int | None = None,
) -> Verdict:
    return storable(operation, shape, coding, body, max_bytes=max_bytes, items=items)


def reason_of(verdict: Verdict | Shape | DoNotStore) -> Unstorable | None:
    return verdict.reason if isinstance(verdict, DoNotStore) else None


def stream(*chunks: Json) -> bytes:
    return b"".join(encode(orjson.dumps(item)) for item in chunks)


def document(*choices: Json, **members: Json) -> bytes:
    usual: JsonObject = {"id": "a", "object": "chat.completion", "model": "m1"}
    return orjson.dumps(usual | {"choices": list(choices)} | members)


def choice(reason: Json = "stop", index: int = 0, **message: Json) -> JsonObject:
    said: JsonObject = {"role": "assistant", "content": "答案"}
    return {"index": index, "message": said | message, "finish_reason": reason}


STATUSES = [100, 201, 202, 203, 204, 206, 301, 302, 304, 307, 400, 401, 403, 404, 408, 409, 413]
STATUSES += [418, 422, 425, 429, 451, 500, 501, 502, 503, 504, 529, 599, 0]


@pytest.mark.parametrize("status", STATUSES)
def test_only_status_200_is_stored(status: int) -> None:
    assert head(JSON_TYPE, status=status) == DoNotStore(Unstorable.STATUS)
    assert head(JSON_TYPE) is Shape.JSON


@pytest.mark.parametrize(
    ("content_type", "shape"),
    [
        ("application/json", Shape.JSON),
        ("Application/JSON; charset=utf-8", Shape.JSON),
        ("text/event-stream", Shape.SSE),
        ("text/event-stream;charset=UTF-8", Shape.SSE),
        ("text/html", None),
        ("application/x-ndjson", None),
        ("application/problem+json", None),
        ("application/json, text/html", None),
        ("", None),
    ],
)
def test_the_media_type_tells_the_shape(content_type: str, shape: Shape | None) -> None:
    expected = shape or DoNotStore(Unstorable.CONTENT_TYPE)
    assert head(("content-type", content_type)) == expected


def test_an_answer_without_a_clear_media_type_is_not_stored() -> None:
    refused = DoNotStore(Unstorable.CONTENT_TYPE)
    assert head() == refused
    assert head(JSON_TYPE, JSON_TYPE) == refused
    assert head(JSON_TYPE, ("Connection", "close, Content-Type")) == refused


@pytest.mark.parametrize(
    ("values", "is_shared", "is_stored"),
    [
        (["no-store"], False, False),
        (["No-Store"], False, False),
        (["no-cache", "max-age=0, no-store"], False, False),
        (["no-cache"], True, True),
        (["private"], False, True),
        (["private"], True, False),
        (["max-age=1", "Private"], True, False),
        (["public, max-age=0"], True, True),
    ],
)
def test_the_upstream_s_no_store_and_private_are_honoured(
    values: list[str], is_shared: bool, is_stored: bool
) -> None:
    fields = [("Cache-Control", value) for value in values]
    verdict = head(JSON_TYPE, *fields, is_shared=is_shared)
    assert verdict == (Shape.JSON if is_stored else DoNotStore(Unstorable.NO_STORE))


@pytest.mark.parametrize(
    ("vary", "is_shared", "is_stored"),
    [
        ("Origin", True, True),
        ("accept-encoding, ORIGIN", False, True),
        ("Authorization", False, True),
        ("Authorization", True, False),
        ("Origin, Accept-Language", False, False),
        ("*", False, False),
    ],
)
def test_what_varies_by_a_field_that_is_not_in_the_key_is_not_stored(
    vary: str, *, is_shared: bool, is_stored: bool
) -> None:
    verdict = head(JSON_TYPE, ("Vary", vary), is_shared=is_shared)
    assert verdict == (Shape.JSON if is_stored else DoNotStore(Unstorable.VARY))


WHOLE: list[tuple[bytes, Shape]] = [
    (document(choice()), Shape.JSON),
    (document(choice("tool_calls", content=None, tool_calls=[CALL])), Shape.JSON),
    (document(choice("function_call", content=None, function_call={"name": "f"})), Shape.JSON),
    (document(choice(content=None, refusal="no")), Shape.JSON),
    (document(choice(), choice("tool_calls", 1)), Shape.JSON),
    (document(choice(), usage={"completion_tokens": 5}, x=None, error=None), Shape.JSON),
    (stream(chunk(delta(content="a")), chunk(delta(finish_reason="stop"))) + DONE, Shape.SSE),
    (
        b": ping\n\n" + stream(chunk(delta(content="a", finish_reason="stop"))) + DONE + b": b\n\n",
        Shape.SSE,
    ),
    (
        stream(
            chunk(delta(tool_calls=[{"index": 0} | CALL])), chunk(delta(finish_reason="tool_calls"))
        )
        + DONE,
        Shape.SSE,
    ),
]


@pytest.mark.parametrize(("body", "shape"), WHOLE)
def test_a_whole_answer_is_stored_as_it_was_received(body: bytes, shape: Shape) -> None:
    verdict = judge(body, shape)
    assert isinstance(verdict, Store)
    assert (verdict.shape, verdict.body) == (shape, body)


def test_stop_at_the_very_limit_of_tokens_is_whole() -> None:
    body = document(choice(), usage={"prompt_tokens": 2, "completion_tokens": 5})
    verdict = judge(body, Shape.JSON)
    assert isinstance(verdict, Store)
    assert (verdict.answer.prompt_tokens, verdict.answer.completion_tokens) == (2, 5)


FAILED = orjson.dumps({"error": {"message": "overloaded", "type": "server_error"}})
SAID = stream(chunk(delta(content="a")), chunk(delta(finish_reason="stop")))
FRAGMENT = stream(chunk(delta(content="a")), chunk(delta(content="b")))

ERRORS: list[tuple[Unstorable, bytes, Shape]] = [
    (Unstorable.ERROR, b"data: " + FAILED + b"\n\n" + DONE, Shape.SSE),
    (Unstorable.ERROR, FRAGMENT + b"data: " + FAILED + b"\n\n", Shape.SSE),
    (Unstorable.ERROR, SAID + b"data: " + FAILED + b"\n\n" + DONE, Shape.SSE),
    (Unstorable.ERROR, FRAGMENT + b"error: " + FAILED + b"\n\n", Shape.SSE),
    (Unstorable.ERROR, SAID + b"error: " + FAILED + b"\n\n" + DONE, Shape.SSE),
    (Unstorable.ERROR, SAID + b"event: error\ndata: {}\n\n" + DONE, Shape.SSE),
    (Unstorable.ERROR, SAID + DONE + SAID, Shape.SSE),
    (Unstorable.ERROR, SAID + b"data: {not json\n\n" + DONE, Shape.SSE),
    (Unstorable.ERROR, FAILED, Shape.JSON),
    (Unstorable.ERROR, document(choice(), error={"message": "half"}), Shape.JSON),
    (Unstorable.ERROR, orjson.dumps({"object": "error", "message": "m"}), Shape.JSON),
    (Unstorable.EMPTY, document(), Shape.JSON),
    (Unstorable.EMPTY, b"{}", Shape.JSON),
    (Unstorable.EMPTY, document(choices=None), Shape.JSON),
    (Unstorable.EMPTY, document(choice(content="")), Shape.JSON),
    (Unstorable.EMPTY, document(choice(content=None, tool_calls=[])), Shape.JSON),
    (Unstorable.EMPTY, document(choice(), choice(index=1, content="")), Shape.JSON),
    (Unstorable.EMPTY, stream(chunk(delta(finish_reason="stop"))) + DONE, Shape.SSE),
    (Unstorable.EMPTY, stream(chunk()) + DONE, Shape.SSE),
    (Unstorable.EMPTY, DONE, Shape.SSE),
    (Unstorable.CUT, SAID, Shape.SSE),
    (Unstorable.CUT, FRAGMENT, Shape.SSE),
    (Unstorable.CUT, b"", Shape.SSE),
    (Unstorable.CUT, b": ping\n\n", Shape.SSE),
    (Unstorable.CUT, SAID + DONE[:-1], Shape.SSE),
    (Unstorable.CUT, SAID + DONE + b"data: {", Shape.SSE),
    (Unstorable.UNREADABLE, b"", Shape.JSON),
    (Unstorable.UNREADABLE, document(choice())[:-1], Shape.JSON),
    (Unstorable.UNREADABLE, document(choice()) + b"{}", Shape.JSON),
    (Unstorable.UNREADABLE, b"[]", Shape.JSON),
    (Unstorable.UNREADABLE, b'"stop"', Shape.JSON),
    (Unstorable.UNREADABLE, b"[" * 100_000, Shape.JSON),
    (Unstorable.UNREADABLE, b"<html>", Shape.JSON),
]


@pytest.mark.parametrize(("reason", "body", "shape"), ERRORS)
def test_an_answer_that_failed_in_any_way_is_not_stored(
    reason: Unstorable, body: bytes, shape: Shape
) -> None:
    assert reason_of(judge(body, shape)) is reason


CUT: list[Any] = ["length", "content_filter", None, "", "error", "max_tokens", "Stop", 1, ["stop"]]


@pytest.mark.parametrize("reason", CUT)
def test_an_answer_that_did_not_finish_is_not_stored(reason: Json) -> None:
    refused = Unstorable.FINISH_REASON
    said = delta(content="答")
    bodies = [
        (document(choice(reason)), Shape.JSON),
        (document(choice(), choice(reason, 1)), Shape.JSON),
        (stream(chunk(said), chunk(delta(finish_reason=reason))) + DONE, Shape.SSE),
        (
            stream(
                chunk(said),
                chunk(delta(1, content="b", finish_reason="stop")),
                chunk(delta(finish_reason=reason)),
            )
            + DONE,
            Shape.SSE,
        ),
    ]
    assert [reason_of(judge(body, shape)) for body, shape in bodies] == [refused] * 4


def test_a_choice_that_is_missing_or_finished_twice_is_not_stored() -> None:
    gap = stream(chunk(delta(1, content="b", finish_reason="stop"))) + DONE
    twice = (
        stream(
            chunk(delta(content="a", finish_reason="length")), chunk(delta(finish_reason="stop"))
        )
        + DONE
    )
    assert reason_of(judge(gap, Shape.SSE)) is Unstorable.FINISH_REASON
    assert reason_of(judge(twice, Shape.SSE)) is Unstorable.FINISH_REASON


def text(words: str, reason: Json, index: int = 0) -> JsonObject:
    return {"index": index, "text": words, "finish_reason": reason}


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ([text("a", "stop")], None),
        ([text("a", "stop"), text("b", "stop", 1)], None),
        ([text("a", "length")], Unstorable.FINISH_REASON),
        ([text("a", "stop"), text("b", "length", 1)], Unstorable.FINISH_REASON),
        ([text("", "stop")], Unstorable.EMPTY),
        ([], Unstorable.EMPTY),
    ],
)
def test_completions_are_judged_alike(choices: list[Json], reason: Unstorable | None) -> None:
    body = orjson.dumps({"object": "text_completion", "choices": choices})
    assert reason_of(judge(body, Shape.JSON, COMPLETIONS)) is reason
    told = b"data: " + body + b"\n\n" + DONE
    assert reason_of(judge(told, Shape.SSE, COMPLETIONS)) is reason


def test_a_coded_body_is_stored_plain() -> None:
    body = document(choice())
    verdict = judge(gzip.compress(body), Shape.JSON, coding=b"gzip")
    assert isinstance(verdict, Store)
    assert verdict.body == body


@pytest.mark.parametrize("coding", [b"br", b"zstd", b"gzip, gzip", b"unknown"])
def test_a_body_in_a_coding_that_we_cannot_read_is_not_stored(coding: bytes) -> None:
    body = gzip.compress(document(choice()))
    assert reason_of(judge(body, Shape.JSON, coding=coding)) is Unstorable.CONTENT_CODING


def test_a_body_over_the_limit_is_not_stored() -> None:
    body = document(choice())
    assert reason_of(judge(body, Shape.JSON, max_bytes=len(body))) is None
    assert reason_of(judge(body, Shape.JSON, max_bytes=len(body) - 1)) is Unstorable.TOO_LARGE
    large = document(choice(content="a" * 10_000))
    bomb = judge(gzip.compress(large), Shape.JSON, coding=b"gzip", max_bytes=1000)
    assert reason_of(bomb) is Unstorable.CONTENT_CODING


@pytest.mark.parametrize(
    ("asked", "given", "reason"), [(2, 2, None), (3, 2, "items"), (1, 2, "items")]
)
def test_an_answer_has_as_many_items_as_were_asked_for(
    asked: int, given: int, reason: str | None
) -> None:
    data: list[Json] = [{"index": index, "embedding": [0.5]} for index in range(given)]
    verdict = judge(orjson.dumps({"data": data}), Shape.JSON, EMBEDDINGS, items=asked)
    assert reason_of(verdict) == reason
