"""The exact key of a question, made of parts that can be told apart (design 4, mission B1-B5).

    scope     = H(tenant, namespace)
    settings  = H(operation, pool, target, variant fields, epoch, body without input and deny-list)
    history_0 = H(scope, settings)
    asked_i   = H(history_{i-1}, message_i)
    history_i = H(asked_i)                       for every message before the last
    exact     = asked_n                          of the last message

A message that was answered with what is stored for another one stands for that one (thread.py).

H is SHA-256 over an injective encoding: canonical JSON behind hashes of fixed length.
"""

import functools
import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from proxy.core.cache.thread import NO_THREADS, Threads, follow
from proxy.core.wire.operation import Json, JsonObject, Question

MAX_DEPTH = 100
"""Nesting of a body that is keyed; no API's requests come near it. Who walks through a parsed body
may recurse."""
_EXACT_INTEGER = 2**53
_GAP = "\x1a"


class UnkeyableBody(ValueError):
    """The body is not unambiguous JSON: two readers may see two different questions in it."""


class Key(NamedTuple):
    """The parts of a question's identity, each a SHA-256 digest."""

    scope: bytes
    settings: bytes
    history: bytes
    """Everything but the last message: what must be equal before similarity may count."""
    exact: bytes
    followed: tuple[bytes, ...] = ()
    """The exact keys of questions in the history for which others stand (thread.py)."""


def tenant_digest(secret: bytes, credentials: Sequence[str | None]) -> bytes:
    """The caller's identity: HMAC-SHA256 over the values of the credential fields, in order."""
    # As ASCII, for a field may hold bytes that are not UTF-8; not normalised, for a credential is
    # what it is to the byte.
    return hmac.digest(secret, json.dumps(list(credentials)).encode("ascii"), "sha256")


def parse(body: bytes) -> JsonObject:
    """The JSON object in a request body, in normal form: NFC strings, integral floats as integers.

    Raises UnkeyableBody for what RFC 8259 leaves open and parsers read differently: duplicate
    names, NaN, integers beyond 64 bits, invalid UTF-8, a byte order mark, absurd depth.
    """
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnkeyableBody(str(error)) from error
    if not isinstance(value, dict):
        raise UnkeyableBody("not an object")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if not body.isascii() or b"\\u" in body:
        return _normal_object(value)
    return value


def make_key(
    *,
    tenant: bytes,
    namespace: str,
    operation: str,
    pool: str,
    target: str,
    variant: Sequence[str | None],
    epoch: Json,
    settings: JsonObject,
    question: Question,
    masks: tuple[re.Pattern[str], ...],
    threads: Threads = NO_THREADS,
    least: float = 0.0,
) -> Key:
    """The key of a question. Raises UnkeyableBody where a mask makes it ambiguous.

    `settings` is the body without the operation's input and without ignored members; `variant`
    holds the values of request fields that may change the answer. What is of the body must be in
    normal form, as `parse` gives it. `threads` as `follow` takes them, with `least`.
    """
    scope = _hash(b"scope\x00", tenant, _encode(namespace))
    settings_digest = _hash(
        b"settings\x00", _encode([operation, pool, target, list(variant), epoch, settings])
    )
    history = _hash(b"history\x00", scope, settings_digest)
    followed: list[bytes] = []
    following = (*question.history[1:], question.last)
    for message, reply in zip(question.history, following, strict=False):
        asked = _hash(b"message\x00", history, _encode(mask(message, masks)))
        stands = follow(asked, reply, threads, least)
        if stands is not asked:
            followed.append(asked)
        history = _hash(b"history\x00", stands)
    exact = _hash(b"message\x00", history, _encode(mask(question.last, masks)))
    return Key(scope, settings_digest, history, exact, tuple(followed))


def canonical(value: Json) -> bytes:
    """An injective encoding: sorted names, NFC strings, integral floats as integers.

    Raises UnkeyableBody for names that NFC makes equal.
    """
    return _encode(_normalise(value))


def _encode(normal: Json) -> bytes:
    try:
        return orjson.dumps(normal, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Lone surrogates are legal in JSON's escapes but not in UTF-8. The prefix keeps the two
        # encodings apart.
        return b"\x00" + json.dumps(normal, sort_keys=True, separators=(",", ":")).encode("ascii")


def mask(value: Json, masks: tuple[re.Pattern[str], ...]) -> Json:
    """The value with everything that a mask matches taken out of its strings.

    Raises UnkeyableBody for text that could be taken for what a mask leaves behind.
    """
    if not masks:
        return value
    if isinstance(value, str):
        if _GAP in value:
            raise UnkeyableBody("a control character in masked text")
        for number, pattern in enumerate(masks):
            # Unary, for the masks that follow may look for digits or words.
            value = pattern.sub(_GAP + "\x1b" * number + _GAP, value)
        return value
    if isinstance(value, list):
        return [mask(item, masks) for item in value]
    if isinstance(value, dict):
        return {name: mask(item, masks) for name, item in value.items()}
    return value


def _hash(*parts: bytes) -> bytes:
    # The first says what is hashed; only the last varies in length: the whole is injective.
    return hashlib.sha256(b"".join(parts)).digest()


def _check_depth(value: JsonObject) -> None:
    level: list[JsonObject | list[Json]] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    raise UnkeyableBody("nested too deep")


def _normalise(value: Json) -> Json:
    if type(value) is str:
        return _nfc(value)
    if type(value) is dict:
        return _normal_object(value)
    if type(value) is list:
        return [_normalise(item) for item in value]
    return _number(value) if type(value) is float else value


def _normal_object(value: JsonObject) -> JsonObject:
    members = {_nfc(name): _normalise(item) for name, item in value.items()}
    if len(members) != len(value):
        raise UnkeyableBody("two names are equal after NFC")
    return members


def _number(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) <= _EXACT_INTEGER else value


def _nfc(text: str) -> str:
    if text.isascii():
        return text
    # Normalising takes the square of a run of marks; no language has runs like these.
    if _long_run().search(text):
        raise UnkeyableBody("a run of combining marks")
    return unicodedata.normalize("NFC", text)


@functools.cache
def _long_run() -> re.Pattern[str]:
    """More marks on one letter than Unicode's Stream-Safe Text Format has (UAX #15, 13)."""
    marks = (chr(point) for point in range(0x300, 0x20000) if unicodedata.combining(chr(point)))
    return re.compile("[" + "".join(marks) + "]{31}")


def _members(pairs: list[tuple[str, Json]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise UnkeyableBody("duplicate names")
    return members


def _integer(digits: str) -> int:
    # Beyond 20 characters it is out of range anyway; int() of a huge literal would be quadratic.
    number = int(digits) if len(digits) <= 20 else 1 << 64
    if not -(1 << 63) <= number < 1 << 64:
        raise UnkeyableBody("an integer beyond 64 bits")
    return number


def _float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise UnkeyableBody("a number beyond the range of a double")
    return _number(number)


def _constant(name: str) -> float:
    raise UnkeyableBody(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
