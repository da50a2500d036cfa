"""Streams for tests, written the way servers write them."""

from collections.abc import Iterable

import orjson

from proxy.core.wire.operation import Json, JsonObject
from proxy.core.wire.sse import Frame, encode, split

DONE = encode("[DONE]")


def chunk(*choices: Json, **members: Json) -> JsonObject:
    """A chunk of a chat stream; members override the usual ones."""
    envelope: JsonObject = {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1700000001,
        "model": "m1",
    }
    return envelope | {"choices": list(choices)} | members


def delta(index: int = 0, /, *, finish_reason: Json = None, **members: Json) -> JsonObject:
    """A choice of a chunk that says these members of the message."""
    return {"index": index, "delta": members, "finish_reason": finish_reason}


def frames_of(*chunks: Json, end: bytes = DONE) -> list[Frame]:
    """The frames of a stream of these chunks."""
    return frames_of_bytes(b"".join(encode(orjson.dumps(item)) for item in chunks) + end)


def frames_of_bytes(body: bytes) -> list[Frame]:
    """The frames of a stream that ends at a boundary."""
    frames, rest = split(body)
    assert rest == b""
    return frames


def bytes_of(frames: Iterable[Frame]) -> bytes:
    """The stream that frames come from."""
    return b"".join(frame.raw for frame in frames)


def chunks_of(body: bytes | None) -> list[JsonObject]:
    """The chunks of a stream that has a `[DONE]` at its end and nowhere else."""
    assert body is not None
    *frames, last = frames_of_bytes(body)
    assert last.data == "[DONE]"
    return [read(frame.data) for frame in frames]


def read(text: str | bytes | None) -> JsonObject:
    """The object in a JSON text that must be there."""
    assert text is not None
    value = orjson.loads(text)
    assert isinstance(value, dict)
    return value


def without(document: JsonObject, names: Iterable[str]) -> JsonObject:
    """The document but for these members."""
    return {name: value for name, value in document.items() if name not in set(names)}
