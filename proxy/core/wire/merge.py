"""Fragments of a JSON value into the whole value, or a refusal.

Common to all manners: null does not erase, objects are merged member by member, a value that was
said once is kept as it is, and values of different kinds are refused. What is unclear is refused:
then the other shape of the answer is not offered, which costs a miss and no wrong answer.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import TypeVar

import orjson

from proxy.core.wire.operation import Json, JsonObject

_IDENTITIES = frozenset(
    {
        *("id", "call_id", "tool_call_id", "item_id", "object", "model", "role", "type"),
        *("finish_reason", "native_finish_reason", "stop_reason", "system_fingerprint"),
        *("format", "status", "phase", "channel", "recipient", "provider", "signature"),
        *("content_type", "mime_type", "media_type", "language", "url", "title"),
    }
)
"""Strings that name something: repeated they are the same, different they cannot be merged."""

_TEXTS = frozenset(
    {
        *("content", "refusal", "reasoning", "reasoning_content", "reasoning_text", "thinking"),
        *("text", "transcript", "data", "arguments", "input", "partial_json", "summary"),
    }
)
"""Strings known to come in fragments. Others are joined too, unless a fragment repeats itself."""

_APPENDED = frozenset({"token_ids", "annotations"})
"""Lists in a delta whose parts follow one another without an index."""

_SNAPSHOTS = frozenset({"usage", "timings", "prompt_progress", "metrics"})
"""Objects of a chunk that are told anew each time, not added to."""

_T = TypeVar("_T")


class MergeError(ValueError):
    """There is no way to say this in one value without loss or guessing."""


class Manner(Enum):
    """How the members of an object that comes in fragments belong together."""

    SPOKEN = "spoken"
    """A delta: strings are fragments to be joined, lists are merged by `index`."""
    STATED = "stated"
    """A label: said as often as the server likes, but always the same."""
    LISTED = "listed"
    """Log probabilities and token ids: each list continues the one before."""
    LATEST = "latest"
    """A chunk's own members: the last one said is right."""


def merge(values: Sequence[Json], name: str, manner: Manner) -> Json:
    """Merge what was said one after the other under a member's name. Raises MergeError."""
    said = [value for value in values if value is not None]
    if len(said) < 2:
        return said[0] if said else None
    if strings := _all(said, str):
        return _merge_strings(strings, name, manner)
    if objects := _all(said, dict):
        return _merge_members(objects, name, manner)
    if lists := _all(said, list):
        return _merge_lists(lists, name, manner)
    if manner is Manner.LATEST and not isinstance(said[-1], str | dict | list):
        return said[-1]
    return _same(said, name)


def merge_objects(values: Sequence[JsonObject], manner: Manner) -> JsonObject:
    """Merge objects member by member, in the order of first appearance. Raises MergeError."""
    fragments: dict[str, list[Json]] = {}
    for value in values:
        for name, member in value.items():
            fragments.setdefault(name, []).append(member)
    return {name: merge(members, name, manner) for name, members in fragments.items()}


def merge_calls(lists: Sequence[Json]) -> list[Json]:
    """Merge the `tool_calls` of deltas into those of a message, which carry no `index`.

    Raises MergeError.
    """
    fragments: list[JsonObject] = []
    for part in lists:
        if part is None:
            continue
        objects = _all(part, dict) if isinstance(part, list) else None
        if objects is None:
            raise MergeError("tool_calls are no list of objects")
        fragments += objects
    groups = _by_index(fragments) or _by_id(fragments)
    calls = [merge_objects(group, Manner.SPOKEN) for group in groups]
    return [{name: call[name] for name in call if name != "index"} for call in calls]


def _all(values: Sequence[Json], kind: type[_T]) -> list[_T] | None:
    """The values, if all are of one kind."""
    found = [value for value in values if isinstance(value, kind)]
    return found if len(found) == len(values) else None


def _same(values: Sequence[Json], name: str) -> Json:
    first = values[0]
    if any(value != first or type(value) is not type(first) for value in values):
        raise MergeError(f"{name} has different values")
    return first


def _merge_members(values: list[JsonObject], name: str, manner: Manner) -> Json:
    if manner is Manner.LATEST and name in _SNAPSHOTS:
        return values[-1]
    if manner is Manner.SPOKEN and name == "arguments":
        # An object is a whole value: joining the strings in two of them would make up a third.
        return _same(values, name)
    return merge_objects(values, manner)


