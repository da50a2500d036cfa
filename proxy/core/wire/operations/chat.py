"""Chat completions: `POST .../chat/completions`."""

from collections.abc import Sequence

from proxy.core.wire.choices import LISTED, ChoicesOperation, Form, merge_fields
from proxy.core.wire.merge import Manner, MergeError, merge, merge_calls
from proxy.core.wire.operation import Json, JsonObject, Operation

_SPEAKING = frozenset({"content", "refusal", "tool_calls", "function_call", "audio", "images"})
_THINKING = ("reasoning", "thinking")
"""How the members begin in which servers put what a model thinks before it answers."""


def _read_input(body: JsonObject) -> tuple[tuple[Json, ...], Json] | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    for message in messages:
        if not isinstance(message, dict):
            return None
    return tuple(messages[:-1]), messages[-1]


def _speaks(choice: JsonObject) -> bool:
    said = choice.get("message", choice.get("delta"))
    if not isinstance(said, dict):
        return False
    for name, value in said.items():
        if value and (name in _SPEAKING or name.startswith(_THINKING)):
            return True
    return False


def _merge(fragments: Sequence[JsonObject]) -> JsonObject:
    deltas = [_delta(fragment) for fragment in fragments]
    members: dict[str, list[Json]] = {"role": [], "content": []}
    for delta in deltas:
        for name, value in delta.items():
            members.setdefault(name, []).append(value)
    message: JsonObject = {}
    for name, values in members.items():
        if name == "tool_calls" and any(values):
            message[name] = list(merge_calls(values))
        else:
            message[name] = merge(values, name, Manner.SPOKEN)
    message["role"] = message["role"] or "assistant"
    if message.get("tool_calls") and not _has_content(deltas):
        message["content"] = None
    fields = merge_fields(fragments, without=("index", "delta"))
    return {"message": message} | fields


def _delta(fragment: JsonObject) -> JsonObject:
    delta = fragment.get("delta")
    if "message" in fragment or not isinstance(delta, dict | None):
        raise MergeError("a fragment of unknown structure")
    return delta or {}


def _has_content(deltas: Sequence[JsonObject]) -> bool:
    """Whether there was content; an empty string beside the role is a mere opening (vLLM)."""
    return any(
        content or (content == "" and "role" not in delta)
        for delta in deltas
        for content in [delta.get("content")]
    )


def _spread(choice: JsonObject) -> list[JsonObject]:
    message = choice.get("message")
    if not isinstance(message, dict) or not message.get("role"):
        raise MergeError("a message of unknown structure")
    listed, others = _fields(choice)
    blank: JsonObject = {"index": choice["index"], "delta": {}, "finish_reason": None}
    if "logprobs" in choice:
        blank["logprobs"] = None
    fragments: list[JsonObject] = []
    for delta in _deltas(message):
        fragments.append(blank | {"delta": delta})
        if listed and (delta.get("content") or delta.get("refusal")):
            fragments[-1] |= listed
            listed = {}
    end = {"finish_reason": choice["finish_reason"]}
    return [*fragments, blank | end | others | listed]


def _fields(choice: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The members of a choice that belong to its text, and the others."""
    ours = ("index", "message", "finish_reason")
    fields = {name: choice[name] for name in choice if name not in ours}
    listed = {name: fields.pop(name) for name in LISTED if name in fields}
    return listed, fields


def _deltas(message: JsonObject) -> list[JsonObject]:
    """The message in the order in which servers send it: opening, thoughts, text, calls, rest."""
    content = message.get("content")
    calls = message.get("tool_calls")
    if not isinstance(content, str | None) or not isinstance(calls, list | None):
        raise MergeError("content or calls of unknown structure")
    ours = ("role", "content", "tool_calls")
    quiet = {name: value for name, value in message.items() if not value and name != "content"}
    others = {name: value for name, value in message.items() if value and name not in ours}
    is_text = content is not None and bool(content or calls)
    opening: JsonObject = {"role": message["role"], "content": "" if content else None}
    opening |= quiet
    if content == "" and not calls:
        opening["content"] = ""
    thoughts: list[JsonObject] = [
        {name: others.pop(name)} for name in list(others) if name.startswith(_THINKING)
    ]
    text: list[JsonObject] = [{"content": content}] if is_text else []
    rest: list[JsonObject] = [{name: value} for name, value in others.items()]
    return [opening, *thoughts, *text, *_call_deltas(calls or []), *rest]


def _call_deltas(calls: Sequence[Json]) -> list[JsonObject]:
    deltas: list[JsonObject] = []
    for position, call in enumerate(calls):
        if not isinstance(call, dict) or call.get("index", position) != position:
            raise MergeError("a tool call of unknown structure")
        deltas.append({"tool_calls": [{"index": position} | call]})
    return deltas


OPERATION: Operation = ChoicesOperation(
    name="chat",
    suffixes=("/chat/completions",),
    input_fields=frozenset({"messages"}),
    ignored_fields=frozenset(
        {
            *("stream", "stream_options", "user", "metadata", "safety_identifier"),
            *("store", "prompt_cache_key", "service_tier"),
        }
    ),
    read_input=_read_input,
    form=Form("chat.completion", "chat.completion.chunk", _speaks, _merge, _spread),
)
