"""Our errors as the official SDKs understand them."""

import orjson
import pytest

from proxy.core.errors import (
    BadRequest,
    OnlyIfCachedMiss,
    ProxyError,
    RequestTimeout,
    RequestTooLarge,
    UpstreamBroken,
    UpstreamError,
    UpstreamTimeout,
    UpstreamUnreachable,
    codes,
)


@pytest.mark.parametrize(
    ("kind", "status", "code", "should_retry"),
    [
        (ProxyError, 500, "internal_error", False),
        (BadRequest, 400, "bad_request", False),
        (RequestTooLarge, 413, "request_too_large", False),
        (OnlyIfCachedMiss, 504, "only_if_cached_miss", False),
        (RequestTimeout, 408, "request_timeout", False),
        (UpstreamUnreachable, 502, "upstream_unreachable", True),
        (UpstreamBroken, 502, "upstream_broken", True),
        (UpstreamTimeout, 504, "upstream_timeout", True),
    ],
)
def test_an_error_is_a_status_and_an_error_object(
    kind: type[ProxyError], status: int, code: str, should_retry: bool
) -> None:
    error = kind('It said "no". 不行。')
    assert (error.status, error.code, error.should_retry) == (status, code, should_retry)
    assert error.reason.decode().istitle() or error.reason.isascii()
    assert str(error) == error.message
    assert orjson.loads(error.body()) == {
        "error": {
            "message": 'It said "no". 不行。',
            "type": "proxy_error",
            "param": None,
            "code": code,
        }
    }


def test_sending_again_is_safe_only_where_that_is_said() -> None:
    assert not UpstreamBroken("broken").may_retry
    assert UpstreamBroken("broken", may_retry=True).may_retry
    assert issubclass(UpstreamTimeout, UpstreamError)


def test_the_codes_of_all_errors_are_told_once() -> None:
    found = codes()
    assert len(set(found)) == len(found)
    assert {"internal_error", "bad_request", "upstream_broken", "upstream_timeout"} <= set(found)
