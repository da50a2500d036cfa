"""The way to the collector: bounds, tries, and what is told of them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from proxy.core.trace import Context
from proxy.telemetry import exporter
from proxy.telemetry.exporter import Exporter
from proxy.telemetry.spans import Kind, Span, SpanWriter
from tests.fakes.collector import Collector
from tests.fakes.lines import Lines
from tests.watch import until

WRITER = SpanWriter({"service.name": "s"}, "reprise", "1")
SPAN = WRITER.span(Span(Context(b"\x01" * 16, b"\x02" * 8, 1), b"", "n", Kind.SERVER, 1, 2, {}))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(exporter, "FIRST_PAUSE", 0.01)


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as server:
        yield server


@pytest.fixture
def log() -> Lines:
    return Lines()


@pytest.fixture
async def sending(log: Lines) -> AsyncIterator[Callable[[str], Exporter]]:
    """Makes exporters, which end with the test."""
    made: list[Exporter] = []

    def start(url: str, headers: dict[str, str] | None = None) -> Exporter:
        made.append(
            Exporter(url, headers or {}, request=WRITER.request, log=log, user_agent="reprise/1")
        )
        return made[-1]

    yield start
    for one in made:
        await asyncio.to_thread(one.close, 0.5)


Sending = Callable[..., Exporter]


async def test_spans_arrive_with_the_headers(sending: Sending, collector: Collector) -> None:
    one = sending(f"{collector.url}/v1/traces", {"x-team": "search"})
    one.add(SPAN)
    await collector.has(1)
    head = collector.heads[0]
    assert head["content-type"] == "application/x-protobuf"
    assert (head["x-team"], head["user-agent"]) == ("search", "reprise/1")
    await until(lambda: one.counts == (1, 0))
    assert one.state == "ok"


async def test_what_waits_is_sent_in_parts_and_none_is_lost(
    sending: Sending, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "MAX_REQUEST_BYTES", 10 * len(SPAN))
    one = sending(f"{collector.url}/v1/traces")
    for _ in range(95):
        one.add(SPAN)
    await collector.has(95)
    await until(lambda: one.counts == (95, 0))
    assert collector.asked >= 10


async def test_what_does_not_fit_is_dropped_and_counted(
    sending: Sending, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "MAX_QUEUED_BYTES", 10 * len(SPAN))
    collector.may_answer.clear()
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: collector.asked)
    for _ in range(14):
        one.add(SPAN)  # the one that is under way still has its place
    assert one.is_full
    assert one.counts == (0, 5)
    one.drop(2)
    collector.may_answer.set()
    await collector.has(10)
    await until(lambda: one.counts == (10, 7))
    assert not one.is_full


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500])
async def test_what_is_refused_for_good_is_given_up(
    sending: Sending, collector: Collector, log: Lines, status: int
) -> None:
    collector.status = status
    one = sending(f"{collector.url}/v1/traces")
    for _ in range(3):
        one.add(SPAN)
    await until(lambda: one.counts.dropped == 3)
    one.add(SPAN)
    await until(lambda: one.counts.dropped == 4)
    assert one.state == "failing"
    assert log.told("why") == [f"it answers with status {status}"]
    collector.status = 200
    one.add(SPAN)
    await collector.has(1)
    await until(lambda: one.state == "ok")
    assert [event for _, event, _ in log.lines] == [
        "traces do not reach the collector",
        "traces reach the collector again",
    ]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_what_is_refused_for_now_is_sent_again(
    sending: Sending, collector: Collector, status: int
) -> None:
    collector.status = status
    collector.fields = {"Retry-After": "0"}
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: collector.asked >= 3)
    collector.status = 200
    await collector.has(1)
    await until(lambda: one.counts == (1, 0))
    assert len(collector.spans) == 1


async def test_a_connection_that_the_collector_closed_is_no_failure(
    sending: Sending, collector: Collector, log: Lines
) -> None:
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await collector.has(1)
    await until(lambda: one.counts.sent == 1)
    await collector.stop()
    async with Collector(collector.port) as again:
        one.add(SPAN)
        await again.has(1)
        await until(lambda: one.counts == (2, 0))
    assert log.lines == []


async def test_who_does_not_answer_in_time_is_tried_again(
    sending: Sending, collector: Collector, log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "TIMEOUT_SECONDS", 0.05)
    collector.may_answer.clear()
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: one.state == "failing")
    assert log.told("why") == ["it does not answer in time"]
    assert one.counts == (0, 0)
    monkeypatch.setattr(exporter, "TIMEOUT_SECONDS", 10.0)
    collector.may_answer.set()
    await until(lambda: one.counts == (1, 0))


async def test_what_is_no_http_is_a_failure(sending: Sending, log: Lines) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        one = sending(f"http://127.0.0.1:{listener.getsockname()[1]}/v1/traces")
        one.add(SPAN)
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(listener)
        with connection:
            await loop.sock_recv(connection, 65536)
            await loop.sock_sendall(connection, b"SSH-2.0-what\r\n\r\n")
            await until(lambda: one.state == "failing")
    assert log.told("why") == ["BadStatusLine"]


async def test_closing_sends_what_waits(
    collector: Collector, log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "EVERY_SECONDS", 3600.0)
    one = Exporter(
        f"{collector.url}/v1/traces", {}, request=WRITER.request, log=log, user_agent="r"
    )
    one.add(SPAN)
    await asyncio.to_thread(one.close)
    assert one.counts == (1, 0)
    one.add(SPAN)
    assert one.counts == (1, 1)


async def test_closing_does_not_wait_for_a_frozen_collector(
    collector: Collector, log: Lines
) -> None:
    collector.may_answer.clear()
    one = Exporter(
        f"{collector.url}/v1/traces", {}, request=WRITER.request, log=log, user_agent="r"
    )
    one.add(SPAN)
    await until(lambda: collector.asked)
    one.add(SPAN)
    await asyncio.to_thread(one.close, 0.05)
    assert one.counts == (0, 2)
