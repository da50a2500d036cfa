"""The metrics of the injector, which is a process of its own."""

from proxy.telemetry.described import counter, gauge, histogram

REASONS = (
    *("native", "classic", "completed", "complete"),
    *("opted-out", "bad-label", "system-namespace", "own-namespace", "mirror-pod", "windows"),
    *("host-network", "name-taken", "port-taken", "classic-job", "no-upstream"),
    *("malformed", "too-large", "not-a-pod", "not-a-creation", "internal"),
)
ADMISSIONS = counter(
    "injector_admissions",
    "Reviews of the API server, by what came of them and why.",
    labels={"result": ("injected", "unchanged", "skipped", "failed"), "reason": REASONS},
)
ADMISSION_DURATIONS = histogram(
    "injector_admission_duration_seconds", "From the head of a review to its answer."
)
CERTIFICATE_NOT_AFTER = gauge(
    "injector_certificate_not_after_timestamp_seconds",
    "When the certificate that is served ends; 0 while there is none.",
)
INJECTOR = (ADMISSIONS, ADMISSION_DURATIONS, CERTIFICATE_NOT_AFTER)
