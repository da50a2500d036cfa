"""What the alerts are tried with: for each a series under which it fires, and one under which not.

Times are as promtool writes them. `bad` and `good` are series by their selector, in the notation of
promtool's tests; both have labels of their own, so that both can be there at once.
"""

from dataclasses import dataclass, field

GOOD, BAD = 'namespace="n",job="good",instance="g"', 'namespace="n",job="bad",instance="b"'


@dataclass(frozen=True, slots=True)
class Case:
    """One alert."""

    alert: str
    summary: str
    """As it is told, filled in."""
    series: dict[str, tuple[str, str]]
    """Name, with further labels, to what is bad and what is good."""
    at: str = "30m"
    """When it fires for the one and not for the other."""
    labels: dict[str, str] = field(default_factory=dict)
    """What it tells besides namespace, job and instance."""
    severity: str = "warning"
    loses: tuple[str, ...] = ()
    """Labels that it is an aggregate over."""
    interval: str = "1m"


_REQUESTS = 'reprise_requests_total{{operation="chat",cache="{}",status_class="2xx",L}}'
_UPSTREAM = 'reprise_upstream_requests_total{{upstream="u",result="{}",L}}'
_TASK = 'reprise_task_{}{{task="disk",L}}'
_ADMISSIONS = 'reprise_injector_admissions_total{{result="{}",reason="{}",L}}'

CASES = (
    Case(
        "RepriseTargetDown",
        "b cannot be scraped.",
        {"up{L}": ("0x40", "1x40"), 'reprise_build_info{version="1",L}': ("1x5", "1x40")},
        severity="critical",
    ),
    Case(
        "RepriseUpstreamErrorRateHigh",
        "10% of calls to upstream u fail.",
        {
            _UPSTREAM.format("2xx"): ("0+90x40", "0+99x40"),
            _UPSTREAM.format("upstream_timeout"): ("0+10x40", "0+1x40"),
            _UPSTREAM.format("429"): ("0x40", "0+50x40"),
            _UPSTREAM.format("cut"): ("0x40", "0+50x40"),
        },
        labels={"upstream": "u"},
        severity="critical",
        loses=("instance",),
    ),
    Case(
        "RepriseHitRatioCollapsed",
        "Only 1.667% of requests are answered from the cache.",
        {
            _REQUESTS.format("exact"): ("0+120x750 90000+4x150", "0+120x900"),
            _REQUESTS.format("miss"): ("0+120x750 90000+236x150", "0+120x900"),
            _REQUESTS.format("bypass"): ("0+500x900", "0+500x900"),
        },
        at="27h30m",
        interval="2m",
        loses=("instance",),
    ),
    Case(
        "RepriseFalseHitRateHigh",
        "At least 8.929% of answers found by meaning are wrong.",
        {
            _REQUESTS.format("semantic"): ("0+10x200", "0+10x200"),
            'reprise_feedback_total{verdict="wrong",level="semantic",L}': ("0+1x200", "0x160 1x40"),
            "reprise_semantic_error_budget_ratio{L}": ("0.01x200", "0.01x200"),
        },
        at="16h",
        interval="5m",
        severity="critical",
        loses=("instance",),
    ),
    Case(
        "RepriseConfigReloadFailed",
        "b does not take over its configuration.",
        {"reprise_config_last_reload_successful{L}": ("1x5 0x40", "1x40")},
    ),
    Case(
        "RepriseRestartRequired",
        "b has settings that count after a restart only.",
        {"reprise_config_restart_required{L}": ("1x200", "0x200")},
        at="2h",
        severity="info",
    ),
    Case(
        "RepriseRedisUnavailable",
        "b does without Redis, or Redis takes no writes.",
        {"reprise_redis_up{L}": ("1x5 0x40", "1x20 0x3 1x40")},
    ),
    Case(
        "RepriseSnapshotStale",
        "The newest snapshot in Redis is 1d 3h 59m 0s old.",
        {
            "reprise_redis_snapshot_last_success_timestamp_seconds{L}": ("60x360", "0+300x360"),
            "reprise_redis_written_total{L}": ("0+1x360", "0+1x360"),
        },
        at="28h",
        interval="5m",
        loses=("instance",),
    ),
    Case(
        "RepriseDiskPersistenceStopped",
        "b keeps nothing on disk.",
        {"reprise_disk_up{L}": ("1x5 0x40", "1x40")},
    ),
    Case(
        "RepriseBackgroundTaskLate",
        "Background task disk of b has not done well for 30m 0s.",
        {
            _TASK.format("last_success_timestamp_seconds"): ("0x40", "0+60x40"),
            _TASK.format("interval_seconds"): ("60x40", "60x40"),
        },
        labels={"task": "disk"},
    ),
    Case(
        "RepriseBackgroundTaskDead",
        "Background task disk of b dies again and again.",
        {_TASK.format("deaths_total"): ("0+1x40", "0x20 1x20")},
        labels={"task": "disk"},
    ),
    Case(
        "RepriseEventLoopBlocked",
        "The event loop of b is late by 485ms.",
        {
            'reprise_event_loop_lag_seconds_bucket{le="0.25",L}': ("0+100x40", "0+120x40"),
            'reprise_event_loop_lag_seconds_bucket{le="0.5",L}': ("0+120x40", "0+120x40"),
            'reprise_event_loop_lag_seconds_bucket{le="+Inf",L}': ("0+120x40", "0+120x40"),
        },
    ),
    Case(
        "RepriseWorkerRestarts",
        "Workers of b die again and again.",
        {"reprise_worker_restarts_total{L}": ("0+1x40", "0x10 1x40")},
    ),
    Case(
        "RepriseInjectorErrors",
        "The injector could not judge 1 pods: internal.",
        {_ADMISSIONS.format("failed", "internal"): ("0x20 1x20", "0x40")},
        labels={"reason": "internal"},
        loses=("instance",),
    ),
    Case(
        "RepriseInjectionSkipped",
        "1 pods that asked for a sidecar got none: port-taken.",
        {
            _ADMISSIONS.format("skipped", "port-taken"): ("0x20 1x20", "0x40"),
            _ADMISSIONS.format("skipped", "opted-out"): ("0x40", "0+1x40"),
        },
        labels={"reason": "port-taken"},
        severity="info",
        loses=("instance",),
    ),
    Case(
        "RepriseInjectionMissing",
        "Pod n/b asked for a sidecar and runs without one.",
        {
            'kube_pod_labels{pod="P",label_reprise_dev_inject="true",L}': ("1x40", "1x40"),
            'kube_pod_labels{pod="P",label_reprise_dev_injected="true",L}': ("", "1x40"),
        },
        labels={"pod": "b", "label_reprise_dev_inject": "true"},
    ),
    Case(
        "RepriseWebhookCertExpiringSoon",
        "The injector's certificate ends in less than 14 days, or there is none.",
        {
            "reprise_injector_certificate_not_after_timestamp_seconds{L}": (
                "1000000x200",
                "5000000x200",
            )
        },
        at="2h",
        loses=("instance",),
    ),
)
