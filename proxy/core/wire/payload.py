"""The JSON inside frames and bodies, read for two purposes."""

import json
import re

import orjson

from proxy.core.wire.operation import Json

# An integer that orjson would turn into a float. May be found inside a string: that only refuses.
_LONG_INTEGER = re.compile(r"[:\[,]\s*-?\d{19,}\s*[,\]}]")
_MAX_DEPTH = 1000
"""What Python's own reader takes before 3.12; later ones take more than others can walk through."""
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""Strings, which are passed over (in one go, if they have no end), and what begins or ends a value
of several."""


def read(text: str) -> Json:
    """Read JSON as forgiving clients do: NaN, lone surrogates and long integers are taken.

    Raises ValueError.
    """
    try:
        value: Json = orjson.loads(text)
    except ValueError:
        if _is_deep(text):
            raise ValueError("nested too deeply") from None
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return value


def _is_deep(text: str) -> bool:
    depth = 0
    for found in _NESTING.finditer(text):
        depth += 1 if found[0] in "[{" else -1 if found[0] in "]}" else 0
        if depth > _MAX_DEPTH:
            return True
    return False


def read_exactly(text: str) -> Json:
    """Read JSON that can be written again without loss. Raises ValueError."""
    if _LONG_INTEGER.search(text):
        raise ValueError("an integer beyond 64 bits")
    value: Json = orjson.loads(text)
    return value


def write(value: Json) -> bytes:
    """Write a value that came from `read_exactly`. Raises ValueError where it is too deep."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise ValueError(str(error)) from error
