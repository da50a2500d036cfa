"""Operations whose answers are `choices`: chat completions and completions.

Both shapes have the same frame around the choices; how one choice is spread into fragments and
merged again is the operation's own matter (`Form`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from proxy.core.wire import answer, payload
from proxy.core.wire.merge import Manner, MergeError, merge_objects
from proxy.core.wire.operation import Answer, Json, JsonObject, Question
from proxy.core.wire.sse import Frame, encode

_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
"""Members that each chunk of a stream carries."""

LISTED = ("logprobs", "token_ids")
"""Members of a choice that go with its text, token by token."""

_EVENTS = (None, "message")


@dataclass(frozen=True, slots=True)
class Form:
    """How one choice looks in both shapes."""

    document_object: str
    chunk_object: str
    speaks: answer.Speaks
    merge: Callable[[Sequence[JsonObject]], JsonObject]
    """The choice, as it stands in a JSON answer, from its fragments. Raises MergeError."""
    spread: Callable[[JsonObject], list[JsonObject]]
    """The fragments of a choice of a JSON answer, in order. Raises MergeError."""


@dataclass(frozen=True, slots=True)
class ChoicesOperation:
    """An operation of this family (core/wire/operation.py:Operation)."""

    name: str
    suffixes: tuple[str, ...]
    input_fields: frozenset[str]
    ignored_fields: frozenset[str]
    read_input: Callable[[JsonObject], tuple[tuple[Json, ...], Json] | None]
    """History and last message; None where the body does not have the form."""
    form: Form

    def read(self, body: JsonObject) -> Question | None:
        """Read the question; None where the body does not have this operation's form."""
        model = body.get("model", "")  # llama.cpp serves one model and lets one leave it out
        stream = body.get("stream")
        options = body.get("stream_options")
        question = self.read_input(body)
        if (
            question is None
            or not isinstance(model, str)
            or not (stream is None or isinstance(stream, bool))
            or not (options is None or isinstance(options, dict))
        ):
            return None
        history, last = question
        return Question(model, stream is True, options or {}, history, last)

    def describe_document(self, document: JsonObject) -> Answer:
        """Say what a JSON answer tells of itself."""
        return answer.describe_document(document, self.form.speaks)

    def describe_stream(self, body: bytes) -> Answer:
        """Say what a recorded stream tells of itself."""
        return answer.describe_recording(answer.read_body(body), self.form.speaks)

    def has_ended(self, tail: bytes) -> bool:
        """Say whether the stream's last event was `[DONE]`."""
        return tail.rstrip().endswith((b"data: [DONE]", b"data:[DONE]"))

    def to_document(self, frames: Sequence[Frame]) -> bytes | None:
        """Merge a complete stream into the JSON answer; None where that would lose anything."""
        try:
            return payload.write(_merge_recording(_read_exactly(frames), self.form))
        except (ValueError, RecursionError):  # orjson reads what is too deep to be compared
            return None

    def to_stream(self, document: JsonObject, *, include_usage: bool) -> bytes | None:
        """Spread a JSON answer into the frames of a stream; None where that would lose anything."""
        try:
            chunks = _spread_document(document, self.form, include_usage=include_usage)
            return b"".join([encode(payload.write(chunk)) for chunk in chunks]) + encode("[DONE]")
        except ValueError:
            return None

    def without_usage(self, frames: Sequence[Frame]) -> bytes | None:
        """Leave out the chunk that only `include_usage` brings; None where usage rides on others.

        What else that chunk carries (llama.cpp's timings) goes with it.
        """
        kept: list[bytes] = []
        for frame in frames:
            recording = answer.read_recording([frame])
            if recording.has_error:
                return None
            usages = [chunk for chunk in recording.chunks if isinstance(chunk.get("usage"), dict)]
            if any(chunk.get("choices") != [] for chunk in usages):
                return None
            if not usages:
                kept.append(frame.raw)
        return b"".join(kept)


def merge_fields(fragments: Sequence[JsonObject], *, without: Iterable[str]) -> JsonObject:
    """Merge the members of a choice that are not its text. Raises MergeError."""
    ours = [
        {name: fragment[name] for name in fragment if name not in without} for fragment in fragments
    ]
    listed = [{name: part[name] for name in part if name in LISTED} for part in ours]
    stated = [{name: part[name] for name in part if name not in LISTED} for part in ours]
    return merge_objects(listed, Manner.LISTED) | merge_objects(stated, Manner.STATED)


