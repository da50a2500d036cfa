"""Metrics: they parse, they count, and no client can make more of them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.core.cache.storable import Unstorable
from proxy.core.exchange import Exchange, Fwd, Level, Stage, Timed
from proxy.core.meaning.uncompared import Uncompared
from proxy.telemetry.catalog import CATALOG
from proxy.telemetry.described import Named
from proxy.telemetry.heartbeats import Pulse
from proxy.telemetry.metrics import Metrics

EXCHANGE = Exchange(
    started=10.0,
    method="POST",
    path="/v1/chat/completions",
    operation="chat",
    status=200,
    first_byte=10.25,
    ended=12.0,
    fwd=Fwd.MISS,
)
HIT = replace(EXCHANGE, fwd=None, level=Level.EXACT, ttl=60)

Place: TypeAlias = tuple[str, frozenset[str]]


def at(name: str, *labels: str) -> Place:
    """A sample's name and the values of its labels."""
    return name, frozenset(labels)


def samples(metrics: Metrics) -> dict[Place, float]:
    """Every sample by name and label values, but for the times at which series began."""
    return {
        at(sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def observed(*exchanges: Exchange) -> dict[Place, float]:
    metrics = Metrics("1")
    for exchange in exchanges:
        metrics.observe(exchange)
    return samples(metrics)


def test_a_request_is_counted_and_timed() -> None:
    found = observed(EXCHANGE, replace(EXCHANGE, ended=11.0))
    assert found[at("reprise_requests_total", "chat", "miss", "2xx")] == 2
    assert found[at("reprise_request_duration_seconds_count", "chat", "miss", "2xx")] == 2
    assert found[at("reprise_request_duration_seconds_sum", "chat", "miss", "2xx")] == 3
    assert found[at("reprise_request_duration_seconds_bucket", "chat", "miss", "2xx", "1.0")] == 1
    assert found[at("reprise_request_duration_seconds_bucket", "chat", "miss", "2xx", "+Inf")] == 2
    assert found[at("reprise_time_to_first_byte_seconds_sum", "chat", "miss", "2xx")] == 0.5


def test_a_request_without_a_first_byte_has_none() -> None:
    found = observed(replace(EXCHANGE, first_byte=None))
    assert found[at("reprise_time_to_first_byte_seconds_count", "chat", "miss", "2xx")] == 0


@pytest.mark.parametrize(
    ("status", "status_class"), [(200, "2xx"), (304, "3xx"), (404, "4xx"), (599, "5xx"), (0, "0xx")]
)
def test_statuses_are_counted_by_class(status: int, status_class: str) -> None:
    found = observed(replace(EXCHANGE, status=status))
    assert found[at("reprise_requests_total", "chat", "miss", status_class)] == 1


def test_what_is_no_operation_is_counted_as_other() -> None:
    found = observed(replace(EXCHANGE, operation="", client_gone=True))
    assert found[at("reprise_requests_total", "other", "miss", "2xx")] == 1
    assert found[at("reprise_client_gone_total", "other")] == 1


def test_errors_are_counted_and_clients_that_leave() -> None:
    eventful = replace(EXCHANGE, client_gone=True, error="upstream_broken")
    found = observed(eventful, eventful, EXCHANGE)
    assert found[at("reprise_client_gone_total", "chat")] == 2
    assert found[at("reprise_errors_total", "upstream_broken")] == 2
    assert found[at("reprise_errors_total", "upstream_timeout")] == 0


def test_what_a_hit_saves_is_counted() -> None:
    saving = replace(HIT, saved_tokens=7, saved_prompt_tokens=5, saved_seconds=1.5)
    found = observed(saving, replace(saving, level=Level.SEMANTIC), EXCHANGE)
    assert found[at("reprise_tokens_total", "chat", "output", "cache")] == 14
    assert found[at("reprise_tokens_total", "chat", "input", "cache")] == 10
    assert found[at("reprise_tokens_total", "embeddings", "input", "cache")] == 0
    assert found[at("reprise_saved_upstream_seconds_total", "chat")] == 3


def test_what_upstreams_make_is_counted() -> None:
    metrics = Metrics("1")
    for _ in range(2):
        metrics.made("chat", input_tokens=3, output_tokens=4)
    found = samples(metrics)
    assert found[at("reprise_tokens_total", "chat", "input", "upstream")] == 6
    assert found[at("reprise_tokens_total", "chat", "output", "upstream")] == 8
    assert found[at("reprise_tokens_total", "chat", "output", "cache")] == 0


def test_what_the_cache_did_is_told_apart() -> None:
    joined = replace(EXCHANGE, collapsed=True)
    found = observed(HIT, replace(HIT, ttl=-3), joined, replace(EXCHANGE, fwd=None), EXCHANGE)
    name = "reprise_requests_total"
    assert found[at(name, "chat", "exact", "2xx")] == 2
    assert [found[at(name, "chat", cache, "2xx")] for cache in ("collapsed", "none", "miss")] == [
        1,
        1,
        1,
    ]
    assert found[at("reprise_stale_hits_total", "chat")] == 1


def test_what_has_not_happened_yet_is_there_so_that_rates_see_the_first() -> None:
    found = samples(Metrics("1"))
    for place in (
        at("reprise_requests_total", "chat", "exact", "2xx"),
        at("reprise_requests_total", "embeddings", "miss", "2xx"),
        at("reprise_errors_total", "upstream_timeout"),
        at("reprise_feedback_total", "wrong", "semantic"),
        at("reprise_config_reloads_total", "file", "failed"),
        at("reprise_answers_total", "cut"),
    ):
        assert found[place] == 0


def test_what_becomes_of_answers_is_counted() -> None:
    metrics = Metrics("1")
    for verdict in ("stored", Unstorable.CUT, "stored"):
        metrics.answer(verdict)
    assert samples(metrics)[at("reprise_answers_total", "stored")] == 2
    assert samples(metrics)[at("reprise_answers_total", "cut")] == 1


@pytest.mark.parametrize(
    ("results", "is_ok"),
    [
        ([], 1),
        (["applied"], 1),
        (["failed"], 0),
        (["failed", "unchanged"], 1),
        (["failed", "applied"], 1),
        (["applied", "failed"], 0),
    ],
)
def test_the_last_reload_that_changed_something_tells_whether_all_is_well(
    results: list[str], is_ok: float
) -> None:
    metrics = Metrics("1")
    for result in results:
        metrics.reload("signal", result)
    found = samples(metrics)
    assert found[at("reprise_config_last_reload_successful")] == is_ok
    assert found[at("reprise_config_last_reload_success_timestamp_seconds")] == 0
    assert sum(
        value for (name, _), value in found.items() if name == "reprise_config_reloads_total"
    ) == len(results)


def test_the_death_of_a_task_is_counted() -> None:
    metrics = Metrics("1")
    metrics.task_error("flight")
    assert samples(metrics)[at("reprise_task_errors_total", "flight")] == 1


def test_looking_by_meaning_is_timed_by_what_came_of_it() -> None:
    found = observed(
        EXCHANGE,
        replace(EXCHANGE, meaning_seconds=0.004, level=Level.SEMANTIC, similarity=0.93),
        replace(EXCHANGE, meaning_seconds=0.004, meaning="guard", guard="numbers", similarity=0.7),
        replace(EXCHANGE, meaning_seconds=0.2, meaning="deadline"),
        replace(EXCHANGE, meaning_seconds=0.2, meaning="deadline"),
    )
    name = "reprise_semantic_lookup_duration_seconds"
    assert found[at(f"{name}_count", "match")] == 1
    assert found[at(f"{name}_bucket", "guard", "0.005")] == 1
    assert found[at(f"{name}_sum", "deadline")] == 0.4
    assert sum(value for (each, _), value in found.items() if each == f"{name}_count") == 4
    assert found[at("reprise_semantic_objections_total", "numbers")] == 1
    assert found[at("reprise_semantic_objections_total", "dates")] == 0
    name = "reprise_semantic_similarity_bucket"
    assert [found[at(name, "served", bound)] for bound in ("0.92", "0.94")] == [0, 1]
    assert [found[at(name, "nearest", bound)] for bound in ("0.6", "0.7")] == [0, 1]


def test_the_stages_of_looking_up_are_timed() -> None:
    by_meaning = (Timed(Stage.EMBED, 10.0, 10.25), Timed(Stage.SEARCH, 10.25, 10.75))
    found = observed(HIT, replace(HIT, looked_up=10.5), replace(EXCHANGE, stages=by_meaning))
    name = "reprise_lookup_duration_seconds"
    assert found[at(f"{name}_sum", "key")] == 0.5
    assert found[at(f"{name}_count", "key")] == 1
    assert found[at(f"{name}_sum", "embed")] == 0.25
    assert found[at(f"{name}_sum", "search")] == 0.5


def test_opinions_and_the_lag_of_the_event_loop_are_counted() -> None:
    metrics = Metrics("1")
    for verdict in ("wrong", "right", "wrong"):
        metrics.opinion(verdict, "semantic")
    for seconds in (0.0, 0.3):
        metrics.lag(seconds)
    found = samples(metrics)
    assert found[at("reprise_feedback_total", "wrong", "semantic")] == 2
    assert found[at("reprise_feedback_total", "wrong", "unknown")] == 0
    assert found[at("reprise_event_loop_lag_seconds_count")] == 2
    assert found[at("reprise_event_loop_lag_seconds_bucket", "0.00025")] == 1
    assert found[at("reprise_event_loop_lag_seconds_sum")] == 0.3


def test_the_version_is_told() -> None:
    assert samples(Metrics("1.2.3"))[at("reprise_build_info", "1.2.3")] == 1


def test_figures_are_read_at_each_scrape() -> None:
    figures: dict[str, float | dict[str, float]] = {"entries": 1.0, "redis_gaps": 0.0}
    metrics = Metrics("1")
    metrics.watch(lambda: figures)
    figures |= {"entries": 5.0, "redis_gaps": 2.0, "evictions": {"max_bytes": 3.0}}
    found = samples(metrics)
    assert found[at("reprise_entries")] == 5
    assert found[at("reprise_redis_gaps_total")] == 2
    assert found[at("reprise_evictions_total", "max_bytes")] == 3


def test_two_applications_do_not_share_a_registry() -> None:
    one, other = Metrics("1"), Metrics("1")
    one.answer("stored")
    assert samples(other)[at("reprise_answers_total", "stored")] == 0


def strangers(count: int) -> Iterable[Exchange]:
    """Requests that differ in everything that a client can choose."""
    for number in range(count):
        yield replace(
            EXCHANGE,
            path=f"/v1/{number}/chat/completions",
            model=f"model-秘密-{number}",
            tenant=f"{number:012x}",
            request_id=f"id-{number}",
            detail=f"detail-{number}",
            method=f"M{number}",
            pool=f"pool-{number}",
            question=f"question-{number}",
            missed=b"missed-%d" % number,
            entry=b"entry-%d" % number,
            status=200 + number % 100,
        )


def test_no_client_can_make_more_series() -> None:
    found = observed(*strangers(300))
    assert found.keys() == observed(*strangers(1)).keys()
    metrics = Metrics("1")
    for exchange in strangers(3):
        metrics.observe(exchange)
    text = metrics.exposition().decode()
    assert not any(
        word in text
        for word in (
            "秘密",
            "model",
            "id-1",
            "detail-",
            "question-",
            "missed-",
            "entry-",
            "pool-",
            "M1",
        )
    )


def test_labels_come_from_closed_sets() -> None:
    metrics = Metrics("1")
    for fwd in (*Fwd, None):
        metrics.observe(replace(EXCHANGE, fwd=fwd, client_gone=True, error="bad_request"))
    for level in Level:
        metrics.observe(replace(HIT, level=level, saved_tokens=1))
    for reason in Uncompared:
        metrics.observe(replace(EXCHANGE, meaning=reason, meaning_seconds=0.1))
    metrics.task_error("flight")
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        described = CATALOG[family.name]
        assert (family.type, family.documentation) == (described.kind, described.meaning)
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "le"}
            assert labels.keys() == described.labels.keys()
            for name, value in labels.items():
                values = described.labels[name]
                assert isinstance(values, Named) or value in values
    assert metrics.exposed("").content_type.startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize(
    ("seconds", "bound", "above"),
    [
        (0.0, "0.00025", None),
        (0.25, "0.25", "0.1"),
        (0.26, "0.5", "0.25"),
        (500.0, "+Inf", "120.0"),
    ],
)
def test_a_duration_is_in_every_bucket_that_it_does_not_exceed(
    seconds: float, bound: str, above: str | None
) -> None:
    found = observed(replace(EXCHANGE, started=0.0, ended=seconds))
    name = "reprise_request_duration_seconds_bucket"
    assert found[at(name, "chat", "miss", "2xx", bound)] == 1
    assert above is None or found[at(name, "chat", "miss", "2xx", above)] == 0


def test_kept_loops_are_read_at_each_scrape() -> None:
    metrics = Metrics("1")
    read = [Pulse("loop", last_success=995.5, every=4.5, deaths=2)]
    metrics.watch_tasks(lambda: read)
    found = samples(metrics)
    assert found[at("reprise_task_last_success_timestamp_seconds", "loop")] == 995.5
    assert found[at("reprise_task_interval_seconds", "loop")] == 4.5
    assert found[at("reprise_task_deaths_total", "loop")] == 2
    read.clear()
    assert at("reprise_task_interval_seconds", "loop") not in samples(metrics)
