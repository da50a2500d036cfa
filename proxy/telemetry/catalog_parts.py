"""The metrics of the parts: memory, index, disk, Redis, configuration, tasks, the process."""

from proxy.telemetry.described import (
    Described,
    Kind,
    Named,
    Rule,
    counter,
    gauge,
    histogram,
)

REDIS_REASONS = (
    *("timeout", "refused", "closed", "auth", "denied", "maxclients", "loading", "busy"),
    *("cluster", "protocol", "oom", "readonly", "misconf", "error", "open"),
)

MEMORY = (
    gauge("entries", "Answers in memory.", united=Rule.MAX),
    gauge("entries_limit", "How many there may be (`memory.max_entries`).", united=Rule.MAX),
    gauge("store_bytes", "What they take, estimated.", united=Rule.MAX),
    gauge("store_limit_bytes", "How much they may take (`memory.max_bytes`).", united=Rule.MAX),
    counter(
        "evictions",
        "Answers that had to go, by the bound that they were over.",
        labels={"reason": ("max_bytes", "max_entries", "max_entry_bytes")},
    ),
    gauge("aliases", "Questions that were answered by meaning and are known.", united=Rule.MAX),
    gauge(
        "negative_pairs",
        "Pairs of questions of which somebody said that one answer does not serve both.",
        united=Rule.MAX,
    ),
    gauge("refusals", "Refusals of upstreams that may be repeated.", united=Rule.SUM),
    gauge("related_pairs", "Pairs of questions that were asked one after the other."),
    gauge("related_bytes", "What these pairs take, estimated."),
)
SEMANTIC = (
    gauge("semantic_entries", "Answers that can be found by meaning.", united=Rule.MAX),
    gauge(
        "semantic_error_budget_ratio",
        "The share of hits by meaning that may be wrong (`semantic.max_error_rate`).",
        united=Rule.MAX,
    ),
    gauge("encoders", "Encoders in the configuration.", united=Rule.MAX),
    gauge("encoders_ready", "Those that are loaded and passed their self-test.", united=Rule.MIN),
    gauge("vectors_shared", "Vectors in Redis, as last counted."),
    gauge("vectors_waiting", "Changes of vectors that wait to be written to Redis."),
    counter("vectors_left_out", "Vectors that were not written to Redis: too many waited."),
)
DISK = (
    gauge("disk_up", "1 while what is learnt can be written to disk."),
    gauge("disk_rows", "Rows in the file."),
    gauge("disk_bytes", "Size of the file."),
    gauge("disk_queue", "Changes that wait to be written to disk."),
    gauge(
        "disk_last_commit_timestamp_seconds",
        "When the file was last written, or found to need no writing.",
    ),
    counter("disk_dropped", "Answers that are not kept on disk: too much waited."),
    counter("disk_write_errors", "Writes to disk that failed."),
    counter("disk_unreadable", "Rows that could not be read and were removed."),
)
REDIS = (
    gauge("redis_up", "0 while Redis is left alone because it fails."),
    gauge("redis_writes_refused", "1 while it answers and takes no writes."),
    counter("redis_attempts", "Calls to Redis that went out."),
    counter("redis_write_errors", "Writes that failed."),
    counter(
        "redis_failures",
        "Calls that gave no answer, by reason; `open` were not even tried.",
        labels={"reason": REDIS_REASONS},
    ),
    gauge("redis_queue", "Changes that wait to be written."),
    gauge("redis_queue_bytes", "What they take."),
    counter("redis_dropped", "Changes that are not written: too many waited."),
    counter("redis_written", "Changes that were written."),
    counter("redis_refused", "Changes not written, for something later was there."),
    counter("redis_followed", "Changes of other replicas that were taken in."),
    gauge("redis_log_lag_seconds", "How old the last change of another replica was when it came."),
    counter("redis_loads", "How often everything was read."),
    counter("redis_gaps", "How often changes were missed, and all was loaded anew."),
    gauge("redis_loaded_answers", "Answers that the last of these brought."),
    counter("redis_unreadable_values", "Damaged or foreign values beside answers."),
    gauge(
        "redis_snapshot_last_success_timestamp_seconds",
        "When the newest snapshot that is known was written, by whichever replica; 0: none is.",
    ),
    gauge("redis_snapshot_items", "What is in it."),
    counter("redis_snapshots_written", "Snapshots that this replica has written."),
    counter("redis_snapshots_broken", "Snapshots that could not be read."),
    counter("redis_removed", "Answers that were removed from Redis by purges."),
    counter("redis_restored", "Changes written again after Redis had lost them."),
    gauge("redis_leases", "Calls to upstreams for which other replicas wait."),
    counter("redis_fetches", "Answers that Redis was asked for."),
    counter("redis_fetches_spared", "Those that it was not asked for: surely absent."),
    counter("redis_hits", "Answers that it had."),
    counter("redis_unreadable", "Damaged or foreign answers."),
    counter("redis_claims", "Misses that other replicas were told of."),
    counter("redis_waits", "Those of which another replica had the call under way."),
    counter("redis_waits_served", "Those that its answer served."),
    counter("redis_waits_over", "Those for which it took too long."),
    gauge("redis_known_keys", "Keys that are known to be in Redis."),
    gauge("redis_known_fill_ratio", "How full the filter of these is."),
    gauge("redis_known_complete", "1 while what it does not know is surely absent."),
)
RELOADS = counter(
    "config_reloads",
    "Reloads of the configuration.",
    labels={
        "trigger": ("file", "signal", "admin"),
        "result": ("applied", "unchanged", "failed"),
    },
    starts_at_zero=True,
)
RELOAD_OK = gauge(
    "config_last_reload_successful", "Whether the last reload found no mistake.", united=Rule.MIN
)
RELOADED_AT = gauge(
    "config_last_reload_success_timestamp_seconds",
    "When the configuration in force was taken over: at the start or by a reload.",
    united=Rule.MIN,
)
BUILD = gauge(
    "build_info",
    "1; the running version.",
    labels={"version": Named("the version")},
    united=Rule.MAX,
)
LAGS = histogram("event_loop_lag_seconds", "How much later than asked the event loop ran a timer.")
_TASK = {"task": Named("names of background tasks in the code")}
TASK_ERRORS = counter(
    "task_errors", "Pieces of background work that died of an error.", labels=_TASK
)
TASK_SUCCESS = gauge(
    "task_last_success_timestamp_seconds",
    "When a background task last did a piece of work well, or was begun.",
    labels=_TASK,
)
TASK_INTERVAL = gauge(
    "task_interval_seconds",
    "Within how long it should do one; it is late after three times that.",
    labels=_TASK,
)
TASK_DEATHS = counter(
    "task_deaths", "How often a background task has died and was begun again.", labels=_TASK
)
RUNNING = (
    *(RELOADS, RELOAD_OK, RELOADED_AT, BUILD, LAGS),
    *(TASK_ERRORS, TASK_SUCCESS, TASK_INTERVAL, TASK_DEATHS),
    gauge(
        "config_hash_info",
        "1; the digest of the configuration in force.",
        labels={"sha256": Named("the digest as /admin/config tells it")},
        united=Rule.MAX,
    ),
    gauge(
        "config_restart_required",
        "1 while the file has settings that count after a restart only.",
        united=Rule.MAX,
    ),
    gauge("background_tasks", "Pieces of background work under way.", united=Rule.SUM),
)
TRACING = (
    counter("trace_spans_sent", "Spans that the collector took."),
    counter("trace_spans_dropped", "Spans that were not sent: too many waited, or it failed."),
)
WORKERS = gauge("workers", "Workers that run; where there are several.")
WORKER_RESTARTS = counter("worker_restarts", "How often a worker that died was begun again.")


def _process(name: str, meaning: str, kind: Kind = Kind.GAUGE) -> Described:
    return Described(name=f"process_{name}", kind=kind, meaning=meaning, united=Rule.SUM)


CPU_SECONDS = _process("cpu_seconds_total", "Processor time, user and system.", Kind.COUNTER)
RESIDENT_BYTES = _process("resident_memory_bytes", "Memory that is in use.")
VIRTUAL_BYTES = _process("virtual_memory_bytes", "Memory that is mapped.")
PARTS = (
    *(*MEMORY, *SEMANTIC, *DISK, *REDIS, *RUNNING, *TRACING, WORKERS, WORKER_RESTARTS),
    *(CPU_SECONDS, RESIDENT_BYTES, VIRTUAL_BYTES),
)
