"""Asks a running proxy one question after the other at low priority, for `reprise warm`."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import orjson

from proxy.cli import http_url
from proxy.cli.warm_input import Entry
from proxy.core.cache.cache_status import CACHE_NAME
from proxy.core.cache.directives import BACKGROUND
from proxy.core.errors import BackgroundBusy

ANSWERS_WITHIN = 3600.0
TRIES = 4
"""How often a question is put to an upstream that is busy or broken."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
_Connection: TypeAlias = http.client.HTTPConnection


class StopError(Exception):
    """Nothing more can be asked; the message says why, and what would help."""


class StoppedError(Exception):
    """The user has ended it."""


class Outcome(StrEnum):
    """What came of a question."""

    HIT = "hit"
    """It was stored already, or somebody else's call brought it."""
    STORED = "stored"
    UNSTORED = "unstored"
    """The upstream has answered, but not so that it may be stored."""
    REFUSED = "refused"
    """The upstream does not take this request."""
    FAILED = "failed"
    """There was no answer; another time there may be."""


class Told(NamedTuple):
    """What came of a question, and the tokens that the upstream took for it."""

    outcome: Outcome
    tokens: int = 0


class _Answer(NamedTuple):
    status: int
    cache: str
    """The part of Cache-Status that the proxy itself added."""
    retry_after: float | None
    body: bytes


class WarmClient:
    """One proxy. `ask` may be called by several threads; `stop` ends what is under way."""

    def __init__(self, url: str, fields: Sequence[tuple[str, str]]) -> None:
        """`fields` go with every request. Raises StopError for what cannot be used."""
        self.url = url.rstrip("/")
        parts = http_url.split(self.url)
        if parts is None:
            raise StopError(f"--proxy {self.url!r} is not a URL such as http://127.0.0.1:8080")
        self._parts = parts
        own = [("Content-Type", "application/json"), ("x-cache-priority", BACKGROUND)]
        if any(mark in text for field in fields for text in field for mark in "\r\n\0"):
            raise StopError("a header or the key has a line break in it")
        self._fields = {
            name: value.encode("utf-8", "surrogateescape") for name, value in [*fields, *own]
        }
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()

    def stop(self) -> None:
        """Ask no more and wait for nothing: the proxy completes for itself what has begun."""
        self._stop.set()
        with self._lock:
            for connection in self._open:
                if connection.sock is not None:
                    with contextlib.suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def ask(self, entry: Entry) -> Told:
        """Put a question, again where that may help. Raises StopError or StoppedError."""
        body, pause, tries = orjson.dumps(entry.body), FIRST_PAUSE, TRIES
        while True:
            answer = self._try(entry.target, body)
            if answer is not None and not _may_try_again(answer):
                return self._told(answer)
            is_waiting = answer is not None and _code(answer.body) == BackgroundBusy.code
            tries -= not is_waiting  # the proxy will have room some time
            if tries <= 0 and answer is None:
                raise StopError(
                    f"no proxy answers at {self.url}; start one with `reprise serve`, or name its "
                    "`listen` with --proxy"
                )
            if tries <= 0:
                return Told(Outcome.FAILED)
            told = answer.retry_after if answer is not None else None
            if self._stop.wait(min(pause if told is None else told, LONGEST_PAUSE)):
                raise StoppedError
            pause *= 2

    def _try(self, target: str, body: bytes) -> _Answer | None:
        """One request; None where there was no answer."""
        try:
            with self._connection() as connection:
                connection.connect()
                if self._stop.is_set():
                    raise StoppedError
                connection.request("POST", self._parts.path + target, body, self._fields)
                response = connection.getresponse()
                cache = response.headers.get("Cache-Status", "").rpartition(",")[2].strip()
                retry_after = response.headers.get("Retry-After", "")
                seconds = float(retry_after) if retry_after.isdecimal() else None
                return _Answer(response.status, cache, seconds, response.read())
        except (OSError, http.client.HTTPException):
            if self._stop.is_set():
                raise StoppedError from None
            return None

    @contextlib.contextmanager
    def _connection(self) -> Iterator[_Connection]:
        connection = http_url.connection(self._parts, ANSWERS_WITHIN)
        with self._lock:
            if self._stop.is_set():
                raise StoppedError
            self._open.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _told(self, answer: _Answer) -> Told:
        if answer.status in (401, 403):
            raise StopError(
                f"the upstream refuses the key ({answer.status}): name another with --api-key or "
                "OPENAI_API_KEY"
            )
        if answer.status != 200:
            is_final = 400 <= answer.status < 500 and answer.status not in (408, 409, 429)
            return Told(Outcome.REFUSED if is_final else Outcome.FAILED)
        name, *parameters = (part.strip() for part in answer.cache.split(";"))
        if name != CACHE_NAME:
            raise StopError(
                f"{self.url} is no Reprise: nothing that it answers would be kept; name the "
                "proxy's `listen` with --proxy"
            )
        if "hit" in parameters or "collapsed" in parameters:
            return Told(Outcome.HIT)
        outcome = Outcome.STORED if "stored" in parameters else Outcome.UNSTORED
        return Told(outcome, _usage(answer.body))


def _may_try_again(answer: _Answer) -> bool:
    return answer.status in (408, 409, 429, 500, 502, 503, 504)


def _code(body: bytes) -> object:
    error = _document(body).get("error")
    return error.get("code") if isinstance(error, dict) else None


def _usage(body: bytes) -> int:
    usage = _document(body).get("usage")
    if not isinstance(usage, dict):
        return 0
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    both = sum(count for count in counts if isinstance(count, int))
    total = usage.get("total_tokens")
    return max(0, total if isinstance(total, int) else both)


def _document(body: bytes) -> dict[str, object]:
    try:
        document = orjson.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