def _read_exactly(frames: Sequence[Frame]) -> Sequence[JsonObject]:
    """The chunks of a stream that went as it should. Raises MergeError."""
    if any(frame.data is not None and frame.event not in _EVENTS for frame in frames):
        raise MergeError("events of an unknown type")
    recording = answer.read_recording(frames, payload.read_exactly)
    if recording.has_error or not recording.is_terminated:
        raise MergeError("not a complete stream")
    return recording.chunks


def _merge_recording(chunks: Sequence[JsonObject], form: Form) -> JsonObject:
    fragments: dict[int, list[JsonObject]] = {}
    for chunk in chunks:
        for index, fragment in _indexed(chunk):
            fragments.setdefault(index, []).append(fragment)
    if not fragments or sorted(fragments) != list(range(len(fragments))):
        raise MergeError("choices are missing")
    choices: list[Json] = [
        _merge_choice(fragments[index], index, form) for index in sorted(fragments)
    ]
    common = merge_objects([_common(chunk) for chunk in chunks], Manner.LATEST)
    if common.pop("object", None) != form.chunk_object:
        raise MergeError("not the chunks of this operation")
    usage = common.pop("usage", None)
    head: JsonObject = {
        name: form.document_object if name == "object" else common.pop(name)
        for name in ("id", "object", "created", "model")
        if name == "object" or name in common
    }
    tail: JsonObject = {} if usage is None else {"usage": usage}
    return head | {"choices": choices} | tail | common


def _indexed(chunk: JsonObject) -> list[tuple[int, JsonObject]]:
    choices = chunk.get("choices")
    if choices is None and isinstance(chunk.get("usage"), dict):
        return []  # some servers leave `choices` out of the usage chunk
    if not isinstance(choices, list):
        raise MergeError("a chunk of unknown structure")
    found: list[tuple[int, JsonObject]] = []
    for choice in choices:
        index = choice.get("index") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(index, int) or isinstance(index, bool):
            raise MergeError("a choice without an index")
        found.append((index, choice))
    return found


def _common(chunk: JsonObject) -> JsonObject:
    return {name: chunk[name] for name in chunk if name != "choices"}


def _merge_choice(fragments: Sequence[JsonObject], index: int, form: Form) -> JsonObject:
    has_finished = False
    for fragment in fragments:
        if has_finished and not _is_silent(fragment):
            raise MergeError("a choice that goes on after its end")
        has_finished = has_finished or bool(fragment.get("finish_reason"))
    if not has_finished:
        raise MergeError("a choice without an end")
    return {"index": index} | form.merge(fragments)


def _is_silent(fragment: JsonObject) -> bool:
    """Whether a fragment adds nothing to what the choice says (a role and labels are nothing)."""
    if fragment.get("text") or fragment.get("logprobs") or fragment.get("token_ids"):
        return False
    delta = fragment.get("delta")
    return not isinstance(delta, dict) or not any(delta[name] for name in delta if name != "role")


def _spread_document(document: JsonObject, form: Form, *, include_usage: bool) -> list[JsonObject]:
    usage = document.get("usage")
    if not isinstance(usage, dict | None) or (include_usage and usage is None):
        raise MergeError("no usage to tell")
    if document.get("object") != form.document_object or answer.reports_error(document):
        raise MergeError("not the answer of this operation")
    fragments = [
        fragment
        for position, choice in enumerate(_checked_choices(document))
        for fragment in _spread_choice(choice, position, form)
    ]
    envelope = {name: document[name] for name in _ENVELOPE if name in document}
    envelope["object"] = form.chunk_object
    chunks: list[JsonObject] = [envelope | {"choices": [fragment]} for fragment in fragments]
    known = {*_ENVELOPE, "choices", "usage"}
    chunks[-1] |= {name: document[name] for name in document if name not in known}
    if include_usage:
        chunks.append(envelope | {"choices": [], "usage": usage})
    return chunks


def _checked_choices(document: JsonObject) -> list[JsonObject]:
    choices = document.get("choices")
    found = answer.objects_of(choices)
    if not isinstance(choices, list) or not found or len(found) != len(choices):
        raise MergeError("choices of unknown structure")
    return found


def _spread_choice(choice: JsonObject, position: int, form: Form) -> list[JsonObject]:
    reason = choice.get("finish_reason")
    index = choice.get("index")
    if not isinstance(reason, str) or not reason or "delta" in choice:
        raise MergeError("a choice of unknown structure")
    if isinstance(index, bool) or index != position:
        raise MergeError("choices out of order")
    return form.spread(choice)
