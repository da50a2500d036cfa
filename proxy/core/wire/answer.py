"""What an answer with `choices` says of itself, whichever shape it was received in."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from proxy.core.wire import payload
from proxy.core.wire.operation import Answer, Json, JsonObject
from proxy.core.wire.sse import Frame, is_error, split

MAX_CHOICES = 4096
"""An index beyond this is nonsense; a prompt list of 2048 is OpenAI's limit."""

Speaks = Callable[[JsonObject], bool]
"""Whether a choice, or a fragment of one, says anything to the client."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The chunks of a recorded stream, and how it went."""

    chunks: Sequence[JsonObject]
    has_error: bool
    """An error frame, or one that a client could not read."""
    is_terminated: bool


def read_recording(
    frames: Sequence[Frame], load: Callable[[str], Json] = payload.read
) -> Recording:
    """Read the chunks of a stream. What follows `[DONE]`, comments apart, counts as an error."""
    chunks: list[JsonObject] = []
    has_error = any(map(is_error, frames))
    is_terminated = False
    for data in (frame.data for frame in frames if frame.data is not None):
        if is_terminated:
            has_error = True
        elif data.strip() == "[DONE]":
            is_terminated = True
        else:
            chunk = _load(data, load)
            if chunk is None or reports_error(chunk):
                has_error = True
            if chunk is not None:
                chunks.append(chunk)
    return Recording(chunks, has_error, is_terminated)


def read_body(body: bytes) -> Recording:
    """Read the chunks of a whole recorded stream. Bytes behind the last event: it was cut."""
    plain = _read_plain(body)
    if plain is not None:
        return Recording(plain, has_error=False, is_terminated=True)
    frames, rest = split(body)
    recording = read_recording(frames)
    return replace(recording, is_terminated=recording.is_terminated and not rest.strip())


def _read_plain(body: bytes) -> list[JsonObject] | None:
    """The chunks of a stream of nothing but objects, one a line, and a last `[DONE]`.

    Nearly every stream is so. It is read at one go, as every answer is, right after it was given.
    """
    *pieces, rest = body.split(b"\n\n")
    if rest or not pieces or pieces.pop() != b"data: [DONE]":
        return None
    if b"\r" in body or body.count(b"\n") != 2 * len(pieces) + 2:
        return None
    texts: list[bytes] = []
    for piece in pieces:
        if not piece.startswith(b"data: "):
            return None
        texts.append(piece[6:])
    try:
        chunks = orjson.loads(b"[%b]" % b",".join(texts))
    except ValueError:
        return None
    is_plain = len(chunks) == len(texts) and all(type(chunk) is dict for chunk in chunks)
    return chunks if is_plain else None


def reports_error(document: JsonObject) -> bool:
    """Say whether a document or chunk carries an error, of its own or in a choice."""
    if document.get("error") is not None or document.get("object") == "error":
        return True
    choices = document.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict) and choice.get("error") is not None:
                return True
    return False


