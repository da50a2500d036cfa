"""Which refusals are repeated, and when."""

from dataclasses import replace

import orjson
import pytest

from proxy.core.cache.directives import Directives
from proxy.core.cache.refusal import MAX_BODY_BYTES, REPEATED, Refusal, is_repeatable, serves

FIELDS = {b"content-type": b"application/json"}
INVALID = {"message": "model `m9` does not exist", "type": "invalid_request_error", "code": None}


def body(**error: object) -> bytes:
    """An OpenAI error object."""
    return orjson.dumps({"error": {**INVALID, **error}})


@pytest.mark.parametrize("status", range(200, 600))
def test_the_status_must_speak_of_the_request_alone(status: int) -> None:
    assert is_repeatable(status, FIELDS, body()) is (status in {400, 404, 413, 415, 422})
    assert REPEATED.isdisjoint({401, 403, 408, 409, 425, 429})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (body(), True),
        (body(message="This model's maximum context length is 2048 tokens."), True),
        (body(message='model "x" not found, try pulling it first'), True),
        (body(message="temperature must be at most 2", param="temperature"), True),
        (body(message="Your credit balance is too low to access the Anthropic API."), False),
        (body(message="Insufficient Balance"), False),
        (body(code="billing_hard_limit_reached"), False),
        (body(type="insufficient_quota"), False),
        (body(message="The server is overloaded, please try again later."), False),
        (body(message="Loading model"), False),
        (body(type="server_error"), False),
        (body(message="Timed out while downloading the image"), False),
        (body(message=None), False),
        (body(message="x" * MAX_BODY_BYTES), False),
        (b'{"error": "no"}', False),
        (b'{"detail": "no"}', False),
        (b'["error"]', False),
        (b'{"error": {"message": "cut', False),
        (b"", False),
    ],
)
def test_the_body_must_say_what_is_wrong_and_nothing_of_the_moment(
    data: bytes, *, expected: bool
) -> None:
    assert is_repeatable(400, FIELDS, data) is expected


@pytest.mark.parametrize(
    "fields",
    [
        {b"retry-after": b"2"},
        {b"x-should-retry": b"true"},
        {b"cache-control": b"private, no-store"},
        {b"content-encoding": b"gzip"},
        {b"content-type": b"text/html"},
    ],
)
def test_the_head_may_speak_against_it(fields: dict[bytes, bytes]) -> None:
    assert not is_repeatable(400, FIELDS | fields, body())


def test_a_charset_does_not_matter() -> None:
    assert is_repeatable(400, {b"content-type": b"Application/JSON; charset=utf-8"}, body())


REFUSAL = Refusal(
    status=400,
    reason=b"Bad Request",
    content_type=b"application/json",
    body=b"{}",
    created=1000.0,
    ttl=60.0,
    key=b"k" * 32,
    tenant=b"t",
    model="m",
    namespace="",
    tags=(),
)


@pytest.mark.parametrize(
    ("wishes", "now", "expected"),
    [
        (Directives(), 1000.0, True),
        (Directives(), 990.0, True),
        (Directives(), 1059.0, True),
        (Directives(), 1060.0, False),
        (Directives(only_if_cached=True), 1010.0, True),
        (Directives(no_cache=True), 1010.0, False),
        (Directives(max_age=5.0), 1004.0, True),
        (Directives(max_age=5.0), 1006.0, False),
        (Directives(min_fresh=10.0), 1045.0, True),
        (Directives(min_fresh=20.0), 1045.0, False),
    ],
)
def test_it_is_repeated_while_it_is_fresh_enough(
    wishes: Directives, now: float, *, expected: bool
) -> None:
    assert serves(REFUSAL, wishes, now) is expected


def test_its_name_is_of_its_key_and_time() -> None:
    assert REFUSAL.id != replace(REFUSAL, created=1001.0).id
