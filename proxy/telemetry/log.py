"""Log lines: JSON for machines, or for a person on a terminal. By structlog's processors.

Lines are written by a thread of its own with a bounded queue: a full disk or a stopped reader of
the pipe never stops a request. What does not fit is counted and told later.
"""

import json
import os
import select
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

import orjson
import structlog

Event: TypeAlias = dict[str, Any]

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_QUEUE_BYTES = 16 * 1024 * 1024
_FLUSH_SECONDS = 0.05


class Log(Protocol):
    """Writes events. Never prompts, completions, keys or credentials."""

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Write one line; `fields` becomes part of it and must not be used afterwards.

        A `timestamp` among them (wall time in seconds) takes the place of now.
        """


class LineWriter:
    """Writes lines to a file descriptor from its own thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()  # held for moments only, never while writing
        self._lines: list[bytes] = []
        self._queued_bytes = 0
        self._dropped = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue a line; dropped where the queue is full."""
        with self._lock:
            if self._queued_bytes + len(line) > _QUEUE_BYTES:
                self._dropped += 1
            else:
                self._lines.append(line)
                self._queued_bytes += len(line)

    def close(self) -> None:
        """Write what is queued, within a second, and end."""
        self._closing.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._closing.wait(_FLUSH_SECONDS):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        with self._lock:
            lines, self._lines = self._lines, []
            dropped, self._dropped = self._dropped, 0
            self._queued_bytes = 0
        count = len(lines)
        if dropped:
            told = {"level": "warning", "event": "log lines dropped", "count": dropped}
            lines.append(orjson.dumps(told))
        if not lines:
            return
        try:
            self._write_out(b"\n".join([*lines, b""]))
        except OSError:
            # Nobody reads the log any more. Serving goes on.
            with self._lock:
                self._dropped += count + dropped

    def _write_out(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                # Whoever shares the pipe with us made it non-blocking.
                select.select((), (self._descriptor,), ())


class StructLog:
    """Renders events by structlog's processors."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        form: str,
        level: str,
        wall: Callable[[], float],
        worker: int | None = None,
    ) -> None:
        """`form` is json, console, or auto: console on a terminal. `wall` tells the time.

        `worker` goes into each line: which of several processes it is of.
        """
        self._write = write
        self._worker = worker
        self._threshold = LEVELS[level]
        self._wall = wall
        self._console: structlog.dev.ConsoleRenderer | None = None
        if form_of(form) == "console":
            self._console = structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())

    def set_level(self, level: str) -> None:
        """From now on only what is at least as severe."""
        self._threshold = LEVELS[level]

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Write one line."""
        if LEVELS[level] < self._threshold:
            return
        fields["event"] = event
        fields["level"] = level
        if self._worker is not None:
            fields["worker"] = self._worker
        at = fields.get("timestamp") or self._wall()
        if self._console is not None:
            fields["timestamp"] = datetime.fromtimestamp(at, UTC)
            shown = {name: _printable(value) for name, value in fields.items()}
            self._write(str(self._console(None, level, shown)).encode())
            return
        fields["timestamp"] = int(at * 1e6) / 1e6
        self._write(_json(fields))


def form_of(form: str) -> str:
    """json or console; where it is auto, what suits the standard output."""
    if form != "auto":
        return form
    return "console" if sys.stdout.isatty() else "json"


def trace_of(error: BaseException) -> Event:
    """An exception as fields: its type and where it came from, not its words.

    Those may quote a prompt.
    """
    return {
        "error": type(error).__name__,
        "trace": "".join(traceback.format_tb(error.__traceback__)),
    }


def _json(fields: Event) -> bytes:
    try:
        return orjson.dumps(fields, default=str)
    except TypeError:
        # A client's bytes that are not UTF-8 came as lone surrogates.
        return json.dumps(fields, default=str).encode("ascii")


def _printable(value: Any) -> str:
    # Nothing that a client sends may steer the terminal or look like another line.
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
