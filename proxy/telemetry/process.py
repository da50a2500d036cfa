"""What the process takes, by the names that all of Prometheus' client libraries have for it."""

import os
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.core import Metric

from proxy.telemetry.catalog_parts import CPU_SECONDS, RESIDENT_BYTES, VIRTUAL_BYTES
from proxy.telemetry.counts import family

_STATM = Path("/proc/self/statm")


class Process:
    """The collector.

    prometheus_client has one, which also lists the open files: with many connections that would
    keep the event loop for milliseconds.
    """

    def collect(self) -> Iterable[Metric]:
        """As prometheus_client asks for it. Where there is no /proc memory is left out."""
        times = os.times()
        yield family(CPU_SECONDS, {(): times.user + times.system})
        try:
            virtual, resident = map(int, _STATM.read_bytes().split()[:2])
        except OSError:
            return
        page = os.sysconf("SC_PAGE_SIZE")
        yield family(RESIDENT_BYTES, {(): resident * page})
        yield family(VIRTUAL_BYTES, {(): virtual * page})
