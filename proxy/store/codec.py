"""Changes as bytes, for what lies on disk or goes to other processes (design 7 and 8).

    envelope = "Rp", version (1), kind (1), checksum (8), payload
    payload  = one MessagePack array of plain values, in the order of the kind's reader below
    checksum = BLAKE2b over version, kind and payload

What comes back is not trusted. The checksum, looked at before anything is parsed, is against
accidents; against who can write a checksum, every member's type, length and range are checked too.
Only whether a vector has the length 1 is left to who has numpy.
"""

import hashlib
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import msgpack

from proxy.core.cache.change import (
    Aliased,
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse
from proxy.core.model import Shape

VERSION = 1
MAX_BYTES = 256 << 20
"""The longest value that is read."""
MAX_PAIRS = 65_536

_MAGIC = b"Rp"
_HEADER_BYTES = 12
_DIGEST_BYTES = 32
_TEXT_DIGEST_BYTES = 16
_MAX_TAGS = 16
_MAX_MEMBERS = 32
"""Of any array; arrays in arrays could take memory without end otherwise."""
_MAX_VECTOR_BYTES = 4 << 16
_MAX_TIME = 1e12
_MAX_COUNT = 2**63 - 1
_HEAD = re.compile(
    # Field lines that neither break out of the head nor frame the message anew.
    rb"content-type: [^\r\n\0]*\r\n"
    rb"(?:(?!content-length:|transfer-encoding:|connection:|set-cookie:)"
    rb"[-!#$%&'*+.^_`|~0-9a-z]+: [^\r\n\0]*\r\n)*+",
    re.IGNORECASE,
)

Key: TypeAlias = tuple[str, bytes]


class Flaw(StrEnum):
    """Why bytes are no change."""

    FORMAT = "format"
    """They do not begin as they should, or are too few or too many."""
    NEWER = "newer"
    """A later version of the format."""
    CHECKSUM = "checksum"
    KIND = "kind"
    """A kind of change that is not known."""
    VALUE = "value"
    """A member is missing, or not what it should be."""


class Unreadable(ValueError):
    """Bytes that are no change."""

    def __init__(self, reason: Flaw) -> None:
        super().__init__(reason.value)
        self.reason = reason


class _Kind(NamedTuple):
    name: str
    number: int
    write: Callable[[Any], list[object]]
    """The members of a change of this kind."""
    read: Callable[["_Members"], Change]
    """The change; takes the members in the order of `write`."""
    key: Callable[[Any], bytes]


def encode(change: Change) -> bytes:
    """A change as bytes; `decode` gives it again.

    Of a stored response, what was derived from it is left out. A count beyond 63 bits is cut.
    What comes to more than MAX_BYTES is not read again: the caller leaves it out.
    """
    kind = _KINDS[type(change)]
    payload: bytes = msgpack.packb(kind.write(change), unicode_errors="surrogatepass")
    marks = bytes((VERSION, kind.number))
    return b"".join((_MAGIC, marks, _checksum(marks, payload), payload))


def decode(data: bytes) -> Change:
    """The change in some bytes. Raises Unreadable, and nothing else, whatever they are."""
    if len(data) <= _HEADER_BYTES or len(data) > MAX_BYTES or not data.startswith(_MAGIC):
        raise Unreadable(Flaw.FORMAT)
    if data[2] != VERSION:
        raise Unreadable(Flaw.NEWER if data[2] > VERSION else Flaw.FORMAT)
    payload = memoryview(data)[_HEADER_BYTES:]
    if data[4:_HEADER_BYTES] != _checksum(data[2:4], payload):
        raise Unreadable(Flaw.CHECKSUM)
    kind = _BY_NUMBER.get(data[3])
    if kind is None:
        raise Unreadable(Flaw.KIND)
    try:
        members = msgpack.unpackb(
            payload,
            use_list=False,
            unicode_errors="surrogatepass",
            max_array_len=_MAX_MEMBERS,
            max_map_len=0,
            max_ext_len=0,
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise Unreadable(Flaw.VALUE) from error
    if type(members) is not tuple:
        raise Unreadable(Flaw.VALUE)
    left = _Members(members)
    change = kind.read(left)
    left.end()
    return change


def key_of(change: Change) -> Key:
    """Kind and key under which a journal keeps a change; a later one of both takes its place."""
    kind = _KINDS[type(change)]
    return kind.name, kind.key(change)


def _checksum(marks: bytes, payload: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(marks, digest_size=8)
    digest.update(payload)
    return digest.digest()


class _Members:
    """The members of a payload, taken one after another, each checked."""

    __slots__ = ("_at", "_values")

    def __init__(self, values: tuple[object, ...]) -> None:
        self._values = values
        self._at = 0

    def end(self) -> None:
        """Raises Unreadable where something is left."""
        if self._at != len(self._values):
            raise Unreadable(Flaw.VALUE)

    def blob(self, length: int | None = None) -> bytes:
        """Bytes, of a length or of any."""
        value = self._next()
        if type(value) is not bytes or (length is not None and len(value) != length):
            raise Unreadable(Flaw.VALUE)
        return value

    def text(self) -> str:
        """Text; it may hold lone surrogates."""
        return _text(self._next())

    def texts(self, most: int) -> tuple[str, ...]:
        """Some names."""
        value = self._next()
        if type(value) is not tuple or len(value) > most:
            raise Unreadable(Flaw.VALUE)
        return tuple([_text(one) for one in value])

    def number(self, least: float = -_MAX_TIME, most: float = _MAX_TIME) -> float:
        """A finite number within bounds."""
        value = self._next()
        if type(value) is not float or not least <= value <= most:  # not a number is in no bounds
            raise Unreadable(Flaw.VALUE)
        return value

    def count(self) -> int:
        """A whole number from 0."""
        value = self._next()
        if type(value) is not int or not 0 <= value <= _MAX_COUNT:
            raise Unreadable(Flaw.VALUE)
        return value

    def flag(self) -> bool:
        """True or false."""
        value = self._next()
        if type(value) is not bool:
            raise Unreadable(Flaw.VALUE)
        return value

    def shape(self) -> Shape:
        """The name of a shape."""
        shape = _SHAPES.get(self.text())
        if shape is None:
            raise Unreadable(Flaw.VALUE)
        return shape

    def _next(self) -> object:
        at = self._at
        if at >= len(self._values):
            raise Unreadable(Flaw.VALUE)
        self._at = at + 1
        return self._values[at]


def _text(value: object) -> str:
    if type(value) is not str:
        raise Unreadable(Flaw.VALUE)
    return value


def _time(seconds: float) -> float:
    # Whole numbers are packed as such otherwise.
    return float(seconds)


def _write_put(change: Put) -> list[object]:
    stored = change.stored
    return [
        stored.key,
        stored.tenant,
        stored.operation,
        stored.model,
        stored.namespace,
        stored.tags,
        stored.shape.value,
        stored.body,
        stored.head,
        stored.stream_options,
        _time(stored.created),
        _time(stored.ttl),
        min(stored.prompt_tokens, _MAX_COUNT),
        min(stored.completion_tokens, _MAX_COUNT),
        _time(stored.duration),
        b"".join(change.followed),
    ]


def _read_put(members: _Members) -> Put:
    stored = StoredResponse(
        members.blob(_DIGEST_BYTES),
        members.blob(_DIGEST_BYTES),
        members.text(),
        sys.intern(members.text()),  # few models, many answers
        members.text(),
        members.texts(_MAX_TAGS),
        members.shape(),
        members.blob(),
        members.blob(),
        members.blob(),
        members.number(),
        members.number(least=0.0),
        members.count(),
        members.count(),
        members.number(least=0.0),
    )
    followed = members.blob()
    if not _HEAD.fullmatch(stored.head) or len(followed) % _DIGEST_BYTES:
        raise Unreadable(Flaw.VALUE)
    return Put(stored, _split(followed, _DIGEST_BYTES))


def _write_deleted(change: Deleted) -> list[object]:
    return [change.key, _time(change.at)]


def _read_deleted(members: _Members) -> Deleted:
    return Deleted(members.blob(_DIGEST_BYTES), members.number())


def _write_learnt(change: Learnt) -> list[object]:
    return [
        change.key,
        change.scope,
        change.settings,
        change.history,
        change.text,
        _time(change.until),
        change.encoder,
        change.vector,
    ]


def _read_learnt(members: _Members) -> Learnt:
    learnt = Learnt(
        members.blob(_DIGEST_BYTES),
        members.blob(_DIGEST_BYTES),
        members.blob(_DIGEST_BYTES),
        members.blob(_DIGEST_BYTES),
        members.text(),
        members.number(),
        sys.intern(members.text()),
        members.blob(),
    )
    length = len(learnt.vector)
    if not length or length % 4 or length > _MAX_VECTOR_BYTES:
        raise Unreadable(Flaw.VALUE)
    return learnt


def _write_aliased(change: Aliased) -> list[object]:
    texts = [change.asked, change.answer, change.judge]
    return [change.key, change.target, _time(change.similarity), *texts, _time(change.at)]


def _read_aliased(members: _Members) -> Aliased:
    key, target = members.blob(_DIGEST_BYTES), members.blob(_DIGEST_BYTES)
    similarity = members.number(-1.01, 1.01)  # the cosine of rounded vectors
    asked, answer = members.blob(_TEXT_DIGEST_BYTES), members.blob()
    if len(answer) not in (0, _TEXT_DIGEST_BYTES):
        raise Unreadable(Flaw.VALUE)
    judge, at = members.blob(_DIGEST_BYTES), members.number()
    return Aliased(key, target, similarity, asked, answer, judge, at)


def _write_rejected(change: Rejected) -> list[object]:
    return [change.key, _time(change.at), _joined(change)]


def _read_rejected(members: _Members) -> Rejected:
    key, at, joined = members.blob(_DIGEST_BYTES), members.number(), members.blob()
    size = _TEXT_DIGEST_BYTES
    if len(joined) % (2 * size) or len(joined) > MAX_PAIRS * 2 * size:
        raise Unreadable(Flaw.VALUE)
    digests = _split(joined, size)
    return Rejected(key, at, tuple(zip(digests[::2], digests[1::2], strict=True)))


def _split(joined: bytes, size: int) -> tuple[bytes, ...]:
    return tuple([joined[start : start + size] for start in range(0, len(joined), size)])


def _joined(change: Rejected) -> bytes:
    return b"".join([one + other for one, other in change.pairs[-MAX_PAIRS:]])


def _rejected_key(change: Rejected) -> bytes:
    # What is said of an entry a second time has other pairs, and both are to be kept.
    return change.key + hashlib.blake2b(_joined(change), digest_size=8).digest()


def _write_purged(change: Purged) -> list[object]:
    chosen = change.selector
    names = [chosen.model, chosen.tenant, chosen.tag, chosen.namespace, chosen.entry]
    return [*names, change.soft, _time(change.at), change.by]


def _read_purged(members: _Members) -> Purged:
    names = [members.text() for _ in range(5)]
    flag, at, by = members.flag(), members.number(), members.text()
    return Purged(Selector(*names), flag, at, by)


def _purged_key(change: Purged) -> bytes:
    return hashlib.blake2b(
        msgpack.packb(_write_purged(change)[:-1], unicode_errors="surrogatepass"), digest_size=16
    ).digest()


def _write_renewed(change: Renewed) -> list[object]:
    return [change.model, change.epoch, _time(change.at), change.by]


def _read_renewed(members: _Members) -> Renewed:
    model, epoch = members.text(), members.text()
    return Renewed(model, epoch, members.number(), members.text())


def _write_barred(change: Barred) -> list[object]:
    return [change.caller, change.is_refused, _time(change.at)]


def _read_barred(members: _Members) -> Barred:
    return Barred(members.blob(_DIGEST_BYTES), members.flag(), members.number())


def _own_key(change: Deleted | Learnt | Aliased) -> bytes:
    return change.key


_SHAPES = {shape.value: shape for shape in Shape}
_KINDS: dict[type, _Kind] = {
    Put: _Kind("put", 1, _write_put, _read_put, lambda change: change.stored.key),
    Deleted: _Kind("deleted", 2, _write_deleted, _read_deleted, _own_key),
    Learnt: _Kind("learnt", 3, _write_learnt, _read_learnt, _own_key),
    Aliased: _Kind("aliased", 4, _write_aliased, _read_aliased, _own_key),
    Rejected: _Kind("rejected", 5, _write_rejected, _read_rejected, _rejected_key),
    Purged: _Kind("purged", 6, _write_purged, _read_purged, _purged_key),
    Renewed: _Kind(
        "renewed",
        7,
        _write_renewed,
        _read_renewed,
        lambda change: change.model.encode("utf-8", "surrogatepass"),
    ),
    Barred: _Kind("barred", 8, _write_barred, _read_barred, lambda change: change.caller),
}
_BY_NUMBER = {kind.number: kind for kind in _KINDS.values()}
