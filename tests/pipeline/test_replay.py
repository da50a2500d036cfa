"""A stored response in the shape that is asked for (A4, B13)."""

from dataclasses import replace

import orjson
import pytest

from proxy.core.cache.value import StoredResponse
from proxy.core.model import Response, Shape
from proxy.pipeline.replay import THREAD_ABOVE_BYTES, replay
from proxy.store.memory import MemoryStore
from tests.core.values import stored_response
from tests.fakes.answers import DONE, chat_answer, chat_stream, usage
from tests.pipeline.plans import plan

USAGE = {"include_usage": True}
HEAD = b"content-type: text/event-stream\r\nx-cache-entry: e\r\n"
FRAMES = chat_stream(["un", " 二"])
FULL = chat_stream(["un", " 二"], usage=usage())


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(max_bytes=1 << 24, max_entries=100, max_entry_bytes=1 << 24)


def stream(frames: list[bytes], stream_options: bytes = b"") -> StoredResponse:
    return stored_response(
        shape=Shape.SSE, body=b"".join(frames), head=HEAD, stream_options=stream_options
    )


def document(text: str = "un 二") -> StoredResponse:
    return stored_response(
        body=orjson.dumps(chat_answer(text)),
        head=b"Content-Type: application/json; charset=utf-8\r\nx-cache-entry: e\r\n",
    )


def whole(response: Response | None) -> bytes:
    assert response is not None
    assert isinstance(response.body, bytes)
    assert (response.status, response.length) == (200, len(response.body))
    return response.body


async def test_the_recorded_shape_is_the_recorded_bytes(store: MemoryStore) -> None:
    for stored, asked in [(stream(FRAMES), plan(stream=True)), (document(), plan())]:
        response = await replay(stored, asked, store)
        assert whole(response) is stored.body
        assert response is not None
        assert response.head == stored.head
        assert response.is_event_stream == (stored.shape is Shape.SSE)
        assert stored.derived is None


@pytest.mark.parametrize("frames", [FRAMES, FULL])
async def test_a_stream_answers_a_question_for_json(
    store: MemoryStore, frames: list[bytes]
) -> None:
    options = orjson.dumps(USAGE) if frames is FULL else b""
    response = await replay(stream(frames, options), plan(), store)
    answer = orjson.loads(whole(response))
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["content"] == "un 二"
    assert (answer.get("usage") is not None) == (frames is FULL)
    assert response is not None
    assert response.head == b"Content-Type: application/json\r\nx-cache-entry: e\r\n"
    assert not response.is_event_stream


@pytest.mark.parametrize("options", [None, USAGE])
async def test_a_document_answers_a_question_for_a_stream(
    store: MemoryStore, options: dict[str, bool] | None
) -> None:
    response = await replay(document(), plan(stream=True, stream_options=options or {}), store)
    body = whole(response)
    assert body.endswith(DONE)
    assert body.count(DONE) == 1
    assert (b'"usage":{' in body.replace(b" ", b"")) == bool(options)
    assert response is not None
    assert response.is_event_stream
    assert response.head.startswith(b"Content-Type: text/event-stream")


async def test_usage_is_left_out_for_who_did_not_ask_for_it(store: MemoryStore) -> None:
    stored = stream(FULL, orjson.dumps(USAGE))
    response = await replay(stored, plan(stream=True), store)
    assert whole(response) == b"".join(FRAMES)
    response = await replay(stored, plan(stream=True, stream_options=USAGE), store)
    assert whole(response) == b"".join(FULL)


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [({}, USAGE), ({}, {"x": 1}), ({"x": 1}, {}), ({"x": 1}, {"x": 2}), (USAGE, USAGE | {"x": 1})],
)
async def test_a_stream_with_other_options_is_not_given(
    store: MemoryStore, recorded: dict[str, object], asked: dict[str, object]
) -> None:
    stored = stream(FRAMES, orjson.dumps(recorded) if recorded else b"")
    assert await replay(stored, plan(stream=True, stream_options=asked), store) is None


async def test_what_cannot_be_converted_is_tried_once(store: MemoryStore) -> None:
    odd = chat_stream(["a"])
    odd.insert(1, b'data: {"choices": [{"index": 0, "delta": "?"}]}\n\n')
    stored = stream(odd)
    assert await replay(stored, plan(), store) is None
    assert stored.derived == {(Shape.JSON, False): b""}
    assert await replay(stored, plan(), store) is None


async def test_the_other_shape_is_made_once_and_counted(store: MemoryStore) -> None:
    stored = document()
    store.put(stored)
    before = store.size_bytes
    first = whole(await replay(stored, plan(stream=True), store))
    assert store.size_bytes == before + len(first)
    assert whole(await replay(stored, plan(stream=True), store)) is first
    assert store.size_bytes == before + len(first)


async def test_what_was_replaced_meanwhile_is_not_stored_again(store: MemoryStore) -> None:
    stored = document()
    newer = replace(stored, body=b"{}")
    store.put(newer)
    assert whole(await replay(stored, plan(stream=True), store)).endswith(DONE)
    assert store.get(stored.key) is newer


async def test_a_large_body_is_converted_too(store: MemoryStore) -> None:
    text = "长 " * THREAD_ABOVE_BYTES
    response = await replay(document(text), plan(stream=True), store)
    assert whole(response).endswith(DONE)
