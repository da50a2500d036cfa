"""The record of requests: what it has, who may read it, and that nobody waits for it."""

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxy.core.exchange import Asked, Exchange, Fwd
from proxy.core.model import Request
from proxy.telemetry import record_log
from proxy.telemetry.record_log import RecordLog
from tests.conftest import Serve, StartProxy
from tests.core.values import question as body_of
from tests.core.values import request
from tests.fakes.client import ask, question
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import until


class Told:
    """What the log was told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.events.append(event)


def exchange(asked: Request) -> Exchange:
    made = Exchange(0.0, "POST", asked.path, asked=Asked(asked, b"c", b"g"))
    made.ended_at, made.tenant, made.fwd = 1_760_000_000.25, "ab12", Fwd.MISS
    return made


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@contextmanager
def recording(path: Path, told: Told) -> Iterator[RecordLog]:
    record = RecordLog(str(path), told.emit)
    try:
        yield record
    finally:
        record.close()


def test_a_line_is_the_request_and_what_came_of_it(tmp_path: Path) -> None:
    path, told = tmp_path / "record.jsonl", Told()
    pretty = (
        b'{\r\n  "model": "m",\n "messages": [{"role": "user", "content": "a\\nb \xe4\xbd\xa0"}]}'
    )
    with recording(path, told) as record:
        record.note(exchange(request(pretty, target="/v1/chat/completions?x=\udcff")))
        record.note(exchange(request(b"{}")._replace(body=None)))
        record.note(Exchange(0.0, "POST", "/"))
    (line,) = lines(path)
    assert line == {
        "method": "POST",
        "url": "/v1/chat/completions?x=\\udcff",
        "at": 1_760_000_000.25,
        "tenant": "ab12",
        "cache": "miss",
        "body": orjson.loads(pretty),
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert told.events == []


def test_it_goes_on_in_the_file_that_has_the_name(tmp_path: Path) -> None:
    path, told = tmp_path / "record.jsonl", Told()
    asked = exchange(request(body_of("Q")))
    with recording(path, told) as record:
        record.note(asked)
        record._flush()
        path.rename(tmp_path / "record.1")
        record.note(asked)
        record._flush()
        record.reopen()
        record.note(asked)
    assert len(lines(tmp_path / "record.1")) == 2
    assert len(lines(path)) == 1


def test_what_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    path, told = tmp_path / "none" / "record.jsonl", Told()
    asked = exchange(request(body_of("Q")))
    with recording(path, told) as record:
        for _ in range(3):
            record.note(asked)
            record._flush()
        assert told.events == ["requests are no longer recorded"]
        path.parent.mkdir()
        record.reopen()
        record.note(asked)
    assert len(lines(path)) == 1
    assert len(told.events) == 1


def test_the_queue_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_log, "_FLUSH_SECONDS", 60.0)
    monkeypatch.setattr(record_log, "_QUEUE_BYTES", 400)
    path, told = tmp_path / "record.jsonl", Told()
    with recording(path, told) as record:
        for _ in range(10):
            record.note(exchange(request(body_of("Q" * 50))))
    assert told.events == ["requests not recorded"]
    assert 0 < len(lines(path)) < 10


async def test_only_what_is_looked_up_is_recorded(proxy: StartProxy, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    async with proxy(f"privacy: {{record_requests: {path}}}") as app:
        for _ in range(2):
            await ask(app.url, question("你好"))
        await ask(app.url, question("no"), fields=[("Cache-Control", "no-store")])
        await ask(app.url, question("warm"), fields=[("x-cache-priority", "background")])
    found = lines(path)
    assert [line["cache"] for line in found] == ["miss", "exact"]
    assert found[0]["body"] == orjson.loads(question("你好"))
    assert found[0]["tenant"] == found[1]["tenant"] != ""


async def test_nothing_is_kept_where_nobody_wants_it(proxy: StartProxy) -> None:
    async with proxy() as app:
        seen: list[Exchange] = []
        app._backlog._report = seen.append
        await ask(app.url)
        await until(lambda: seen)
    assert seen[0].asked is None


async def test_a_rotated_file_is_let_go_on_sighup(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    config, path = tmp_path / "c.yaml", tmp_path / "record.jsonl"
    config.write_text(
        f"privacy: {{record_requests: {path}}}\nsemantic: {{enabled: false}}\n"
        "persist: {disk: {enabled: false}}"
    )
    async with serve("--upstream", upstream.url, "--config", str(config)) as process:
        await ask(process.url)
        await until(lambda: path.exists() and path.stat().st_size)
        path.rename(tmp_path / "record.1")
        process.signal(signal.SIGHUP)
        await process.logged("configuration unchanged")
        await ask(process.url)
    assert len(lines(path)) == len(lines(tmp_path / "record.1")) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
async def test_a_full_disk_ends_the_record_and_nothing_else(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    config, full = tmp_path / "c.yaml", "/dev/full"
    config.write_text(
        f"privacy: {{record_requests: {full}}}\nsemantic: {{enabled: false}}\n"
        "persist: {disk: {enabled: false}}"
    )
    async with serve("--upstream", upstream.url, "--config", str(config)) as process:
        await ask(process.url)
        told = await process.logged("requests are no longer recorded")
        assert "No space left" in told["why"]
        for _ in range(3):
            assert (await ask(process.url)).is_hit
    assert len(process.events("requests are no longer recorded")) == 1
