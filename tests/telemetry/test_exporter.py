"""The way to the collector: bounds, tries, and what is told of them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.core.trace import Context
from proxy.telemetry import exporter
from proxy.telemetry.exporter import MAX_CHARACTERS, Exporter
from proxy.telemetry.spans import Kind, Span, Value
from tests.fakes.collector import Collector, Received
from tests.fakes.lines import Lines
from tests.watch import until

CONTEXT = Context(bytes(range(1, 17)), bytes(range(1, 9)), 1)
PARENT = bytes(range(11, 19))
LINK = Context(bytes(range(31, 47)), bytes(range(31, 39)), 1)
SPAN = Span(CONTEXT, b"", "chat m", Kind.SERVER, 1_760_000_000_000_000_001, 2**63, {})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "EVERY_SECONDS", 0.01)


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as server:
        yield server


@pytest.fixture
def log() -> Lines:
    return Lines()


def make(url: str, log: Lines, headers: dict[str, str] | None = None) -> Exporter:
    """An exporter to there."""
    return Exporter(
        url,
        headers or {},
        resource={"service.name": "s", "worker": 2},
        scope="reprise",
        version="1",
        log=log,
    )


@pytest.fixture
async def sending(log: Lines) -> AsyncIterator[Callable[..., Exporter]]:
    """Makes exporters, which end with the test."""
    made: list[Exporter] = []

    def start(url: str, headers: dict[str, str] | None = None) -> Exporter:
        made.append(make(url, log, headers))
        return made[-1]

    yield start
    for one in made:
        await asyncio.to_thread(one.close, 0.5)


Sending = Callable[..., Exporter]


async def told(sending: Sending, collector: Collector, span: Span) -> Received:
    """A span as it arrives."""
    sending(f"{collector.url}/v1/traces").add(span)
    return (await collector.has(1))[0]


async def test_a_span_arrives_as_it_was_made(sending: Sending, collector: Collector) -> None:
    span = SPAN._replace(
        parent=PARENT, has_failed=True, is_remote=True, state="a=1,b=2", links=[LINK, CONTEXT]
    )
    one = await told(sending, collector, span)
    resource = one.resource
    assert (resource["service.name"], resource["worker"]) == ("s", 2)
    assert one == Received(
        name="chat m",
        kind="server",
        trace_id=CONTEXT.trace_id.hex(),
        span_id=CONTEXT.span_id.hex(),
        parent=PARENT.hex(),
        began=1_760_000_000_000_000_001,
        ended=2**63,
        has_failed=True,
        is_remote=True,
        state="a=1,b=2",
        links=tuple((c.trace_id.hex(), c.span_id.hex()) for c in (LINK, CONTEXT)),
        attributes={},
        resource=resource,
    )


async def test_what_a_span_does_not_have_is_not_there(
    sending: Sending, collector: Collector
) -> None:
    one = await told(sending, collector, SPAN)
    assert (one.parent, one.has_failed, one.is_remote, one.state) == ("", False, False, "")
    assert one.links == ()


@pytest.mark.parametrize("kind", list(Kind))
async def test_kinds_are_those_of_the_protocol(
    sending: Sending, collector: Collector, kind: Kind
) -> None:
    one = await told(sending, collector, SPAN._replace(kind=kind))
    assert one.kind == kind.name.lower()


async def test_values_keep_their_types(sending: Sending, collector: Collector) -> None:
    values: dict[str, Value] = {"a": True, "b": 1, "c": 1.0, "d": "1", "e": False, "f": 0}
    found = (await told(sending, collector, SPAN._replace(attributes=values))).attributes
    assert found == values
    assert [type(value) for value in found.values()] == [bool, int, float, str, bool, int]


async def test_texts_are_bounded_and_lone_surrogates_replaced(
    sending: Sending, collector: Collector
) -> None:
    odd: dict[str, Value] = {"long": "x" * 1000, "odd": "a\udcffb", "fine": "\u00e9"}
    one = await told(sending, collector, SPAN._replace(name="n\udcff" * 1000, attributes=odd))
    assert one.attributes == {"long": "x" * MAX_CHARACTERS, "odd": "a?b", "fine": "\u00e9"}
    assert one.name == "n?" * (MAX_CHARACTERS // 2)


async def test_spans_arrive_with_the_headers(sending: Sending, collector: Collector) -> None:
    one = sending(f"{collector.url}/v1/traces", {"x-team": "search"})
    one.add(SPAN)
    await collector.has(1)
    head = collector.heads[0]
    assert head["content-type"] == "application/x-protobuf"
    assert head["x-team"] == "search"
    await until(lambda: one.counts == (1, 0))
    assert one.state == "ok"


async def test_what_waits_is_sent_in_parts_and_none_is_lost(
    sending: Sending, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "MAX_REQUEST_SPANS", 10)
    one = sending(f"{collector.url}/v1/traces")
    for _ in range(95):
        one.add(SPAN)
    await collector.has(95)
    await until(lambda: one.counts == (95, 0))
    assert collector.asked >= 10


async def test_what_does_not_fit_is_dropped_and_counted(
    sending: Sending, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "MAX_SPANS", 10)
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


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413, 500])
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


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_is_refused_for_now_is_sent_again(
    sending: Sending, collector: Collector, status: int
) -> None:
    collector.status = status
    collector.fields = {"Retry-After": "0.05"}
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: collector.asked >= 2)
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


async def test_who_does_not_answer_in_time_gets_the_next_ones(
    sending: Sending, collector: Collector, log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "TIMEOUT_SECONDS", 0.05)
    collector.may_answer.clear()
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: one.counts == (0, 1))
    assert one.state == "failing"
    assert log.told("why") == ["it does not answer in time"]
    monkeypatch.setattr(exporter, "TIMEOUT_SECONDS", 10.0)
    collector.may_answer.set()
    other = sending(f"{collector.url}/v1/traces")
    other.add(SPAN)
    await until(lambda: other.counts == (1, 0))


async def test_nobody_listens(sending: Sending, log: Lines) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    one = sending(f"http://127.0.0.1:{port}/v1/traces")
    one.add(SPAN)
    await until(lambda: one.state == "failing")
    assert log.told("why") == ["Connection refused"]


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
    one = make(f"{collector.url}/v1/traces", log)
    one.add(SPAN)
    await asyncio.to_thread(one.close)
    assert one.counts == (1, 0)
    one.add(SPAN)
    assert one.counts == (1, 1)


async def test_closing_does_not_wait_for_a_frozen_collector(
    collector: Collector, log: Lines
) -> None:
    collector.may_answer.clear()
    one = make(f"{collector.url}/v1/traces", log)
    one.add(SPAN)
    await until(lambda: collector.asked)
    one.add(SPAN)
    await asyncio.to_thread(one.close, 0.05)
    assert one.counts == (0, 2)


async def test_closing_gives_up_a_collector_that_is_down(log: Lines) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    one = make(f"http://127.0.0.1:{port}/v1/traces", log)
    for _ in range(3):
        one.add(SPAN)
    await until(lambda: one.state == "failing")
    await asyncio.to_thread(one.close, 0.05)
    assert one.counts == (0, 3)


async def test_neither_proxies_nor_credentials_of_the_environment_are_used(
    sending: Sending, collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password secret")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    sending(f"{collector.url}/v1/traces").add(SPAN)
    await collector.has(1)
    assert "authorization" not in collector.heads[0]


async def test_the_sdk_logs_nothing_of_its_own(
    sending: Sending, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 500
    one = sending(f"{collector.url}/v1/traces")
    one.add(SPAN)
    await until(lambda: one.counts.dropped == 1)
    assert caplog.records == []
