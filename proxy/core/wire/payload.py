"""The JSON inside frames and bodies, read for two purposes."""

import json
import re

import orjson

from proxy.core.wire.operation import Json

# An integer that orjson would turn into a float. May be found inside a string: that only refuses.
_LONG_INTEGER = re.compile(r"[:\[,]\s*-?\d{19,}\s*[,\]}]")


def read(text: str) -> Json:
    """Read JSON as forgiving clients do: NaN, lone surrogates and long integers are taken.

    Raises ValueError.
    """
    try:
        value: Json = orjson.loads(text)
    except ValueError:
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return value


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
