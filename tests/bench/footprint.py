"""Memory when idle, memory a stored entry, and the time from spawn to the first answer."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.generator import Generator
from tests.bench.load import Order
from tests.bench.processes import Processes, settled_resident_bytes
from tests.bench.systems import OURS, start_ours, start_upstream
from tests.bench.work import CHAT_ANSWER

STORED_HEAD = b"content-type: application/json\r\n"
"""What the scripted upstream sends of the fields that are stored with an answer."""

_WARM_ENTRIES = 500
_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class Memory:
    """What our process takes."""

    idle_rss_mb: float
    loaded_rss_mb: float
    entries: int
    bytes_per_entry_over_own: float


def measure_memory(folder: Path, generator: Generator, entries: int) -> Memory:
    """Store many answers through the proxy and see what its resident memory does.

    Idle is after start and 20 requests. An entry's share is the growth of VmRSS over `entries`
    distinct requests / `entries`, less the answer's body and stored head. Five hundred entries go
    before them, so that the buffers of requests under way are not charged to the entries.
    """
    with Processes(folder) as processes:
        process, port = start_ours(processes, folder, start_upstream(processes))
        processes.await_answer(OURS, process, port)
        generator.measure(Order(port, "hit_json", 1, "", count=20))
        idle = settled_resident_bytes(process)
        fill = Order(port, "miss_json", _CONNECTIONS, "fwd=", count=_WARM_ENTRIES)
        generator.measure(fill)
        before = settled_resident_bytes(process)
        generator.measure(Order(port, "miss_json", _CONNECTIONS, "fwd=", count=entries))
        after = settled_resident_bytes(process)
    own = len(CHAT_ANSWER) + len(STORED_HEAD)
    return Memory(
        idle_rss_mb=round(idle / 1e6, 1),
        loaded_rss_mb=round(after / 1e6, 1),
        entries=entries,
        bytes_per_entry_over_own=round((after - before) / entries - own, 1),
    )


def measure_start(folder: Path, times: int) -> float:
    """Seconds from spawning our process to the first 200 through it; the median."""
    taken = []
    with Processes(folder) as processes:
        upstream_port = start_upstream(processes)
        for _ in range(times):
            with Processes(folder) as ours:
                began = time.perf_counter()
                process, port = start_ours(ours, folder, upstream_port)
                ours.await_answer(OURS, process, port)
                taken.append(time.perf_counter() - began)
    return round(median(taken), 3)
