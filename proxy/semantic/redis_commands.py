"""Vector sets in Redis' own words: names, commands, and what comes back.

Each partition of an encoder has a set of its own, and lives in one slot of a cluster. What comes
back is not trusted: what is not as we write it is left out.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import orjson

from proxy.core.meaning.vectors import to_bytes
from proxy.ports import Vector

Command: TypeAlias = tuple[str | bytes | int | float, ...]

KEY_BYTES = 32
_LATEST = 4e9
"""Wall time in seconds; what has no end of its own ends then."""
_REFUSALS = ("unknown command", "syntax error", "no permissions to run")
"""Of Redis 7 and Valkey; of Redis 8.0; of an ACL."""
_EFFORT = 400
"""How many elements of a large set are looked at closely."""


class Add(NamedTuple):
    """An entry to be found, in place of what its key had."""

    partition: bytes
    key: bytes
    vector: bytes
    """Float32, little endian."""
    until: float
    is_offer: bool = False
    """What is there already stays as it is: it would take its place at the price of a new one."""


class Prolong(NamedTuple):
    """An entry, if it is there, is found until another moment."""

    partition: bytes
    key: bytes
    until: float


class Discard(NamedTuple):
    """An entry is to be found no more."""

    partition: bytes
    key: bytes


Write: TypeAlias = Add | Prolong | Discard


class Element(NamedTuple):
    """An element of a set."""

    key: bytes
    similarity: float
    until: float
    """Wall time in seconds; 0 where that cannot be read."""


class Names:
    """The keys of one encoder's vectors: no other encoder ever meets them."""

    def __init__(self, prefix: str, identity: str, dimensions: int) -> None:
        told = orjson.dumps([identity, dimensions])
        self._base = f"{prefix}:vec:{hashlib.sha256(told).hexdigest()[:24]}"
        self.partitions = f"{self._base}:partitions"
        """A sorted set: all partitions, each with the end of its last entry."""
        self.swept = f"{self._base}:swept"
        """Is there when somebody has looked for expired entries a short while ago."""
        self.entries = f"{self._base}:entries"
        """How many entries there were then."""

    def vectors(self, partition: bytes) -> str:
        """The vector set of a partition."""
        return f"{self._base}:p:{partition.hex()}"


def write_commands(names: Names, writes: Sequence[Write]) -> Iterator[Command]:
    """What makes changes so; doing it twice changes nothing."""
    ends: dict[bytes, int] = {}
    for write in writes:
        name, element = names.vectors(write.partition), write.key.hex()
        if isinstance(write, Discard):
            yield ("VREM", name, element)
            continue
        end = math.ceil(min(write.until, _LATEST))
        ends[write.partition] = max(end, ends.get(write.partition, end))
        attribute = orjson.dumps({"u": end})
        if isinstance(write, Add):
            # Unquantized: the gate wants similarities that are good to a thousandth.
            vector = ("FP32", write.vector, element, "NOQUANT", "SETATTR", attribute)
            yield ("VADD", name, *vector)
        else:
            yield ("VSETATTR", name, element, attribute)
    for partition, end in ends.items():
        # A set ends with its last entry. GT alone never gives an end to what has none.
        yield ("EXPIREAT", names.vectors(partition), end, "NX")
        yield ("EXPIREAT", names.vectors(partition), end, "GT")
        yield ("ZADD", names.partitions, "GT", end, partition)


def vector_of(reply: Any, dimensions: int) -> "Vector | None":
    """The vector that `VEMB ... RAW` gave: kind, bytes, and the length it had."""
    data = reply[1] if isinstance(reply, list | tuple) and len(reply) > 1 else None
    if not isinstance(data, bytes) or len(data) != 4 * dimensions:
        return None
    return np.frombuffer(data, "<f4").astype(np.float32)


def search_command(name: str, vector: Vector, limit: int, *, is_large: bool) -> Command:
    """Look for the nearest elements: all of a set are compared, or a graph is searched."""
    how = ("EF", max(_EFFORT, limit)) if is_large else ("TRUTH",)
    told = ("WITHSCORES", "WITHATTRIBS", "COUNT", limit, *how)
    return ("VSIM", name, "FP32", to_bytes(vector), *told)


def elements(reply: Any) -> list[Element]:
    """What a search found, nearest first; of RESP2, a list, or RESP3, a map."""
    found = []
    if isinstance(reply, dict):
        triples = [(name, *told) for name, told in reply.items()]
    else:
        triples = list(zip(reply[::3], reply[1::3], reply[2::3], strict=False))
    for name, score, attribute in triples:
        key = key_of(name)
        if key is not None:
            # A score is half of the cosine and a half; rounding may leave it a little over 1.
            similarity = min(1.0, max(-1.0, 2.0 * float(score) - 1.0))
            found.append(Element(key, similarity, end_of(attribute)))
    found.sort(key=lambda element: -element.similarity)
    return found


def key_of(name: Any) -> bytes | None:
    """The exact key that an element is named by; None for what is not named as ours are."""
    try:
        key = bytes.fromhex(name.decode("ascii") if isinstance(name, bytes) else name)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def end_of(attribute: Any) -> float:
    """Until when an element is found; 0 where that cannot be read."""
    try:
        return float(orjson.loads(attribute)["u"])
    except (ValueError, TypeError, LookupError):
        return 0.0


def is_unknown(reply: Any) -> bool:
    """Whether a server said that it has no vector sets, none as we need them, or none for us."""
    said = str(reply).lower() if isinstance(reply, Exception) else ""
    return any(word in said for word in _REFUSALS)