def objects_of(value: Json) -> list[JsonObject]:
    """The objects in a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _load(data: str, load: Callable[[str], Json]) -> JsonObject | None:
    try:
        chunk = load(data)
    except ValueError:
        return None
    return chunk if isinstance(chunk, dict) else None


def describe_document(document: JsonObject, speaks: Speaks) -> Answer:
    """Describe a JSON answer."""
    choices = document.get("choices")
    if isinstance(choices, list) and len(choices) == 1:
        usual = _usual(document, choices[0], speaks)
        if usual is not None:
            return usual
    documents = (document,)
    tally = _tally(documents, speaks)
    # Two choices with one index, or a choice that is no object: nobody knows what it says.
    is_clear = isinstance(choices, list) and len(tally.spoken) == len(choices)
    has_error = tally.is_odd or (bool(choices) and not is_clear)
    return _answer(documents, tally, has_error=has_error, is_terminated=True)


def _usual(document: JsonObject, choice: Json, speaks: Speaks) -> Answer | None:
    """The same for what nearly every answer is: one choice, with OpenAI's usage and no more.

    Every answer is judged while the next request may be waiting; this takes a third of the time.
    """
    usage = document.get("usage")
    if not isinstance(choice, dict) or not isinstance(usage, dict) or "timings" in document:
        return None
    if document.get("error") is not None or choice.get("error") is not None:
        return None
    model, reason = document.get("model"), choice.get("finish_reason")
    if not (model and reason and isinstance(model, str) and isinstance(reason, str)):
        return None
    if document.get("object") == "error" or choice.get("index", 0) != 0:
        return None
    return Answer(
        model=model,
        finish_reasons=(reason,),
        has_error=False,
        is_empty=not speaks(choice),
        is_terminated=True,
        has_usage=True,
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_cached_tokens(usage),
    )


def describe_recording(recording: Recording, speaks: Speaks) -> Answer:
    """Describe a recorded stream."""
    tally = _tally(recording.chunks, speaks)
    has_error = recording.has_error or tally.is_odd
    return _answer(
        recording.chunks, tally, has_error=has_error, is_terminated=recording.is_terminated
    )


@dataclass(slots=True)
class _Tally:
    """What was heard of each choice by its index."""

    spoken: dict[int, bool]
    reasons: dict[int, set[str]]
    is_odd: bool = False
    """An error was reported, or it is unclear what belongs to which choice."""


def _tally(documents: Iterable[JsonObject], speaks: Speaks) -> _Tally:
    tally = _Tally({}, {})
    spoken = tally.spoken
    for document in documents:
        if document.get("error") is not None or document.get("object") == "error":
            tally.is_odd = True
        choices = document.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                tally.is_odd = True
                continue
            index = choice.get("index", position)
            if type(index) is not int or not 0 <= index < MAX_CHOICES:
                tally.is_odd = True
                continue
            if choice.get("error") is not None:
                tally.is_odd = True
            if not spoken.get(index):
                spoken[index] = speaks(choice)
            reason = choice.get("finish_reason")
            if reason and isinstance(reason, str):
                tally.reasons.setdefault(index, set()).add(reason)
    return tally


def _answer(
    documents: Sequence[JsonObject], tally: _Tally, *, has_error: bool, is_terminated: bool
) -> Answer:
    usage = _last_object(documents, "usage")
    timings = _last_object(documents, "timings") or {}
    count = max(tally.spoken) + 1 if tally.spoken else 0
    prompt_tokens, completion_tokens, cached_tokens = _count_tokens(usage or {}, timings)
    return Answer(
        model=_model(documents),
        finish_reasons=tuple([_only(tally.reasons.get(index)) for index in range(count)]),
        has_error=has_error,
        is_empty=not tally.spoken or False in tally.spoken.values(),
        is_terminated=is_terminated,
        has_usage=usage is not None,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cached_tokens=cached_tokens,
    )


def _only(reasons: set[str] | None) -> str | None:
    """The reason; None also where a choice gave two, as it is unclear which one holds."""
    return next(iter(reasons)) if reasons is not None and len(reasons) == 1 else None


def _model(documents: Sequence[JsonObject]) -> str | None:
    for document in reversed(documents):
        model = document.get("model")
        if model and isinstance(model, str):
            return model
    return None


def _last_object(documents: Sequence[JsonObject], name: str) -> JsonObject | None:
    for document in reversed(documents):
        member = document.get(name)
        if isinstance(member, dict):
            return member
    return None


def _count_tokens(
    usage: JsonObject, timings: JsonObject
) -> tuple[int | None, int | None, int | None]:
    """Prompt, completion and cached tokens, by what OpenAI and others call them."""
    prompt = _count(usage, "prompt_tokens")
    completion = _count(usage, "completion_tokens")
    cached = _cached_tokens(usage)
    if timings:  # llama.cpp
        cached = _count(timings, "cache_n") if cached is None else cached
        evaluated = _count(timings, "prompt_n")
        if prompt is None and evaluated is not None:
            # It sends timings though nobody asked for usage; prompt_n leaves out the cached.
            prompt = evaluated + (cached or 0)
        completion = _count(timings, "predicted_n") if completion is None else completion
    return prompt, completion, cached


def _cached_tokens(usage: JsonObject) -> int | None:
    details = usage.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else None
    for name in ("prompt_cache_hit_tokens", "cached_tokens"):  # DeepSeek, Moonshot
        if cached is None:
            cached = _count(usage, name)
    return cached


def _count(place: JsonObject, name: str) -> int | None:
    count = place.get(name)
    return count if type(count) is int and count >= 0 else None
