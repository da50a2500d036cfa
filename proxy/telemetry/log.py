"""Log lines: JSON for machines, or for a person on a terminal. By structlog's processors.

Lines are written by a thread of its own with a bounded queue: a full disk or a stopped reader of
the pipe never stops a request. What does not fit is counted and told later.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import orjson
import structlog

Event: TypeAlias = dict[str, Any]

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_QUEUE_LINES = 65536
_FLUSH_SECONDS = 0.05


class Log(Protocol):
    """Writes events. Never prompts, completions, keys or credentials."""

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Write one line; `fields` becomes part of it and must not be used afterwards."""


class LineWriter:
    """Writes lines to a file descriptor from its own thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: list[bytes] = []
        self._dropped = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue a line; dropped where the queue is full."""
        if len(self._lines) >= _QUEUE_LINES:
            self._dropped += 1
        else:
            self._lines.append(line)

    def close(self) -> None:
        """Write what is queued, within a second, and end."""
        self._closing.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._closing.wait(_FLUSH_SECONDS):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            told = {"level": "warning", "event": "log lines dropped", "count": dropped}
            lines.append(orjson.dumps(told))
        if not lines:
            return
        lines.append(b"")
        data = b"\n".join(lines)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            # Nobody reads the log any more. Serving goes on.
            self._dropped += len(lines) - 1


class StructLog:
    """Renders events by structlog's processors."""

    def __init__(
        self, write: Callable[[bytes], None], *, form: str, level: str, wall: Callable[[], float]
    ) -> None:
        """`form` is json, console, or auto: console on a terminal. `wall` tells the time."""
        self._write = write
        self._threshold = LEVELS[level]
        self._wall = wall
        self._console: structlog.dev.ConsoleRenderer | None = None
        if form == "console" or (form == "auto" and sys.stdout.isatty()):
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
        if self._console is not None:
            fields = structlog.processors.TimeStamper(fmt="iso")(None, level, fields)  # type: ignore[assignment]  # a dict again
            self._write(str(self._console(None, level, fields)).encode())
            return
        fields["timestamp"] = round(self._wall(), 6)
        self._write(orjson.dumps(fields, default=str))
