"""Requests and stored responses for tests: the usual one, and what a test says otherwise."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from proxy.core.cache.key import Key, make_key, parse
from proxy.core.cache.value import StoredResponse
from proxy.core.model import Body, Fields, Request, Shape
from proxy.core.wire.operation import JsonObject, Operation, discover

OPERATIONS = discover()
CHAT: Operation = next(one for one in OPERATIONS if one.name == "chat")
COMPLETIONS: Operation = next(one for one in OPERATIONS if one.name == "text_completion")
EMBEDDINGS: Operation = next(one for one in OPERATIONS if one.name == "embeddings")
JSON_TYPE = ("Content-Type", "application/json")
SECRET = b"s" * 32
NOW = 1_760_000_000.0


def question(text: str = "Q", /, **members: Any) -> JsonObject:
    """A chat request body; members override the usual ones."""
    usual: JsonObject = {
        "model": "m1",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
    }
    return usual | members


def header_of(*fields: tuple[str, str]) -> Callable[[str], str | None]:
    """Looks a field up as the server does: several of one name count as one with a comma."""

    def find(name: str) -> str | None:
        values = [value for field, value in fields if field.lower() == name.lower()]
        return ", ".join(values) if values else None

    return find


def wire_fields(*fields: tuple[str, str]) -> Fields:
    """Fields as bytes."""
    return tuple(
        (name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in fields
    )


def request(
    body: Body | JsonObject | None,
    *fields: tuple[str, str],
    method: str = "POST",
    target: str = "/v1/chat/completions",
    content_type: str | None = "application/json",
) -> Request:
    """A request as the server hands it over."""
    if isinstance(body, dict):
        body = orjson.dumps(body)
    if content_type is not None:
        fields = (("Content-Type", content_type), *fields)
    return Request(
        method=method,
        target=target,
        path=target.partition("?")[0],
        fields=wire_fields(*fields),
        header=header_of(*fields),
        body=body,
        length=len(body) if isinstance(body, bytes) else None,
    )


def key_of(body: bytes | str | JsonObject, **parts: Any) -> Key:
    """The key of a chat request; parts override the usual ones."""
    if isinstance(body, dict):
        body = orjson.dumps(body)
    document = parse(body.encode() if isinstance(body, str) else body)
    asked = CHAT.read(document)
    assert asked is not None
    left_out = CHAT.input_fields | CHAT.ignored_fields
    usual: dict[str, Any] = {
        "tenant": bytes(32),
        "namespace": "",
        "operation": "chat",
        "pool": "upstream",
        "target": "/v1/chat/completions",
        "variant": [None, None],
        "epoch": "",
        "settings": {name: document[name] for name in document if name not in left_out},
        "question": asked,
        "masks": (),
    }
    # Which questions others stand for is no part of what is the same.
    return make_key(**(usual | parts))._replace(followed=())


def stored_response(**members: Any) -> StoredResponse:
    """A stored answer that is fresh at NOW; members override the usual ones."""
    usual = StoredResponse(
        key=b"k" * 32,
        tenant=b"t" * 32,
        operation="chat",
        model="m1",
        namespace="",
        tags=(),
        shape=Shape.JSON,
        body=b"{}",
        head=b"Content-Type: application/json\r\n",
        stream_options=b"",
        created=NOW,
        ttl=100.0,
        prompt_tokens=3,
        completion_tokens=5,
        duration=0.0,
    )
    return replace(usual, **members)
