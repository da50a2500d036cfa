"""Our own errors.

ProxyError
├── BadRequest               400 bad_request
├── NoSuchEntry              404 no_such_entry
├── RequestTimeout           408 request_timeout
├── RequestTooLarge          413 request_too_large
├── BackgroundBusy           429 background_busy
├── OnlyIfCachedMiss         504 only_if_cached_miss
├── LoopDetected             508 loop_detected
└── UpstreamError
    ├── UpstreamUnreachable  502 upstream_unreachable
    ├── UpstreamBroken       502 upstream_broken    (it broke off; after the head: a cut stream)
    └── UpstreamTimeout      504 upstream_timeout
"""

from typing import ClassVar

import orjson


class ProxyError(Exception):
    """An answer of our own making: a status and an OpenAI error object."""

    status: ClassVar[int] = 500
    reason: ClassVar[bytes] = b"Internal Server Error"
    code: ClassVar[str] = "internal_error"
    should_retry: ClassVar[bool] = False
    """Sent as `x-should-retry`, which the official SDKs obey."""
    retry_after: ClassVar[int | None] = None
    """Seconds, sent as `Retry-After`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def body(self) -> bytes:
        """The OpenAI error object as JSON."""
        return orjson.dumps(
            {
                "error": {
                    "message": self.message,
                    "type": "proxy_error",
                    "param": None,
                    "code": self.code,
                }
            }
        )


class BadRequest(ProxyError):
    """What came from the client cannot be read."""

    status = 400
    reason = b"Bad Request"
    code = "bad_request"


class NoSuchEntry(ProxyError):
    """Feedback on an answer that is not stored, or not for this caller."""

    status = 404
    reason = b"Not Found"
    code = "no_such_entry"


class RequestTimeout(ProxyError):
    """The rest of the request did not come."""

    status = 408
    reason = b"Request Timeout"
    code = "request_timeout"


class RequestTooLarge(ProxyError):
    """The request body is over the configured limit."""

    status = 413
    reason = b"Content Too Large"
    code = "request_too_large"


class BackgroundBusy(ProxyError):
    """A request of low priority did not get its turn at the upstream."""

    status = 429
    reason = b"Too Many Requests"
    code = "background_busy"
    should_retry = True
    retry_after = 5


class OnlyIfCachedMiss(ProxyError):
    """The client asked for a stored response only, and there is none (RFC 9111 5.2.1.7)."""

    status = 504
    reason = b"Gateway Timeout"
    code = "only_if_cached_miss"


class LoopDetected(ProxyError):
    """The request was here before: the upstream's upstream is this proxy (RFC 9110 7.6.3)."""

    status = 508
    reason = b"Loop Detected"
    code = "loop_detected"


class UpstreamError(ProxyError):
    """The upstream gave no answer, or not all of it."""

    status = 502
    reason = b"Bad Gateway"
    code = "upstream_broken"
    should_retry = True

    def __init__(self, message: str, *, may_retry: bool = False) -> None:
        super().__init__(message)
        self.may_retry = may_retry
        """A pooled connection had died before any byte of an answer: sending again is safe."""


class UpstreamUnreachable(UpstreamError):
    """No connection could be made: nothing reached the upstream."""

    code = "upstream_unreachable"


class UpstreamBroken(UpstreamError):
    """The connection ended, or what came over it was not HTTP, before the answer was whole."""


class UpstreamTimeout(UpstreamError):
    """A deadline passed: connect, first byte, between bytes, or total."""

    status = 504
    reason = b"Gateway Timeout"
    code = "upstream_timeout"


def codes() -> tuple[str, ...]:
    """The codes of all errors of our own."""
    found, ahead = [], [ProxyError]
    while ahead:
        error = ahead.pop(0)
        found.append(error.code)
        ahead += error.__subclasses__()
    return tuple(dict.fromkeys(found))
