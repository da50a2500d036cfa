"""Completions of a plain prompt: `POST .../completions`."""

from collections.abc import Sequence

from proxy.core.wire.choices import LISTED, ChoicesOperation, Form, merge_fields
from proxy.core.wire.merge import Manner, MergeError, merge
from proxy.core.wire.operation import Json, JsonObject, Operation


def _read_input(body: JsonObject) -> tuple[tuple[Json, ...], Json] | None:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return (), prompt
    if not isinstance(prompt, list) or not prompt:
        return None
    # Texts, token ids, lists of token ids; llama.cpp takes them mixed.
    are_prompts = all(isinstance(part, str | int | list) for part in prompt)
    return ((), prompt) if are_prompts else None


def _speaks(choice: JsonObject) -> bool:
    return bool(choice.get("text"))


def _merge(fragments: Sequence[JsonObject]) -> JsonObject:
    text = merge([fragment.get("text") for fragment in fragments], "text", Manner.SPOKEN)
    if not isinstance(text, str):
        raise MergeError("a choice without text")
    return {"text": text} | merge_fields(fragments, without=("index", "text"))


def _spread(choice: JsonObject) -> list[JsonObject]:
    if not isinstance(choice.get("text"), str):
        raise MergeError("a choice without text")
    if not choice["text"]:
        return [choice]
    blank: JsonObject = {"index": choice["index"], "text": "", "finish_reason": None}
    if "logprobs" in choice:
        blank["logprobs"] = None
    listed = {name: choice[name] for name in ("text", *LISTED) if name in choice}
    others = {name: choice[name] for name in choice if name not in listed}
    return [blank | listed, blank | others]


OPERATION: Operation = ChoicesOperation(
    name="text_completion",
    suffixes=("/completions",),
    input_fields=frozenset({"prompt"}),
    ignored_fields=frozenset(
        {
            *("stream", "stream_options", "user", "metadata", "safety_identifier"),
            *("prompt_cache_key", "service_tier"),
        }
    ),
    read_input=_read_input,
    form=Form("text_completion", "text_completion", _speaks, _merge, _spread),
)
