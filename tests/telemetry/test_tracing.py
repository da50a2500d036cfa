"""What spans are made of an exchange; e2e/test_tracing.py has the whole way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from multidict import CIMultiDict

from proxy.core.exchange import Exchange, Fwd, Level, Stage, Timed
from proxy.core.trace import Trace
from proxy.telemetry import exporter
from proxy.telemetry.tracing import ATTRIBUTES, MODEL_CHARACTERS, Tracer
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector, Received
from tests.fakes.lines import Lines
from tests.telemetry.test_metrics import EXCHANGE
from tests.watch import until

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FIELD = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    monkeypatch.setattr(exporter, "EVERY_SECONDS", 0.01)
    async with Collector() as server:
        yield server


@pytest.fixture
async def tracer(collector: Collector, clock: FakeClock) -> AsyncIterator[Callable[..., Tracer]]:
    """Makes tracers, which end with the test."""
    made: list[Tracer] = []

    def make(**others: Any) -> Tracer:
        settings: dict[str, Any] = {
            "endpoint": f"{collector.url}/v1/traces",
            "headers": {},
            "service": "llm-cache",
            "sample": 1.0,
            "version": "1",
            "worker": None,
            "clock": clock,
            "log": Lines(),
        }
        made.append(Tracer(**settings | others))
        return made[-1]

    yield make
    for one in made:
        await asyncio.to_thread(one.close)


def headers(traceparent: str | None = FIELD, state: str = "") -> CIMultiDict[str]:
    """The fields of a request."""
    fields = CIMultiDict({"Host": "h", "tracestate": state})
    if traceparent is not None:
        fields["traceparent"] = traceparent
    return fields


def begun(tracer: Tracer, *fields: str) -> Trace:
    """The trace of a client that samples it."""
    trace = tracer.begin(headers(*fields))
    assert trace is not None
    return trace


Make = Callable[..., Tracer]


async def told(tracer: Tracer, collector: Collector, exchange: Exchange) -> Received:
    """The span of an exchange."""
    exchange.trace = begun(tracer)
    tracer.report(exchange)
    return (await collector.has(1))[0]


@pytest.mark.parametrize(
    ("changes", "attributes"),
    [
        ({"level": Level.EXACT, "age": 3, "ttl": 9}, {"hit": "exact", "age": 3, "ttl": 9}),
        ({"level": Level.NEGATIVE}, {"hit": "negative", "age": 0, "ttl": 0}),
        ({"fwd": Fwd.BYPASS, "detail": "stream"}, {"fwd": "bypass", "detail": "stream"}),
        (
            {"fwd": Fwd.MISS, "collapsed": True, "stored": False},
            {"fwd": "miss", "collapsed": True, "stored": False},
        ),
        (
            {
                "fwd": Fwd.MISS,
                "similarity": 0.5,
                "meaning": "objection",
                "guard": "numbers",
                "meaning_seconds": 0.1,
            },
            {"fwd": "miss", "similarity": 0.5, "meaning": "objection", "guard": "numbers"},
        ),
        (
            {"level": Level.SEMANTIC, "similarity": 0.75, "meaning_seconds": 0.1},
            {"hit": "semantic", "age": 0, "ttl": 0, "similarity": 0.75, "meaning": "match"},
        ),
    ],
)
async def test_what_the_cache_did_is_told(
    tracer: Make, collector: Collector, changes: dict[str, Any], attributes: dict[str, Any]
) -> None:
    span = await told(tracer(), collector, replace(EXCHANGE, **changes))
    assert {
        name.removeprefix("proxy.cache."): value
        for name, value in span.attributes.items()
        if name.startswith("proxy.cache.")
    } == attributes
    assert span.attributes.keys() <= ATTRIBUTES.keys()


async def test_times_are_those_of_the_wall(
    tracer: Make, collector: Collector, clock: FakeClock
) -> None:
    offset = clock.now() - clock.monotonic()
    span = await told(tracer(), collector, replace(EXCHANGE))
    assert span.began == pytest.approx((10.0 + offset) * 1e9, abs=1000)
    assert span.ended - span.began == pytest.approx(2e9, abs=1000)
    assert span.attributes["proxy.time_to_first_byte"] == 0.25


async def test_what_clients_write_is_bounded(tracer: Make, collector: Collector) -> None:
    long = "x" * 10_000
    exchange = replace(EXCHANGE, model=long, path=f"/{long}", method=long, request_id=long)
    span = await told(tracer(), collector, exchange)
    assert span.name == f"chat {'x' * MODEL_CHARACTERS}"
    assert span.attributes["http.request.method"] == "_OTHER"
    assert all(len(str(value)) <= 256 for value in span.attributes.values())


async def test_an_unknown_method_is_no_part_of_a_name(tracer: Make, collector: Collector) -> None:
    exchange = replace(EXCHANGE, operation="", method="BREW", path="/pot")
    assert (await told(tracer(), collector, exchange)).name == "HTTP /pot"


@pytest.mark.parametrize(("value", "kept"), [("1", 32), ("1" * 40, 10)])
async def test_the_first_members_of_a_long_state_are_kept(
    tracer: Make, collector: Collector, value: str, kept: int
) -> None:
    one = tracer()
    members = [f"vendor{number}={value}" for number in range(100)]
    one.report(replace(EXCHANGE, trace=begun(one, FIELD, ",".join(members))))
    assert (await collector.has(1))[0].state == ",".join(members[:kept])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
async def test_the_share_of_traces_that_begin_here_is_sampled(tracer: Make, share: float) -> None:
    chances = [0.0, 0.2, 0.3, 0.999]
    one = tracer(sample=share, chance=iter([*chances, *chances]).__next__)
    found = [one.begin(headers(None)) is not None for _ in chances]
    assert found == [chance < share for chance in chances]
    assert [one.begin(headers("nonsense")) is not None for _ in chances] == found
    assert begun(one).is_sampled
    assert not begun(one, FIELD[:-1] + "0").is_sampled
    assert not one.unsampled().is_sampled


async def test_several_contexts_are_none(tracer: Make) -> None:
    fields = headers()
    fields.add("traceparent", FIELD)
    trace = tracer().begin(fields)
    assert trace is not None
    assert trace.parent is None


async def test_ids_are_never_the_same(tracer: Make) -> None:
    one, other = tracer(), tracer()
    made = [maker.begin(headers(None)) for maker in (one, other) for _ in range(100)]
    contexts = [trace.context for trace in made if trace is not None]
    assert len({context.trace_id for context in contexts}) == 200
    assert len({context.span_id for context in contexts}) == 200


async def test_the_service_says_who_it_is(
    tracer: Make, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "k8s.pod.name=p%2C1,nonsense,deployment.environment.name=eu,service.name=no"
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", given)
    one = tracer(worker=2)
    resource = (await told(one, collector, replace(EXCHANGE))).resource
    assert len(resource.pop("service.instance.id")) == 36
    assert resource.pop("telemetry.sdk.version")
    assert resource == {
        "k8s.pod.name": "p,1",
        "deployment.environment.name": "eu",
        "service.name": "llm-cache",
        "service.version": "1",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.language": "python",
        "reprise.worker": 2,
    }


async def test_stages_are_children_of_the_lookup(tracer: Make, collector: Collector) -> None:
    one = tracer()
    stages = (Timed(Stage.EMBED, 10.5, 10.625), Timed(Stage.SEARCH, 10.75, 11.0))
    one.report(replace(EXCHANGE, looked_up=10.25, stages=stages, trace=begun(one)))
    spans = {span.name: span for span in await collector.has(4)}
    server, lookup = spans["chat"], spans["lookup"]
    assert lookup.parent == server.span_id
    assert (lookup.began, lookup.ended) == (server.began, spans["search"].ended)
    for name in ("embed", "search"):
        assert spans[name].parent == lookup.span_id
    assert spans["embed"].ended - spans["embed"].began == pytest.approx(125e6, abs=1000)


async def test_what_was_not_looked_up_has_no_lookup(tracer: Make, collector: Collector) -> None:
    one = tracer()
    for looked_up in (None, 10.25):
        one.report(replace(EXCHANGE, looked_up=looked_up, trace=begun(one)))
    spans = await collector.has(3)
    assert [span.name for span in spans] == ["chat", "chat", "lookup"]
    assert spans[2].ended - spans[2].began == pytest.approx(25e7, abs=1000)


async def test_no_span_is_made_while_there_is_no_room(
    tracer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tracer()
    monkeypatch.setattr(exporter, "MAX_SPANS", 0)
    trace = begun(one)
    trace.begin_call("http://u", method="POST", operation="chat", model="m")
    trace.end_call()
    stages = (Timed(Stage.EMBED, 10.5, 11.0),)
    one.report(replace(EXCHANGE, looked_up=10.25, stages=stages, trace=trace))
    assert one.figures() == {"trace_spans_sent": 0, "trace_spans_dropped": 4}


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("http://u:8000/x", "u", 8000),
        ("http://u", "u", 80),
        ("https://u.example/v1", "u.example", 443),
        ("http://[::1]:9", "::1", 9),
    ],
)
async def test_a_call_names_its_server(
    tracer: Make, collector: Collector, url: str, address: str, port: int
) -> None:
    trace = begun(tracer())
    call = trace.begin_call(url, method="GET", operation="", model="")
    call.status, call.is_resent = 404, True
    trace.end_call()
    (span,) = await collector.has(1)
    assert span.name == "GET"
    assert span.has_failed
    assert span.attributes == {
        "http.request.method": "GET",
        "http.request.resend_count": 1,
        "http.response.status_code": 404,
        "error.type": "404",
        "server.address": address,
        "server.port": port,
    }


async def test_an_exchange_without_a_trace_makes_no_span(
    tracer: Make, collector: Collector
) -> None:
    one = tracer()
    one.report(replace(EXCHANGE))
    await until(lambda: one.state == "ok")
    assert one.figures() == {"trace_spans_sent": 0, "trace_spans_dropped": 0}
