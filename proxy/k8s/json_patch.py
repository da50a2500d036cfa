"""JSON Patch (RFC 6902), of which we write `add` and `replace`."""

from typing import Any, Literal, TypeAlias, TypedDict

Json: TypeAlias = dict[str, Any]


class Operation(TypedDict):
    """One step of a patch."""

    op: Literal["add", "replace"]
    path: str
    value: Any


def add(path: str, value: Any) -> Operation:
    """Put a value where there is none, or before the list's element of that position."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> Operation:
    """Put a value in the place of another."""
    return {"op": "replace", "path": path, "value": value}


def step(key: str) -> str:
    """A key as a part of a pointer (RFC 6901 section 3)."""
    return key.replace("~", "~0").replace("/", "~1")
