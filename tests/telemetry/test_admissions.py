"""Metrics of the injector."""

from proxy.telemetry.admissions import Admissions


def test_every_outcome_begins_at_0_and_is_counted() -> None:
    admissions = Admissions([("injected", "native"), ("skipped", "opted-out")])
    admissions.count("injected", "native", 0.002)
    admissions.set_not_after(4e9)
    lines = admissions.exposition().decode().splitlines()
    for line in (
        'reprise_injector_admissions_total{reason="native",result="injected"} 1.0',
        'reprise_injector_admissions_total{reason="opted-out",result="skipped"} 0.0',
        'reprise_injector_admission_duration_seconds_bucket{le="0.001"} 0.0',
        'reprise_injector_admission_duration_seconds_bucket{le="0.0025"} 1.0',
        "reprise_injector_certificate_not_after_timestamp_seconds 4e+09",
    ):
        assert line in lines
