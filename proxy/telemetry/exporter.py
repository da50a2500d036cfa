"""Sends spans to a collector (OTLP over HTTP), from a thread of its own.

Whatever the collector does is in nobody's way: what waits for it is bounded, and what does not fit
is counted. One log line tells that spans do not arrive, another that they do again.
"""

import http.client
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from proxy.telemetry.log import Log

MAX_QUEUED_BYTES = 4 * 1024 * 1024
MAX_REQUEST_BYTES = 512 * 1024
EVERY_SECONDS = 1.0
"""So long spans wait for others."""
TIMEOUT_SECONDS = 10.0
"""For each step of an exchange with the collector."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds after a failure before the next try; they double until one succeeds."""
CLOSE_SECONDS = 3.0
"""What waits at the end is sent within this, or dropped."""
_MAX_ANSWER_BYTES = 64 * 1024
_TRY_AGAIN = frozenset({408, 429, 502, 503, 504})
"""Statuses by which a collector says: later (OTLP 1.x, "Retryable Response Codes")."""
_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


class Refused(Exception):
    """The collector did not take them. `pause`: how many seconds to wait; None to give them up."""

    def __init__(self, why: str, pause: float | None) -> None:
        super().__init__(why)
        self.pause = pause


class Counts(NamedTuple):
    """What became of spans so far."""

    sent: int
    dropped: int


class Exporter:
    """Sends spans, many at a time."""

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        *,
        request: Callable[[Iterable[bytes]], bytes],
        log: Log,
        user_agent: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`endpoint` is the URL with its path; `request` makes one body of many spans."""
        self._collector = _Collector(endpoint, {**headers, "User-Agent": user_agent})
        self._endpoint = endpoint
        self._request = request
        self._log = log
        self._monotonic = monotonic
        self._lock = threading.Lock()  # held for moments only
        self._spans: deque[bytes] = deque()
        self._queued_bytes = 0
        self._sent = 0
        self._dropped = 0
        self._is_well = True
        self._ends_at: float | None = None
        """Set once it is to close."""
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    @property
    def state(self) -> str:
        """ "ok", or "failing" while spans do not arrive."""
        return "ok" if self._is_well else "failing"

    @property
    def counts(self) -> Counts:
        """How many spans the collector took, and how many it never will."""
        with self._lock:
            return Counts(self._sent, self._dropped)

    @property
    def is_full(self) -> bool:
        """Nothing more would be taken now."""
        return self._queued_bytes >= MAX_QUEUED_BYTES

    def drop(self, count: int) -> None:
        """Count spans that were not even made."""
        with self._lock:
            self._dropped += count

    def add(self, span: bytes) -> None:
        """Send it, soon; dropped where too many wait. Never blocks."""
        with self._lock:
            if self._queued_bytes + len(span) > MAX_QUEUED_BYTES or self._ends_at is not None:
                self._dropped += 1
                return
            self._spans.append(span)
            self._queued_bytes += len(span)
            is_much = self._queued_bytes >= MAX_REQUEST_BYTES
        if is_much and self._is_well:
            self._wake.set()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send what waits, within some seconds, and end. Blocks so long at most."""
        self._ends_at = self._monotonic() + seconds
        self._wake.set()
        self._thread.join(seconds)
        with self._lock:
            self._dropped += len(self._spans)
            self._spans.clear()
            self._queued_bytes = 0

    def _run(self) -> None:
        pause = FIRST_PAUSE
        wait = EVERY_SECONDS
        while self._ends_at is None:
            self._wake.wait(wait)
            self._wake.clear()
            try:
                self._send_all()
            except Refused as refused:
                self._fails(str(refused))
                # A part of it by chance: many proxies shall not come back in the same moment.
                share = random.uniform(0.75, 1.0)  # noqa: S311 - no secret
                wait = max(refused.pause or 0.0, pause) * share
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                wait, pause = EVERY_SECONDS, FIRST_PAUSE
        try:
            self._send_all()
        except Refused as refused:
            self._fails(str(refused))
        self._collector.close()

    def _send_all(self) -> None:
        """Raises Refused; what is to be sent later stays in the queue then."""
        while batch := self._batch():
            seconds = TIMEOUT_SECONDS
            if self._ends_at is not None:
                seconds = min(seconds, self._ends_at - self._monotonic())
            if seconds <= 0:
                return
            try:
                self._collector.post(self._request(batch), seconds)
            except Refused as refused:
                if refused.pause is None:
                    self._take(batch, are_sent=False)
                raise
            self._take(batch, are_sent=True)
            self._is_back()

    def _batch(self) -> list[bytes]:
        """The next spans. They stay in the queue, so that it is bounded as a whole."""
        batch, size = [], 0
        with self._lock:
            for span in self._spans:
                batch.append(span)
                size += len(span)
                if size >= MAX_REQUEST_BYTES:
                    break
        return batch

    def _take(self, batch: list[bytes], *, are_sent: bool) -> None:
        with self._lock:
            for _ in range(min(len(batch), len(self._spans))):
                self._queued_bytes -= len(self._spans.popleft())
            if are_sent:
                self._sent += len(batch)
            else:
                self._dropped += len(batch)

    def _fails(self, why: str) -> None:
        if self._is_well:
            self._is_well = False
            told = {"endpoint": self._endpoint, "why": why}
            self._log.emit("warning", "traces do not reach the collector", told)

    def _is_back(self) -> None:
        if not self._is_well:
            self._is_well = True
            told = {"endpoint": self._endpoint, "dropped": self.counts.dropped}
            self._log.emit("info", "traces reach the collector again", told)


class _Collector:
    """One connection to a collector, kept while it is well."""

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(endpoint)
        self._scheme = parts.scheme
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = parts.path
        self._headers = {"Content-Type": "application/x-protobuf", **headers}
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes, seconds: float) -> None:
        """Send a body; no step takes longer than `seconds`. Raises Refused."""
        was_used = self._connection is not None
        try:
            self._post(body, seconds)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not was_used or isinstance(error, TimeoutError):
                raise Refused(_words(error), 0.0) from error
            # The collector has closed what it had kept open: no failure.
            try:
                self._post(body, seconds)
            except (OSError, http.client.HTTPException) as again:
                self.close()
                raise Refused(_words(again), 0.0) from again

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes, seconds: float) -> None:
        connection = self._connect(seconds)
        connection.request("POST", self._path, body, self._headers)
        answer = connection.getresponse()
        is_whole = len(answer.read(_MAX_ANSWER_BYTES)) < _MAX_ANSWER_BYTES
        if answer.will_close or not is_whole:
            self.close()
        if 200 <= answer.status < 300:
            return
        why = f"it answers with status {answer.status}"
        pause = _seconds(answer.headers.get("Retry-After", ""))
        raise Refused(why, pause if answer.status in _TRY_AGAIN else None)

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = _CONNECTIONS[self._scheme]
            port = self._port or kind.default_port
            self._connection = kind(self._host, port, timeout=seconds)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(seconds)
        return self._connection


def _seconds(retry_after: str) -> float:
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 6
    return min(float(retry_after), 10 * LONGEST_PAUSE) if is_number else 0.0


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return getattr(error, "strerror", None) or type(error).__name__
