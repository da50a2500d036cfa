"""Log lines: what they look like, and that nobody waits for them."""

import fcntl
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson
import pytest

from proxy.telemetry import log as log_module
from proxy.telemetry.log import LEVELS, LineWriter, StructLog, form_of

AT = 1_760_000_000.25
DEADLINE = 20.0
"""Seconds after which a test has failed."""


class Lines(list[bytes]):
    """Collects what a log writes."""

    def log(self, form: str = "json", level: str = "debug") -> StructLog:
        """A log into this list."""
        return StructLog(self.append, form=form, level=level, wall=lambda: AT)


def test_a_line_is_one_json_object() -> None:
    lines = Lines()
    lines.log().emit("info", "request", {"path": "/v1/模型", "status": 200, "text": 'a\n"b"'})
    assert len(lines) == 1
    assert b"\n" not in lines[0]
    assert orjson.loads(lines[0]) == {
        "event": "request",
        "level": "info",
        "timestamp": AT,
        "path": "/v1/模型",
        "status": 200,
        "text": 'a\n"b"',
    }


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("text", ["\udcff", "a\ud800b", "\x00", "\x1b[31m", "\u2028"])
def test_whatever_a_client_sends_is_written_on_one_line(form: str, text: str) -> None:
    lines = Lines()
    lines.log(form).emit("info", "request", {"model": text, "path": text, "n": 1})
    line = lines[0].decode("utf-8")
    assert len(line.split("\n")) == 1
    assert "\x1b[31m" not in line
    assert "\x00" not in line


def test_values_of_other_types_are_written_as_text() -> None:
    lines = Lines()
    lines.log().emit("info", "e", {"error": ValueError("no"), "bad": "\udcff", "more": {1}})
    assert orjson.loads(lines[0].replace(b"\\udcff", b"?"))["error"] == "no"


def test_the_console_form_is_for_people() -> None:
    lines = Lines()
    lines.log("console").emit("warning", "upstream is slow", {"pool": "a b", "n": 7})
    line = lines[0].decode()
    assert line.startswith("2025-10-09 08:53:20")
    assert "upstream is slow" in line
    assert "warning" in line
    assert "pool='a b'" in line
    assert "n=7" in line


def test_a_fake_line_inside_a_value_stays_inside_it() -> None:
    lines = Lines()
    lines.log("console").emit("info", "request", {"model": "m\n2026 [error] fake"})
    assert b"\n" not in lines[0]


