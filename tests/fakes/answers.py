"""Bodies as an OpenAI-style server sends them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

DONE = b"data: [DONE]\n\n"


def frame(data: object) -> bytes:
    """One SSE event that carries `data` as JSON."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def usage(prompt_tokens: int = 9, completion_tokens: int = 4) -> dict[str, int]:
    """A usage object whose sum is right."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def chat_answer(
    text: str | None, *, finish_reason: str | None = "stop", model: str = "m1", **extra: Any
) -> dict[str, Any]:
    """A `chat.completion` with one choice; `extra` replaces or adds top-level members."""
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish_reason,
            }
        ],
        "usage": usage(),
    } | extra


def chat_stream(
    deltas: Sequence[str | Mapping[str, Any]],
    *,
    usage: Mapping[str, Any] | None = None,
    finish_reason: str | None = "stop",
    model: str = "m1",
    **extra: Any,
) -> list[bytes]:
    """The frames of a streamed chat completion, `[DONE]` included.

    A string is a content delta; a mapping is a delta as it is. `usage` adds the last chunk that
    `stream_options.include_usage` asks for; `extra` goes into every chunk.
    """
    head = {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": model,
    } | extra

    def chunk(delta: Mapping[str, Any], reason: str | None) -> bytes:
        return frame(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    frames = [chunk({"role": "assistant", "content": ""}, None)]
    frames += [
        chunk({"content": delta} if isinstance(delta, str) else delta, None) for delta in deltas
    ]
    if finish_reason is not None:
        frames.append(chunk({}, finish_reason))
    if usage is not None:
        frames.append(frame(head | {"choices": [], "usage": usage}))
    return [*frames, DONE]
