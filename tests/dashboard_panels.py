"""What the dashboard shows: one row for each question that an operator has."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """One expression, and how its series are called."""

    expression: str
    """FILTER stands for the matchers of the variables, RECORDED for those of records."""
    legend: str = "__auto"
    unit: str = ""
    """Where it has an axis of its own, at the right."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = 8
    is_stacked: bool = False
    is_whole: bool = True
    """Of a ratio: all from 0 to 1 is shown."""


def _rate(metric: str, by: str, more: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{{FILTER{more}}}[$__rate_interval]))"


def _quantile(of: float, metric: str, by: str = "", more: str = "") -> str:
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({of}, {_rate(metric + '_bucket', labels, more)})"


def _quantiles(metric: str, by: str, more: str = "") -> tuple[Query, ...]:
    shown = f"{{{{{by}}}}}"
    return (
        Query(_quantile(0.5, metric, by, more), f"p50 {shown}"),
        Query(_quantile(0.95, metric, by, more), f"p95 {shown}"),
    )


def _gauge(metric: str, how: str = "sum") -> str:
    return f"{how}({metric}{{FILTER}})"


_REQUESTS = "reprise_requests_total"
_HIT = ',cache=~"exact|alias|semantic|negative|collapsed"'
_LEVELS = ',cache=~"exact|alias|semantic|negative"'
_CACHEABLE = ',cache!~"bypass|method|none"'
_DURATION = "reprise_request_duration_seconds"
_RATIO = (
    f"sum(rate({_REQUESTS}{{FILTER{_HIT}}}[$__rate_interval])) "
    f"/ (sum(rate({_REQUESTS}{{FILTER{_CACHEABLE}}}[$__rate_interval])) > 0)"
)


def _tokens(direction: str) -> str:
    saved = f'reprise_tokens_total{{FILTER,source="cache",direction="{direction}"}}'
    return f"sum(increase({saved}[$__range]))"