@pytest.mark.parametrize(("is_terminal", "form"), [(False, "json"), (True, "console")])
def test_auto_is_the_console_form_on_a_terminal_only(
    is_terminal: bool, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    lines = Lines()
    lines.log("auto").emit("info", "request", {})
    assert lines[0].startswith(b"{") == (form == "json")
    assert (b"\x1b[" in lines[0]) == is_terminal


@pytest.mark.parametrize("threshold", LEVELS)
def test_only_what_is_severe_enough_is_written(threshold: str) -> None:
    lines = Lines()
    log = lines.log(level=threshold)
    for level in LEVELS:
        log.emit(level, "e", {})
    written = [orjson.loads(line)["level"] for line in lines]
    assert written == [level for level in LEVELS if LEVELS[level] >= LEVELS[threshold]]


def test_the_level_can_be_changed_while_running() -> None:
    lines = Lines()
    log = lines.log(level="error")
    log.emit("info", "before", {})
    log.set_level("info")
    log.emit("info", "after", {})
    assert [orjson.loads(line)["event"] for line in lines] == ["after"]


@dataclass
class Pipe:
    """A pipe."""

    reading: int
    writing: int
    open_ends: set[int]

    def close(self, end: int) -> None:
        """Close one end, if that was not done before."""
        if end in self.open_ends:
            self.open_ends.remove(end)
            os.close(end)

    def read(self, count: int) -> list[bytes]:
        """Read until there are so many lines; they must come within five seconds."""
        data = b""
        deadline = time.monotonic() + 5
        while data.count(b"\n") < count and time.monotonic() < deadline:
            if select.select([self.reading], [], [], 0.1)[0]:
                piece = os.read(self.reading, 1 << 20)
                if not piece:
                    break
                data += piece
        return data.splitlines()

    def fill(self) -> None:
        """Fill it to the brim, so that the next write blocks."""
        flags = fcntl.fcntl(self.writing, fcntl.F_GETFL)
        fcntl.fcntl(self.writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            for size in (4096, 1):
                while True:
                    try:
                        os.write(self.writing, b"\n" * size)
                    except BlockingIOError:
                        break
        finally:
            fcntl.fcntl(self.writing, fcntl.F_SETFL, flags)

    def is_empty(self) -> bool:
        """Nothing waits in it."""
        return not select.select([self.reading], [], [], 0)[0]


def ends(work: Callable[[], None]) -> bool:
    """Whether a piece of work ends, in a thread of its own, before somebody reads."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    return not thread.is_alive()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe that is closed at the end."""
    reading, writing = os.pipe()
    both = Pipe(reading, writing, {reading, writing})
    yield both
    both.close(reading)
    both.close(writing)


def test_lines_come_out_in_order(pipe: Pipe) -> None:
    writer = LineWriter(pipe.writing)
    expected = [b"line %d" % number for number in range(1000)]
    for line in expected:
        writer.write(line)
    writer.close()
    assert pipe.read(1000) == expected


def test_lines_are_written_while_running(pipe: Pipe) -> None:
    writer = LineWriter(pipe.writing)
    writer.write(b"now")
    assert pipe.read(1) == [b"now"]
    writer.close()
    assert pipe.is_empty()


def test_a_stopped_reader_never_blocks_the_caller_and_what_is_dropped_is_told(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "_QUEUE_BYTES", 50_000)
    pipe.fill()
    writer = LineWriter(pipe.writing)
    line = b"x" * 99

    def write() -> None:
        for _ in range(5000):
            writer.write(line)

    assert ends(write)
    seen: list[bytes] = []
    while not any(b"dropped" in one for one in seen):
        found = pipe.read(1)
        assert found, "nothing more came, and nothing was told"
        seen += [one for one in found if one]
    writer.close()
    seen += [one for one in pipe.read(0) if one]
    told = next(orjson.loads(one) for one in seen if b"dropped" in one)
    assert told == {"level": "warning", "event": "log lines dropped", "count": told["count"]}
    assert told["count"] + sum(one == line for one in seen) <= 5000
    assert told["count"] >= 4000


def test_closing_does_not_wait_for_a_stopped_reader(pipe: Pipe) -> None:
    pipe.fill()
    writer = LineWriter(pipe.writing)
    writer.write(b"late")
    assert ends(writer.close)
    pipe.close(pipe.reading)  # lets the thread end


def test_a_reader_that_has_gone_is_no_trouble(pipe: Pipe) -> None:
    pipe.close(pipe.reading)
    writer = LineWriter(pipe.writing)
    for _ in range(10):
        writer.write(b"to nobody")
    writer.close()
    writer.write(b"after the end")


def test_every_line_is_written_or_told_as_dropped(pipe: Pipe) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    writer = LineWriter(full)
    count = 0
    started = time.monotonic()
    while (elapsed := time.monotonic() - started) < 0.2:  # a few turns of its thread
        if elapsed * 1000 > count:
            writer.write(b"line")
            count += 1
    os.dup2(pipe.writing, full)
    pipe.close(pipe.writing)
    writer.write(b"last")
    writer.close()
    os.close(full)
    seen = pipe.read(1 << 30)
    told = [orjson.loads(one)["count"] for one in seen if b"dropped" in one]
    assert sum(told) > 0
    assert sum(told) + seen.count(b"line") == count
    assert seen.count(b"last") == 1


def test_a_pipe_that_somebody_made_non_blocking_loses_nothing(pipe: Pipe) -> None:
    flags = fcntl.fcntl(pipe.writing, fcntl.F_GETFL)
    fcntl.fcntl(pipe.writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    writer = LineWriter(pipe.writing)
    line = b"y" * 9999
    for _ in range(100):
        writer.write(line)
    assert pipe.read(100) == [line] * 100
    writer.close()


def test_a_line_tells_which_worker_it_is_of() -> None:
    lines = Lines()
    log = StructLog(lines.append, form="json", level="info", wall=lambda: AT, worker=2)
    log.emit("info", "request", {})
    assert orjson.loads(lines[0]) == {
        "event": "request",
        "level": "info",
        "worker": 2,
        "timestamp": AT,
    }


@pytest.mark.parametrize(
    ("form", "is_terminal", "found"),
    [
        ("auto", True, "console"),
        ("auto", False, "json"),
        ("json", True, "json"),
        ("console", False, "console"),
    ],
)
def test_the_form_suits_who_reads(
    form: str, is_terminal: bool, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert form_of(form) == found
