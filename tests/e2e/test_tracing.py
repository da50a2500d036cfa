"""Traces as a collector gets them (F6), and W3C context in and out."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from proxy.app import App
from proxy.telemetry import exporter
from proxy.telemetry.tracing import ATTRIBUTES
from tests.conftest import Serve, StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import Answer, ask, call, connect, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector, Received
from tests.fakes.semantic import comparing_by_words
from tests.fakes.upstream import ScriptedUpstream, error_reply, hang_up, json_reply, sse_reply
from tests.watch import figure, until

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
SAMPLED = [("traceparent", f"00-{TRACE}-{PARENT}-01"), ("tracestate", "vendor=a,other=b")]
UNSAMPLED = [("traceparent", f"00-{TRACE}-{PARENT}-00")]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for more spans."""
    monkeypatch.setattr(exporter, "EVERY_SECONDS", 0.02)


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    """A collector that takes all."""
    async with Collector() as server:
        yield server


def traced(collector: Collector, more: str = "", *, sample: float = 1.0) -> str:
    """Settings under which traces go there."""
    return f"tracing: {{endpoint: '{collector.url}', sample: {sample}}}\n{more}"


def named(spans: list[Received], name: str) -> Received:
    """The only span of a name."""
    (found,) = [span for span in spans if span.name == name]
    return found


def server(spans: list[Received]) -> Received:
    """The span of the request."""
    (found,) = [span for span in spans if span.kind == "server"]
    return found


def client(spans: list[Received]) -> Received:
    """The span of the upstream call."""
    (found,) = [span for span in spans if span.kind == "client"]
    return found


def assert_is_tree(spans: list[Received]) -> None:
    """Each span but the first lies in the time of its parent."""
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        assert span.began <= span.ended
        if span.parent in by_id:
            parent = by_id[span.parent]
            assert parent.began <= span.began
            assert span.ended <= parent.ended
        else:
            assert span.kind == "server"


async def test_a_miss_is_a_trace_with_the_upstreams_call(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    async with proxy(traced(collector)) as app:
        await ask(app.url, question())
        spans = await collector.has(3)
    assert sorted(span.name for span in spans) == ["chat m1", "chat m1", "lookup"]
    assert_is_tree(spans)
    one, upstreams = server(spans), client(spans)
    assert {span.trace_id for span in spans} == {one.trace_id}
    assert one.parent == ""
    assert {span.parent for span in spans if span is not one} == {one.span_id}
    told = one.attributes
    assert told["http.request.method"] == "POST"
    assert told["url.path"] == "/v1/chat/completions"
    assert told["http.response.status_code"] == 200
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "m1"
    assert told["proxy.cache.fwd"] == "miss"
    assert told["proxy.cache.stored"] is True
    assert told["proxy.time_to_first_byte"] > 0
    assert upstreams.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": int(upstream.url.rpartition(":")[2]),
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m1",
    }
    assert one.resource["service.name"] == "reprise"
    # The upstream is told of the call's span.
    seen = upstream.requests[0].header("traceparent")
    assert seen == f"00-{one.trace_id}-{upstreams.span_id}-01"


async def test_a_hit_has_no_call(proxy: StartProxy, collector: Collector) -> None:
    async with proxy(traced(collector)) as app:
        await ask(app.url, question())
        await ask(app.url, question())
        await collector.has(5)
    spans = collector.of(collector.spans[-1].trace_id)
    assert_is_tree(spans)
    assert sorted(span.kind for span in spans) == ["internal", "server"]
    told = server(spans).attributes
    assert told["proxy.cache.hit"] == "exact"
    assert told["proxy.cache.age"] == 0
    assert "proxy.cache.fwd" not in told


async def test_a_hit_by_meaning_shows_what_took_its_time(
    proxy: StartProxy, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)
    near = "semantic: {min_similarity: 0.7}"
    async with proxy(traced(collector, near)) as app:
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        await ask(app.url, question("How do I sort a list of words in Python?"))
        await until(lambda: figure(app, "semantic_entries") == 1)
        answer = await ask(app.url, question("How can I sort a list of words in Python?"))
        assert "detail=semantic" in answer.cache
        one = await collector.one(lambda span: span.attributes.get("proxy.cache.hit") == "semantic")
        await until(lambda: len(collector.of(one.trace_id)) == 5)
    spans = collector.of(one.trace_id)
    assert_is_tree(spans)
    lookup = named(spans, "lookup")
    assert lookup.parent == one.span_id
    within = [named(spans, name) for name in ("embed", "search", "gate")]
    assert {span.parent for span in within} == {lookup.span_id}
    assert within == sorted(within, key=lambda span: span.began)
    assert one.attributes["proxy.cache.meaning"] == "match"
    assert one.attributes["proxy.cache.similarity"] > 0.7