_TRAFFIC = (
    Panel(
        "What the cache did",
        "Requests a second. exact, alias, semantic and negative are hits; collapsed had part in a "
        "call under way; all others went to an upstream.",
        "reqps",
        (Query(_rate(_REQUESTS, "cache"), "{{cache}}"),),
        is_stacked=True,
    ),
    Panel(
        "Answered without a call of its own",
        "Of cacheable requests, over the whole time shown.",
        "percentunit",
        (Query(_RATIO.replace("$__rate_interval", "$__range")),),
        kind="stat",
        width=4,
    ),
    Panel(
        "Saved",
        "What the tokens that were served from the cache would have cost at the prices above.",
        "currencyUSD",
        (
            Query(
                f"({_tokens('input')} * $input_price + {_tokens('output')} * $output_price) / 1e6"
            ),
        ),
        kind="stat",
        width=4,
    ),
    Panel(
        "By operation and status",
        "Requests a second; 0xx are those whose client left before there was a status.",
        "reqps",
        (Query(_rate(_REQUESTS, "operation, status_class"), "{{operation}} {{status_class}}"),),
    ),
    Panel(
        "Under way",
        "Requests that are being answered, connections of clients.",
        "short",
        (
            Query(_gauge("reprise_in_flight_requests"), "requests"),
            Query(_gauge("reprise_connections"), "connections"),
        ),
    ),
    Panel(
        "Errors of our own",
        "By code; docs/http.md says what each means.",
        "reqps",
        (Query(_rate("reprise_errors_total", "code") + " > 0", "{{code}}"),),
    ),
    Panel(
        "Clients that left",
        "Requests whose client left before the end of the response.",
        "reqps",
        (Query(_rate("reprise_client_gone_total", "operation"), "{{operation}}"),),
    ),
)
_HITS = (
    Panel(
        "Hit rate against latency",
        "The share of cacheable requests that cost no call of their own, and how long they take.",
        "s",
        (
            Query(_quantile(0.5, _DURATION, "", _CACHEABLE), "p50"),
            Query(_quantile(0.95, _DURATION, "", _CACHEABLE), "p95"),
            Query(_RATIO, "hit rate", "percentunit"),
        ),
        width=12,
    ),
    Panel(
        "Hits by level",
        "A second, by level and operation.",
        "reqps",
        (Query(_rate(_REQUESTS, "cache, operation", _LEVELS), "{{cache}} {{operation}}"),),
        width=12,
        is_stacked=True,
    ),
    Panel(
        "Looked up by meaning",
        "What came of it: match, or why there was none.",
        "reqps",
        (Query(_rate("reprise_semantic_lookup_duration_seconds_count", "result"), "{{result}}"),),
        is_stacked=True,
    ),
    Panel(
        "Guards that objected",
        "To the nearest entry, a second.",
        "reqps",
        (Query(_rate("reprise_semantic_objections_total", "guard") + " > 0", "{{guard}}"),),
        is_stacked=True,
    ),
    Panel(
        "Similarity of what was served",
        "Hits by meaning, by the similarity of the two questions.",
        "short",
        (
            Query(
                "sum by (le) (increase(reprise_semantic_similarity_bucket"
                '{FILTER,result="served"}[$__rate_interval]))'
            ),
        ),
        kind="heatmap",
    ),
    Panel(
        "Similarity of near misses",
        "Of the nearest entry where nothing was served.",
        "short",
        (
            Query(
                "sum by (le) (increase(reprise_semantic_similarity_bucket"
                '{FILTER,result="nearest"}[$__rate_interval]))'
            ),
        ),
        kind="heatmap",
    ),
    Panel(
        "Tokens",
        "A second: saved by the cache, and made by upstreams for answers that were stored.",
        "short",
        (Query(_rate("reprise_tokens_total", "source, direction"), "{{source}} {{direction}}"),),
    ),
    Panel(
        "Stale hits, and upstream time saved",
        "Hits that were stale, a second; how many seconds of upstreams' work are saved.",
        "short",
        (
            Query(_rate("reprise_stale_hits_total", "operation"), "stale {{operation}}"),
            Query(
                _rate("reprise_saved_upstream_seconds_total", "operation"), "saved {{operation}}"
            ),
        ),
    ),
)
_LATENCY = (
    Panel(
        "Duration by level",
        "From the head of a request to the last byte of its response.",
        "s",
        _quantiles(_DURATION, "cache"),
        width=12,
    ),
    Panel(
        "First byte by level",
        "From the head of a request to the first byte of its response.",
        "s",
        _quantiles("reprise_time_to_first_byte_seconds", "cache"),
        width=12,
    ),
    Panel(
        "Stages of looking up",
        "key: reading, parsing and the look-up by key; replicas: Redis; embed, search, gate: by "
        "meaning.",
        "s",
        _quantiles("reprise_lookup_duration_seconds", "stage"),
        width=12,
    ),
    Panel(
        "All durations",
        "How many requests took how long.",
        "short",
        (Query(f"sum by (le) (increase({_DURATION}_bucket{{FILTER}}[$__rate_interval]))"),),
        kind="heatmap",
        width=12,
    ),
)
_UPSTREAM = (
    Panel(
        "Calls under way",
        "At each upstream.",
        "short",
        (Query("sum by (upstream) (reprise_upstream_in_flight_requests{FILTER})", "{{upstream}}"),),
    ),
    Panel(
        "Calls by result",
        "That have ended, a second. cut: we ended it, mostly because the client had left.",
        "reqps",
        (
            Query(
                _rate("reprise_upstream_requests_total", "upstream, result") + " > 0",
                "{{upstream}} {{result}}",
            ),
        ),
        is_stacked=True,
    ),
    Panel(
        "Calls made again",
        "Because a pooled connection had died, a second.",
        "reqps",
        (Query(_rate("reprise_upstream_retries_total", "upstream"), "{{upstream}}"),),
    ),
    Panel(
        "Duration of calls",
        "Waiting for a connection included.",
        "s",
        _quantiles("reprise_upstream_duration_seconds", "upstream"),
        width=12,
    ),
    Panel(
        "First byte of calls",
        "To the head of the answer.",
        "s",
        _quantiles("reprise_upstream_time_to_first_byte_seconds", "upstream"),
        width=12,
    ),
)
_BUDGET = (
    Panel(
        "Wrong answers found by meaning",
        "What users said was wrong, of all hits by meaning over 7 days, with the 95 % interval, "
        "and the budget. Needs the records of rules/reprise.yaml.",
        "percentunit",
        (
            Query("max(reprise:semantic_wrong:ratio7d{RECORDED})", "told"),
            Query("max(reprise:semantic_wrong:ratio_lower7d{RECORDED})", "at least"),
            Query("max(reprise:semantic_wrong:ratio_upper7d{RECORDED})", "at most"),
            Query(_gauge("reprise_semantic_error_budget_ratio", "max"), "budget"),
        ),
        width=12,
        is_whole=False,
    ),
    Panel(
        "Opinions",
        "Over the time shown, by verdict and how the answer was found.",
        "short",
        (
            Query(
                "sum by (verdict, level) (increase(reprise_feedback_total{FILTER}[$__range]))",
                "{{verdict}} {{level}}",
            ),
        ),
        kind="stat",
        width=12,
    ),
    Panel(
        "Share of calls that failed",
        "By upstream. Needs the records of rules/reprise.yaml.",
        "percentunit",
        (Query("reprise:upstream_errors:ratio_rate5m{RECORDED}", "{{upstream}}"),),
        width=12,
        is_whole=False,
    ),
    Panel(
        "Answers that were not stored",
        "Cacheable ones, a second, by why.",
        "reqps",
        (
            Query(
                _rate("reprise_answers_total", "verdict", ',verdict!="stored"') + " > 0",
                "{{verdict}}",
            ),
        ),
        width=12,
        is_stacked=True,
    ),
)
_MEMORY = (
    Panel(
        "Answers in memory",
        "Of each proxy, and how many there may be.",
        "short",
        (
            Query("reprise_entries{FILTER}", "{{instance}}"),
            Query(_gauge("reprise_entries_limit", "max"), "limit"),
        ),
    ),
    Panel(
        "Bytes in memory",
        "Of each proxy, estimated, and how many there may be.",
        "bytes",
        (
            Query("reprise_store_bytes{FILTER}", "{{instance}}"),
            Query(_gauge("reprise_store_limit_bytes", "max"), "limit"),
        ),
    ),
    Panel(
        "Evictions",
        "A second, by the bound that was met.",
        "short",
        (Query(_rate("reprise_evictions_total", "reason"), "{{reason}}"),),
    ),
    Panel(
        "Index",
        "Answers that can be found by meaning, known aliases, encoders that are ready.",
        "short",
        (
            Query(_gauge("reprise_semantic_entries", "max"), "entries"),
            Query(_gauge("reprise_aliases", "max"), "aliases"),
            Query(_gauge("reprise_encoders_ready", "min"), "encoders ready"),
        ),
    ),
    Panel(
        "Memory of the process",
        "Resident.",
        "bytes",
        (Query("process_resident_memory_bytes{FILTER}", "{{instance}}"),),
    ),
    Panel(
        "Processor",
        "Cores in use.",
        "short",
        (Query("rate(process_cpu_seconds_total{FILTER}[$__rate_interval])", "{{instance}}"),),
    ),
)
_TASKS = (
    Panel(
        "Since the last success",
        "Of each loop in the background, as a multiple of its interval; above 3 it is late.",
        "short",
        (
            Query(
                "max by (task) ((time() - reprise_task_last_success_timestamp_seconds{FILTER}) "
                "/ reprise_task_interval_seconds{FILTER})",
                "{{task}}",
            ),
        ),
    ),
    Panel(
        "Event loop",
        "How late it is.",
        "s",
        (
            Query(_quantile(0.5, "reprise_event_loop_lag_seconds"), "p50"),
            Query(_quantile(0.99, "reprise_event_loop_lag_seconds"), "p99"),
        ),
    ),
    Panel(
        "Deaths",
        "Of loops, and pieces of work that died, over the time shown.",
        "short",
        (
            Query(
                "sum by (task) (increase(reprise_task_deaths_total{FILTER}[$__range]))", "{{task}}"
            ),
        ),
    ),
    Panel(
        "Requests of low priority",
        "A second, by why they are made and what came of them.",
        "reqps",
        (Query(_rate("reprise_background_requests_total", "kind, result"), "{{kind}} {{result}}"),),
    ),
    Panel(
        "Disk",
        "Changes that wait, and whether it can be written.",
        "short",
        (
            Query(_gauge("reprise_disk_queue"), "waiting"),
            Query(_gauge("reprise_disk_up", "min"), "can be written"),
            Query(_rate("reprise_disk_dropped_total", "job"), "dropped {{job}}"),
        ),
    ),
    Panel(
        "Configuration",
        "Whether the last reload went well, and whether a restart is needed.",
        "short",
        (
            Query(_gauge("reprise_config_last_reload_successful", "min"), "reload is well"),
            Query(_gauge("reprise_config_restart_required", "max"), "restart is needed"),
        ),
    ),
)
_REDIS = (
    Panel(
        "State",
        "1: Redis is asked. Writes refused: it answers and takes none.",
        "short",
        (
            Query("reprise_redis_up{FILTER}", "up {{instance}}"),
            Query(_gauge("reprise_redis_writes_refused", "max"), "writes refused"),
        ),
    ),
    Panel(
        "Calls",
        "A second: all, and those that failed by reason.",
        "ops",
        (
            Query(_rate("reprise_redis_attempts_total", "job"), "calls {{job}}"),
            Query(_rate("reprise_redis_failures_total", "reason") + " > 0", "{{reason}}"),
        ),
    ),
    Panel(
        "Answers of other replicas",
        "Asked for, found, surely absent, waited for; a second.",
        "reqps",
        (
            Query(_rate("reprise_redis_fetches_total", "job"), "asked for {{job}}"),
            Query(_rate("reprise_redis_hits_total", "job"), "found {{job}}"),
            Query(_rate("reprise_redis_fetches_spared_total", "job"), "surely absent {{job}}"),
            Query(_rate("reprise_redis_waits_total", "job"), "waited for {{job}}"),
        ),
    ),
    Panel(
        "Changes",
        "Written and followed, a second; waiting.",
        "short",
        (
            Query(_rate("reprise_redis_written_total", "job"), "written {{job}}"),
            Query(_rate("reprise_redis_followed_total", "job"), "followed {{job}}"),
            Query(_gauge("reprise_redis_queue"), "waiting"),
        ),
    ),
    Panel(
        "Lag",
        "How old the last change of another replica was when it came.",
        "s",
        (Query("reprise_redis_log_lag_seconds{FILTER}", "{{instance}}"),),
    ),
    Panel(
        "Age of the newest snapshot",
        "Nothing where there is none.",
        "s",
        (
            Query(
                "time() - (max by (job) "
                "(reprise_redis_snapshot_last_success_timestamp_seconds{FILTER}) > 0)",
                "{{job}}",
            ),
        ),
    ),
)
_INJECTOR = (
    Panel(
        "Pods",
        "What came of them, over the time shown.",
        "short",
        (
            Query(
                "sum by (result, reason) (increase(reprise_injector_admissions_total[$__range])) "
                "> 0",
                "{{result}} {{reason}}",
            ),
        ),
        kind="stat",
    ),
    Panel(
        "Duration of reviews",
        "The API server waits for 5 seconds at most.",
        "s",
        (
            Query(
                "histogram_quantile(0.99, sum by (le) (rate("
                "reprise_injector_admission_duration_seconds_bucket[$__rate_interval])))",
                "p99",
            ),
        ),
    ),
    Panel(
        "Left of the certificate",
        "It is renewed 30 days before its end.",
        "s",
        (
            Query(
                "min by (job) (reprise_injector_certificate_not_after_timestamp_seconds) - time()",
                "{{job}}",
            ),
        ),
    ),
)
ROWS = (
    ("Traffic", _TRAFFIC),
    ("Hits by level", _HITS),
    ("Latency by level", _LATENCY),
    ("Upstream load", _UPSTREAM),
    ("Error budget", _BUDGET),
    ("Memory and index", _MEMORY),
    ("Background tasks", _TASKS),
    ("Redis", _REDIS),
    ("Injector", _INJECTOR),
)
