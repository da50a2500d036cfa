"""The metrics of several workers as those of one."""

from collections.abc import Sequence

from prometheus_client.parser import text_string_to_metric_families

from proxy.telemetry.exposition import OPENMETRICS
from proxy.telemetry.heartbeats import Pulse
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.united import Page, UnitedMetrics
from tests.telemetry.test_metrics import EXCHANGE

WELL = {"entries": 3.0, "redis_gaps": 1.0, "in_flight_requests": 2.0, "encoders_ready": 1.0}


def worker(
    number: int,
    requests: int,
    figures: dict[str, float] | None = None,
    *,
    run: int = 0,
    reload: str = "applied",
) -> Page:
    """The page of a worker that has served so many requests."""
    metrics = Metrics("1")
    metrics.watch(lambda: WELL | (figures or {}))
    metrics.watch_tasks(lambda: [Pulse("loop", 100.0 + number, float(number), number)])
    for _ in range(requests):
        metrics.observe(EXCHANGE)
    metrics.reload("admin", reload)
    return Page(number, run, metrics.exposed(OPENMETRICS).body.decode())


def united(*pages: Page) -> dict[str, float]:
    return read(UnitedMetrics(), pages)


def read(metrics: UnitedMetrics, pages: Sequence[Page]) -> dict[str, float]:
    """Every sample by its name and labels as they are written."""
    text = metrics.exposition(pages, workers=len(pages), restarts=4).body.decode()
    list(text_string_to_metric_families(text))  # it can be read
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    assert len({name for name, _, _ in lines}) == len(lines)
    return {name: float(value) for name, _, value in lines}


REQUESTS = 'reprise_requests_total{cache="miss",operation="chat",status_class="2xx"}'
BUCKET = (
    'reprise_request_duration_seconds_bucket{cache="miss",le="2.5",operation="chat",'
    'status_class="2xx"}'
)


def test_what_is_counted_is_added_up() -> None:
    found = united(worker(1, 2), worker(2, 3))
    assert found[REQUESTS] == 5
    assert found[BUCKET] == 5
    assert found["reprise_redis_gaps_total"] == 2
    assert found['reprise_task_deaths_total{task="loop"}'] == 3


def test_gauges_are_united_as_the_table_says() -> None:
    found = united(
        worker(1, 0, {"entries": 5.0, "encoders_ready": 0.0}), worker(2, 0, reload="failed")
    )
    assert found["reprise_entries"] == 5
    assert found["reprise_in_flight_requests"] == 4
    assert found["reprise_encoders_ready"] == 0
    assert found["reprise_config_last_reload_successful"] == 0
    assert found['reprise_build_info{version="1"}'] == 1


def test_what_the_table_does_not_know_is_told_of_each_worker() -> None:
    found = united(worker(1, 0, {"disk_up": 1.0}), worker(2, 0, {"disk_up": 0.0}))
    assert found['reprise_disk_up{worker="1"}'] == 1
    assert found['reprise_disk_up{worker="2"}'] == 0
    assert found['reprise_task_interval_seconds{task="loop",worker="2"}'] == 2
    assert found['reprise_task_last_success_timestamp_seconds{task="loop",worker="1"}'] == 101


def test_a_configuration_that_not_all_have_taken_over_is_as_old_as_the_oldest() -> None:
    name = "reprise_config_last_reload_success_timestamp_seconds"
    page = f"# TYPE {name} gauge\n{name} {{}}\n# EOF\n"
    found = united(Page(1, 0, page.format(20.0)), Page(2, 0, page.format(10.0)))
    assert found[name] == 10


def test_the_workers_themselves_are_told_of() -> None:
    found = united(worker(1, 0), worker(2, 0))
    assert (found["reprise_workers"], found["reprise_worker_restarts_total"]) == (2, 4)
    assert united() == {"reprise_workers": 0, "reprise_worker_restarts_total": 4}


def test_what_a_dead_worker_had_counted_stays_counted() -> None:
    metrics = UnitedMetrics()
    assert read(metrics, [worker(1, 2), worker(2, 3)])[REQUESTS] == 5
    while_away = read(metrics, [worker(1, 4)])
    assert while_away[REQUESTS] == 7
    assert while_away["reprise_in_flight_requests"] == 2
    assert 'reprise_task_interval_seconds{task="loop",worker="2"}' not in while_away
    assert read(metrics, [worker(1, 4), worker(2, 1, run=1)])[REQUESTS] == 8
    assert read(metrics, [worker(1, 4), worker(2, 2, run=1)])[REQUESTS] == 9
    assert read(metrics, [worker(1, 4), worker(2, 1, run=2)])[REQUESTS] == 10
