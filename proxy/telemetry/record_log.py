"""The record of requests (`privacy.record_requests`): what `reprise warm` asks again.

One line a request that was looked up, bodies and all, in the form of the OpenAI Batch API:
{"method", "url", "body"}, and beside it when, whose, and what the cache did.
"""

import os
import threading
from collections.abc import Callable

import orjson

from proxy.core.exchange import Exchange
from proxy.telemetry.log import Event

_QUEUE_BYTES = 16 * 1024 * 1024
_FLUSH_SECONDS = 0.1


class RecordLog:
    """Appends lines to a file from a thread of its own; a bounded queue lies between.

    The file is opened anew on `reopen`, so that it can be rotated. What cannot be written ends the
    record until then: a full disk is told of once, and stops nothing else.
    """

    def __init__(self, path: str, tell: Callable[[str, str, Event], None]) -> None:
        """`tell` is a log's `emit`; it is called in the thread."""
        self._path = path
        self._tell = tell
        self._lock = threading.Lock()  # held for moments only, never while writing
        self._waiting: list[tuple[bytes, bytes]] = []
        self._queued_bytes = 0
        self._dropped = 0
        self._has_ended = False
        self._must_reopen = True
        self._descriptor = -1
        self._wake = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="record-requests", daemon=True)
        self._thread.start()

    def note(self, exchange: Exchange) -> None:
        """Queue the line of an exchange that has ended; nothing where its request was not kept."""
        asked = exchange.asked
        if asked is None or self._has_ended or not isinstance(asked.request.body, bytes):
            return
        head, body = _head(exchange, asked.request.target), asked.request.body
        size = len(head) + len(body)
        with self._lock:
            if self._queued_bytes + size > _QUEUE_BYTES:
                self._dropped += 1
            else:
                self._waiting.append((head, body))
                self._queued_bytes += size

    def reopen(self) -> None:
        """Go on in whatever file has the name now."""
        self._must_reopen = True
        self._has_ended = False

    def close(self) -> None:
        """Write what is queued, within a second, and end."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.wait(_FLUSH_SECONDS)
            self._flush()
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            dropped, self._dropped = self._dropped, 0
            self._queued_bytes = 0
        if dropped:
            self._tell("warning", "requests not recorded", {"count": dropped})
        if not waiting or self._has_ended:
            return
        try:
            if self._must_reopen:
                self._open()
            rest = memoryview(b"".join(_line(head, body) for head, body in waiting))
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._has_ended = True
            remedy = "mend it and send SIGHUP; requests are served meanwhile"
            told = {"path": self._path, "why": error.strerror, "remedy": remedy}
            self._tell("error", "requests are no longer recorded", told)

    def _open(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._descriptor = os.open(self._path, flags, 0o600)
        self._must_reopen = False


def _head(exchange: Exchange, target: str) -> bytes:
    return orjson.dumps(
        {
            "method": exchange.method,
            "url": target.encode("ascii", "backslashreplace").decode(),
            "at": round(exchange.ended_at, 3),
            "tenant": exchange.tenant,
            "cache": exchange.level or exchange.fwd or "none",
        }
    )


def _line(head: bytes, body: bytes) -> bytes:
    # A line break in a body that is JSON stands between its parts; in texts it is written as \n.
    whole = body.replace(b"\n", b" ").replace(b"\r", b" ")
    return b'%b,"body":%b}\n' % (head[:-1], whole)
