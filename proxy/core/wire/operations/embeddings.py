"""Embeddings: `POST .../embeddings`. A batch is one question; its answer is kept as it came."""

import binascii
from collections.abc import Sequence

from proxy.core.wire.answer import objects_of, reports_error
from proxy.core.wire.operation import Answer, Json, JsonObject, Operation, Question
from proxy.core.wire.sse import Frame

_NUMBERS = frozenset({int, float})


class EmbeddingsOperation:
    """Has one shape: what is asked of a stream is answered as for none."""

    name = "embeddings"
    suffixes = ("/embeddings",)
    input_fields = frozenset({"input"})
    ignored_fields = frozenset(
        {
            *("stream", "stream_options", "user", "metadata", "safety_identifier"),
            *("prompt_cache_key", "service_tier"),
        }
    )

    def read(self, body: JsonObject) -> Question | None:
        """Read the question: all inputs together. None for other forms, a stream among them."""
        model = body.get("model", "")  # a server of one model lets one leave it out
        stream = body.get("stream")
        asked = body.get("input")
        if not isinstance(model, str) or not (stream is None or stream is False):
            return None
        items = _count_inputs(asked)
        if not items:
            return None
        return Question(model, False, {}, (), asked, items, is_sampled=False)

    def describe_document(self, document: JsonObject) -> Answer:
        """Say what an answer tells of itself: is there a vector for each index from 0 on?"""
        data = document.get("data")
        model = document.get("model")
        usage = document.get("usage")
        items = objects_of(data)
        is_clear = not data or (isinstance(data, list) and len(items) == len(data))
        return Answer(
            model=model if isinstance(model, str) and model else None,
            finish_reasons=(),
            has_error=not is_clear
            or reports_error(document)
            or not _is_counted(items)
            or not all(map(_is_well, items)),
            is_empty=not items or not all(item.get("embedding") for item in items),
            is_terminated=True,
            has_usage=isinstance(usage, dict),
            prompt_tokens=_prompt_tokens(usage),
            completion_tokens=None,
            cached_tokens=None,
            items=len(items),
        )

    def describe_stream(self, body: bytes) -> Answer:
        """Say that this is no whole answer, whatever it is."""
        return self.describe_document({})._replace(is_terminated=False)

    def has_ended(self, tail: bytes) -> bool:
        """Say no: only the end of the connection or of its length tells."""
        return False

    def to_document(self, frames: Sequence[Frame]) -> bytes | None:
        """There is no stream to merge."""
        return None

    def to_stream(self, document: JsonObject, *, include_usage: bool) -> bytes | None:
        """There is no stream to make."""
        return None

    def without_usage(self, frames: Sequence[Frame]) -> bytes | None:
        """There is no stream to shorten."""
        return None


def _count_inputs(asked: Json) -> int:
    """How many a text, texts, token ids or lists of token ids are; 0 for anything else."""
    if isinstance(asked, str):
        return 1
    if not isinstance(asked, list):
        return 0
    if asked and isinstance(asked[0], list):
        return len(asked) if all(_kinds(tokens) == {int} for tokens in asked) else 0
    kinds = _kinds(asked)
    if kinds == {int}:
        return 1
    return len(asked) if kinds == {str} else 0


def _kinds(value: Json) -> set[type]:
    """The types in a list; none where it is no list. A boolean is no integer here."""
    return set(map(type, value)) if isinstance(value, list) else set()


def _is_counted(items: Sequence[JsonObject]) -> bool:
    """Whether each index from 0 on is there once, in any order."""
    indexes = [index for item in items if type(index := item.get("index")) is int]
    return sorted(indexes) == list(range(len(items)))


def _is_well(item: JsonObject) -> bool:
    """Whether there is no error in it, and what it has as a vector can be one; it may be empty."""
    vector = item.get("embedding")
    if item.get("error") is not None:
        return False
    if not isinstance(vector, str):
        return isinstance(vector, list) and _NUMBERS.issuperset(map(type, vector))
    try:
        binascii.a2b_base64(vector, strict_mode=True)
    except ValueError:
        return False
    return True


def _prompt_tokens(usage: Json) -> int | None:
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if type(count) is int and count >= 0 else None


OPERATION: Operation = EmbeddingsOperation()