def _merge_strings(values: list[str], name: str, manner: Manner) -> str:
    # Some servers send "" for "nothing new" where others leave the member out.
    pieces = [value for value in values if value] or values[:1]
    if manner is Manner.LATEST:
        return pieces[-1]
    if manner is Manner.SPOKEN and name not in _IDENTITIES:
        return _join(pieces, name)
    if len(set(pieces)) > 1:
        raise MergeError(f"{name} has different values")
    return pieces[0]


def _join(pieces: list[str], name: str) -> str:
    if name == "name":
        return _join_name(pieces)
    whole = "".join(pieces)
    if name not in _TEXTS and any(map(str.__eq__, pieces, pieces[1:])):
        raise MergeError(f"{name} may be a label that is repeated, or a text")
    if name == "data" and any(piece.endswith("=") for piece in pieces[:-1]):
        raise MergeError("base64 with padding cannot be joined")
    if name == "arguments" and len(pieces) > 1:
        _require_json(whole)
    return whole


def _join_name(pieces: list[str]) -> str:
    """A function's name is sent whole, or whole again and again, or (rarely) in fragments."""
    distinct = set(pieces)
    if len(distinct) == 1:
        return pieces[0]
    is_growing = any(map(str.startswith, pieces[1:], pieces))
    if len(distinct) < len(pieces) or is_growing:
        raise MergeError("a name in fragments that repeat themselves")
    return "".join(pieces)


def _require_json(arguments: str) -> None:
    # Two calls that were taken for one show here: {"a":1}{"b":2}.
    try:
        orjson.loads(arguments)
    except ValueError:
        raise MergeError("the fragments of arguments do not make JSON") from None


def _merge_lists(values: list[list[Json]], name: str, manner: Manner) -> Json:
    parts = [value for value in values if value]
    if len(parts) < 2:
        return parts[0] if parts else []
    if manner is Manner.LISTED or (manner is Manner.SPOKEN and name in _APPENDED):
        return [item for part in parts for item in part]
    if manner is Manner.LATEST:
        return _longest(parts, name)
    if manner is Manner.STATED:
        return _same(parts, name)
    return _merge_indexed(parts, name)


def _longest(lists: list[list[Json]], name: str) -> Json:
    """The last of lists of which each repeats and continues the one before."""
    for before, after in pairwise(lists):
        if after[: len(before)] != before:
            raise MergeError(f"{name} is a list that changes")
    return lists[-1]


def _merge_indexed(lists: list[list[Json]], name: str) -> list[Json]:
    for part in lists:
        objects = _all(part, dict)
        indexes = [_index(item) for item in objects or ()]
        if not indexes or None in indexes or len(set(indexes)) < len(indexes):
            raise MergeError(f"{name} is a list in parts without a unique index")
    groups = _by_index([item for part in lists for item in part if isinstance(item, dict)])
    return [merge_objects(group, Manner.SPOKEN) for group in groups]


def _index(item: JsonObject) -> int | None:
    """The place of a list's element; None where it has none."""
    index = item.get("index")
    if index is None:
        return None
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise MergeError("an index that is no index")
    return index


def _by_index(fragments: list[JsonObject]) -> list[list[JsonObject]]:
    """Fragments of the same element together, in the order of index; none without any index."""
    groups: dict[int, list[JsonObject]] = {}
    without = 0
    for fragment in fragments:
        index = _index(fragment)
        if index is None:
            without += 1
        else:
            groups.setdefault(index, []).append(fragment)
    if groups and without:
        raise MergeError("only some elements have an index")
    return [groups[index] for index in sorted(groups)]


def _by_id(fragments: list[JsonObject]) -> list[list[JsonObject]]:
    """Fragments of the same call together, where calls carry no index (Ollama's way).

    An id that was not seen before begins a call; a fragment without an id continues the last.
    """
    groups: list[list[JsonObject]] = []
    known: dict[Json, list[JsonObject]] = {}
    for fragment in fragments:
        call_id = fragment.get("id") or None
        if not isinstance(call_id, str | None):
            raise MergeError("the id of a tool call is no string")
        if call_id in known:
            known[call_id].append(fragment)
        elif call_id is None and groups:
            if _is_named(fragment) and any(map(_is_named, groups[-1])):
                raise MergeError("a second call, or the first one's name again")
            groups[-1].append(fragment)
        else:
            groups.append([fragment])
            if call_id is not None:
                known[call_id] = groups[-1]
    return groups


def _is_named(call: JsonObject) -> bool:
    function = call.get("function")
    return isinstance(function, dict) and bool(function.get("name"))