async def test_a_stream_is_one_call_until_its_end(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    may_end = asyncio.Event()
    first, *rest = chat_stream("a b c")
    upstream.will(sse_reply(first, may_end, *rest))
    async with proxy(traced(collector)) as app, connect(app.url) as connection:
        body = question(stream=True)
        await connection.send("POST", "/v1/chat/completions", fields=posting(), body=body)
        await connection.head()
        await connection.read(1)
        assert not any(span.kind == "client" for span in collector.spans)
        may_end.set()
        await connection.rest()
        spans = await collector.has(3)
    # The call ends with the stream, perhaps a moment after its last byte is with the client.
    upstreams, one = client(spans), server(spans)
    assert upstreams.parent == one.span_id
    assert upstreams.began >= one.began
    assert upstreams.ended - upstreams.began > 0
    assert not upstreams.has_failed


async def test_who_shares_a_call_links_to_it(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    may_answer = asyncio.Event()
    upstream.will(json_reply(chat_answer("A"), before_head=may_answer))
    async with proxy(traced(collector)) as app:
        first = asyncio.ensure_future(ask(app.url, question()))  # noqa: TID251
        await upstream.received(1)
        second = asyncio.ensure_future(ask(app.url, question()))  # noqa: TID251
        await until(lambda: app.condition.handler.in_flight == 2)
        may_answer.set()
        await asyncio.gather(first, second)
        spans = await collector.has(5)
    upstreams = client(spans)
    follower = next(s for s in spans if s.attributes.get("proxy.cache.collapsed"))
    assert follower.links == ((upstreams.trace_id, upstreams.span_id),)
    assert follower.trace_id != upstreams.trace_id
    assert upstream.calls == 1


@pytest.mark.parametrize("is_operation", [True, False])
async def test_an_upstream_that_fails_is_an_error_of_both(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector, is_operation: bool
) -> None:
    upstream.will(*[hang_up()] * 2)
    async with proxy(traced(collector)) as app:
        if is_operation:
            answer = await ask(app.url, question())
        else:
            answer = await call(app.url, "GET", "/v1/models")
        assert answer.status == 502
        spans = await collector.has(2 + is_operation)
    for span in (server(spans), client(spans)):
        assert span.has_failed
        assert span.attributes["error.type"] == json.loads(answer.body)["error"]["code"]
    assert server(spans).attributes["http.response.status_code"] == 502


async def test_an_upstreams_refusal_is_an_error_of_the_call_only(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    upstream.will(error_reply(400))
    async with proxy(traced(collector)) as app:
        await ask(app.url, question())
        spans = await collector.has(3)
    assert client(spans).attributes["error.type"] == "400"
    assert not server(spans).has_failed
    assert "error.type" not in server(spans).attributes


async def test_a_client_that_leaves_has_its_span_at_once_and_the_call_when_it_ends(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    may_answer = asyncio.Event()
    upstream.will(json_reply(chat_answer("A"), before_head=may_answer))
    async with proxy(traced(collector)) as app:
        async with connect(app.url) as connection:
            await connection.send("POST", "/v1/chat/completions", fields=posting(), body=question())
            await upstream.received(1)
        one = await collector.one(lambda span: span.kind == "server")
        assert one.attributes["proxy.client_gone"] is True
        assert not any(span.kind == "client" for span in collector.spans)
        may_answer.set()
        upstreams = await collector.one(lambda span: span.kind == "client")
    assert upstreams.parent == one.span_id
    assert not upstreams.has_failed


async def test_a_call_that_is_given_up_is_cancelled(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    upstream.will(json_reply(chat_answer("A"), before_head=asyncio.Event()))
    settings = traced(collector, "policy: {on_client_gone: abort}")
    async with proxy(settings) as app:
        async with connect(app.url) as connection:
            await connection.send("POST", "/v1/chat/completions", fields=posting(), body=question())
            await upstream.received(1)
        upstreams = await collector.one(lambda span: span.kind == "client")
    assert upstreams.attributes["error.type"] == "cancelled"


async def test_what_is_no_operation_is_named_by_its_path(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    async with proxy(traced(collector)) as app:
        await call(app.url, "GET", "/v1/models?secret=1")
        spans = await collector.has(2)
    assert_is_tree(spans)
    assert server(spans).name == "GET /v1/models"
    assert client(spans).name == "GET"
    assert server(spans).attributes["proxy.cache.fwd"] == "bypass"
    assert not any("secret" in str(span) for span in spans)


async def test_a_clients_trace_goes_on(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    # Its own flag decides, whatever the share of those that begin here.
    async with proxy(traced(collector, sample=0)) as app:
        await ask(app.url, question(), fields=SAMPLED)
        spans = await collector.has(3)
    one = server(spans)
    assert {span.trace_id for span in spans} == {TRACE}
    assert (one.parent, one.is_remote, one.state) == (PARENT, True, "vendor=a,other=b")
    assert_is_tree([span for span in spans if span.parent != PARENT] + [one])
    seen = upstream.requests[0]
    assert seen.header("traceparent") == f"00-{TRACE}-{client(spans).span_id}-01"
    assert seen.header("tracestate") == "vendor=a,other=b"


async def test_what_a_client_does_not_sample_is_not_sampled_here(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    lines: list[bytes] = []
    async with proxy(traced(collector), log=lines) as app:
        await ask(app.url, question(), fields=UNSAMPLED)
    assert collector.spans == []
    version, trace_id, span_id, flags = str(upstream.requests[0].header("traceparent")).split("-")
    assert (version, trace_id, flags) == ("00", TRACE, "00")
    assert span_id != PARENT
    assert not any(b"trace_id" in line for line in lines)


async def test_what_the_share_leaves_out_is_not_sampled_further_on(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    async with proxy(traced(collector, sample=0)) as app:
        await ask(app.url, question())
    assert collector.asked == 0
    assert str(upstream.requests[0].header("traceparent")).endswith("-00")


@pytest.mark.parametrize(
    "value", ["nonsense", f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01"]
)
async def test_a_malformed_context_begins_another_trace(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector, value: str
) -> None:
    fields = [("traceparent", value), ("tracestate", "vendor=a")]
    async with proxy(traced(collector)) as app:
        await ask(app.url, question(), fields=fields)
        spans = await collector.has(3)
    one = server(spans)
    assert (one.parent, one.is_remote, one.state) == ("", False, "")
    assert one.trace_id != TRACE
    assert str(upstream.requests[0].header("traceparent")).startswith(f"00-{one.trace_id}-")
    assert upstream.requests[0].header("tracestate") is None


async def test_without_tracing_the_context_passes_as_it_came(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    fields = [("TraceParent", "any thing"), ("tracestate", "a=1"), ("tracestate", "b=2")]
    async with proxy() as app:
        await ask(app.url, question(), fields=fields)
    kept = [(n.decode(), v.decode()) for n, v in upstream.requests[0].fields]
    assert [pair for pair in kept if pair[0].lower().startswith("trace")] == fields


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_trace_is_no_part_of_the_question(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector, is_on: bool
) -> None:
    upstream.will(
        json_reply(chat_answer("A"), fields=[("traceresponse", "00-x"), ("tracestate", "a=1")])
    )
    async with proxy(traced(collector) if is_on else "{}") as app:
        await ask(app.url, question(), fields=SAMPLED)
        again = await ask(app.url, question(), fields=UNSAMPLED)
    assert again.is_hit
    assert again.header("traceresponse") is None
    assert again.header("tracestate") is None


async def test_a_call_of_the_proxys_own_is_a_trace_of_its_own(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector, clock: FakeClock
) -> None:
    settings = traced(collector, "ttl: {exact: 1m, jitter: 0, stale_while_revalidate: 1h}")
    async with proxy(settings, clock=clock) as app:
        await ask(app.url, question())
        clock.advance(120)
        stale = await ask(app.url, question(), fields=SAMPLED)
        assert stale.is_hit
        refresh = await collector.one(lambda span: "proxy.background" in span.attributes)
        one = await collector.one(lambda span: span.parent == PARENT)
    assert refresh.attributes["proxy.background"] == "refresh"
    assert (refresh.kind, refresh.name, refresh.parent) == ("client", "chat m1", "")
    assert refresh.links == ((TRACE, one.span_id),)
    assert refresh.trace_id != TRACE
    assert str(upstream.requests[1].header("traceparent")).startswith(f"00-{refresh.trace_id}-")


async def test_the_trace_of_an_application_by_opentelemetrys_sdk_goes_on(
    proxy: StartProxy, collector: Collector
) -> None:
    provider = TracerProvider()
    sdk = OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(sdk))
    async with proxy(traced(collector)) as app:
        with provider.get_tracer("app").start_as_current_span("application"):
            fields: dict[str, str] = {}
            TraceContextTextMapPropagator().inject(fields)
            await ask(app.url, question(), fields=fields.items())
        await collector.has(3)
        await asyncio.to_thread(provider.shutdown)
        spans = await collector.has(4)
    application, one = named(spans, "application"), server(spans)
    assert {span.trace_id for span in spans} == {application.trace_id}
    assert one.parent == application.span_id
    assert application.began < one.began < one.ended < application.ended


async def test_log_lines_name_the_trace(proxy: StartProxy, collector: Collector) -> None:
    lines: list[bytes] = []
    async with proxy(traced(collector), log=lines) as app:
        await ask(app.url, question(), fields=SAMPLED)
        one = await collector.one(lambda span: span.kind == "server")
    told = next(json.loads(line) for line in lines if b'"event":"request"' in line)
    assert (told["trace_id"], told["span_id"]) == (TRACE, one.span_id)


async def test_nothing_of_what_was_said_leaves(
    proxy: StartProxy, upstream: ScriptedUpstream, collector: Collector
) -> None:
    upstream.will(json_reply(chat_answer("the secret answer")))
    fields = [*SAMPLED, ("baggage", "user=secret-baggage")]
    lines: list[bytes] = []
    async with proxy(traced(collector), log=lines) as app:
        await ask(app.url, question("the secret question"), key="secret-key", fields=fields)
        spans = await collector.has(3)
    assert "secret" not in str([(span, span.resource) for span in spans])
    assert not any(b"secret" in line for line in lines)
    assert upstream.requests[0].header("baggage") == "user=secret-baggage"
    assert {name for span in spans for name in span.attributes} <= ATTRIBUTES.keys()


async def exemplars(app: App) -> dict[str, list[str]]:
    """The trace ids of exemplars by the metric that has them."""
    accept = [("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")]
    answer = await call(app.admin_url, "GET", "/metrics", fields=accept)
    assert str(answer.header("Content-Type")).startswith("application/openmetrics-text")
    found: dict[str, list[str]] = {}
    for family in text_string_to_metric_families(answer.body.decode()):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            if sample.exemplar is not None:
                found.setdefault(family.name, []).append(sample.exemplar.labels["trace_id"])
    return found


async def test_metrics_name_traces_as_examples(proxy: StartProxy, collector: Collector) -> None:
    async with proxy(traced(collector, sample=0)) as app:
        await ask(app.url, question())
        assert await exemplars(app) == {}
        await ask(app.url, question(), fields=SAMPLED)
        assert await exemplars(app) == {
            "reprise_request_duration_seconds": [TRACE],
            "reprise_time_to_first_byte_seconds": [TRACE],
        }
        plain = await call(app.admin_url, "GET", "/metrics")
    assert str(plain.header("Content-Type")).startswith("text/plain")
    assert TRACE.encode() not in plain.body


async def told_parts(app: App) -> dict[str, str]:
    answer = await call(app.admin_url, "GET", "/readyz?verbose")
    assert answer.status == 200
    parts: dict[str, str] = answer.json()["parts"]
    return parts


async def test_a_frozen_collector_is_in_nobodys_way(
    proxy: StartProxy, collector: Collector
) -> None:
    collector.may_answer.clear()
    async with proxy(traced(collector)) as app:
        answers: list[Answer] = [await ask(app.url, question()) for _ in range(3)]
        await until(lambda: collector.asked)
        answers += [await ask(app.url, question()) for _ in range(3)]
        assert [answer.status for answer in answers] == [200] * 6
        collector.may_answer.set()
        await collector.has(3 + 5 * 2)


async def test_a_collector_that_is_down_is_told_of_once_and_gets_all_when_it_is_back(
    proxy: StartProxy,
) -> None:
    lines: list[bytes] = []
    collector = Collector()
    await collector.start()
    await collector.stop()
    async with proxy(traced(collector), log=lines) as app:
        for _ in range(3):
            await ask(app.url, question())
        await until(lambda: any(b"do not reach" in line for line in lines))
        assert (await told_parts(app))["tracing"] == "failing"
        async with Collector(collector.port) as back:
            await back.has(3 + 2 * 2)
            await until(lambda: any(b"again" in line for line in lines))
            assert (await told_parts(app))["tracing"] == "ok"
            assert figure(app, "trace_spans_sent_total") == 7
            assert figure(app, "trace_spans_dropped_total") == 0
    told = [line for line in lines if b"the collector" in line]
    assert len(told) == 2


async def test_what_a_collector_does_not_want_is_dropped_and_counted(
    proxy: StartProxy, collector: Collector
) -> None:
    collector.status = 500
    async with proxy(traced(collector)) as app:
        await ask(app.url, question())
        await until(lambda: figure(app, "trace_spans_dropped_total") == 3)
        assert (await told_parts(app))["tracing"] == "failing"


async def test_without_the_sdk_requests_are_served_and_passed_on_as_they_came(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "proxy.telemetry.exporter")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)  # importing it fails
    lines: list[bytes] = []
    async with proxy(traced(collector), log=lines) as app:
        answer = await ask(app.url, question(), fields=SAMPLED)
        assert answer.status == 200
        assert (await told_parts(app))["tracing"] == "missing"
        assert b"trace_spans" not in app.exposition()
    (told,) = [json.loads(line) for line in lines if b"not traced" in line]
    assert told["level"] == "error"
    assert "pip install 'reprise-proxy[tracing]'" in told["remedy"]
    assert upstream.requests[0].header("traceparent") == SAMPLED[0][1]
    assert collector.asked == 0


def test_without_tracing_nothing_of_it_is_loaded() -> None:
    loaded = "import sys, proxy.cli.serve, proxy.app; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - Python itself
        [sys.executable, "-c", loaded], check=True, capture_output=True, text=True
    )
    names = set(done.stdout.split())
    assert "proxy.telemetry.tracing" in names
    # Redis' client looks for the SDK by itself, where it is installed.
    sdk = {"opentelemetry.sdk.trace", "opentelemetry.exporter", "opentelemetry.proto", "requests"}
    assert not names & (sdk | {"proxy.telemetry.exporter"})


async def test_without_tracing_there_is_no_part_of_it(proxy: StartProxy) -> None:
    async with proxy() as app:
        assert "tracing" not in await told_parts(app)
        assert b"trace_spans" not in app.exposition()


async def test_sigterm_sends_what_waits(
    serve: Serve, upstream: ScriptedUpstream, collector: Collector, tmp_path: Path
) -> None:
    file = tmp_path / "traced.yaml"
    file.write_text(traced(collector, "semantic: {enabled: false}"))
    environment = {"OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.name=p%201,service.name=ignored"}
    arguments = ("--upstream", upstream.url, "--config", str(file))
    async with serve(*arguments, environment=environment) as process:
        await ask(process.url, question())
        process.signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert len(collector.spans) == 3
    resource = collector.spans[0].resource
    assert (resource["k8s.pod.name"], resource["service.name"]) == ("p 1", "reprise")


async def test_workers_send_for_themselves_and_their_examples_are_united(
    serve: Serve, upstream: ScriptedUpstream, collector: Collector, tmp_path: Path
) -> None:
    file = tmp_path / "traced.yaml"
    file.write_text(traced(collector, "semantic: {enabled: false}\nworkers: 2"))
    async with serve("--upstream", upstream.url, "--config", str(file)) as process:
        await process.ready()

        async def both() -> bool:
            await ask(process.url, question())
            return len({span.resource["reprise.worker"] for span in collector.spans}) == 2

        async with asyncio.timeout(60):
            while not await both():
                pass
        accept = [("Accept", "application/openmetrics-text")]
        answer = await call(process.admin_url, "GET", "/metrics", fields=accept)
        plain = await call(process.admin_url, "GET", "/metrics")
    assert str(answer.header("Content-Type")).startswith("application/openmetrics-text")
    list(text_string_to_metric_families(answer.body.decode()))  # type: ignore[no-untyped-call]
    assert b"# {trace_id=" in answer.body
    assert b"# {trace_id=" not in plain.body
    assert b"reprise_workers 2.0" in plain.body
    instances = {span.resource["service.instance.id"] for span in collector.spans}
    assert len(instances) == 2
