"""What the process takes."""

from pathlib import Path

import pytest

from proxy.telemetry import process
from proxy.telemetry.process import Process


def figures() -> dict[str, float]:
    return {one.name: one.value for metric in Process().collect() for one in metric.samples}


def test_memory_and_processor_time_are_told() -> None:
    block = bytearray(b"x") * (64 << 20)
    found = figures()
    assert found["process_resident_memory_bytes"] > len(block)
    assert found["process_virtual_memory_bytes"] > found["process_resident_memory_bytes"]
    assert found["process_cpu_seconds_total"] > 0


def test_a_system_without_proc_tells_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_STATM", Path("/not/there"))
    assert set(figures()) == {"process_cpu_seconds_total"}
