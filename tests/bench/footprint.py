"""Memory when idle, memory a stored entry, and the time from spawn to the first answer."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from proxy.core.cache.value import entry_id
from tests.bench.generator import Generator
from tests.bench.load import Order
from tests.bench.processes import Processes, await_metric, settled_resident_bytes
from tests.bench.systems import OURS, OURS_EXACT, ready_ours, start_ours, start_upstream
from tests.bench.work import CHAT_ANSWER

STORED_HEAD = (
    b"content-type: application/json\r\nx-cache-entry: %b\r\n" % entry_id(bytes(32), 2e9).encode()
)
"""What is stored with an answer: of the scripted upstream's fields, and the entry's name."""

_WARM_ENTRIES = 5000
_CONNECTIONS = 8
_IDLE_REQUESTS = 20


@dataclass(frozen=True, slots=True)
class Memory:
    """What our process takes."""

    idle_rss_mb: float
    """Without the semantic level."""
    one_encoder_rss_mb: float
    """As shipped, once ready: with the encoder for Latin letters."""
    both_encoders_rss_mb: float
    """After a Chinese question has loaded the other."""
    loaded_rss_mb: float
    entries: int
    bytes_per_entry_over_own: float


@dataclass(frozen=True, slots=True)
class StartUp:
    """Seconds from spawning our process as shipped; medians."""

    answer_s: float
    """To the first 200 through it."""
    ready_s: float
    """Until it says that it is ready: the encoder for Latin letters is loaded and warm."""


def measure_memory(folder: Path, generator: Generator, entries: int) -> Memory:
    """Store many answers through the proxy and see what its resident memory does.

    Idle is after start and 20 requests. An entry's share is the growth of VmRSS over `entries`
    distinct requests / `entries`, less the answer's body and stored head, without the semantic
    level. Five thousand entries go before them, so that what is bounded is not charged to the
    entries: buffers of requests under way, the counts of the questions that were missed most.
    """
    with Processes(folder) as processes:
        upstream_port = start_upstream(processes)
        ours = ready_ours(processes, folder, upstream_port, name=OURS_EXACT)
        port = ours.port
        generator.measure(Order(port, "hit_json", 1, "", count=_IDLE_REQUESTS))
        idle = settled_resident_bytes(ours.process)
        fill = Order(port, "miss_json", _CONNECTIONS, "fwd=", count=_WARM_ENTRIES)
        generator.measure(fill)
        before = settled_resident_bytes(ours.process)
        generator.measure(Order(port, "miss_json", _CONNECTIONS, "fwd=", count=entries))
        after = settled_resident_bytes(ours.process)
        shipped = ready_ours(processes, folder, upstream_port)
        generator.measure(Order(shipped.port, "miss_en", 1, "fwd=", count=_IDLE_REQUESTS))
        one = settled_resident_bytes(shipped.process)
        generator.measure(Order(shipped.port, "miss_zh", 1, "fwd=", count=1))
        await_metric(shipped.admin_port, "encoders_ready", 2)
        generator.measure(Order(shipped.port, "miss_zh", 1, "fwd=", count=_IDLE_REQUESTS))
        both = settled_resident_bytes(shipped.process)
    own = len(CHAT_ANSWER) + len(STORED_HEAD)
    return Memory(
        idle_rss_mb=round(idle / 1e6, 1),
        one_encoder_rss_mb=round(one / 1e6, 1),
        both_encoders_rss_mb=round(both / 1e6, 1),
        loaded_rss_mb=round(after / 1e6, 1),
        entries=entries,
        bytes_per_entry_over_own=round((after - before) / entries - own, 1),
    )


def measure_start(folder: Path, times: int) -> StartUp:
    """Spawn our process several times."""
    answered, ready = [], []
    with Processes(folder) as processes:
        upstream_port = start_upstream(processes)
        for _ in range(times):
            with Processes(folder) as group:
                began = time.perf_counter()
                ours = start_ours(group, folder, upstream_port)
                group.await_answer(OURS, ours.process, ours.port)
                answered.append(time.perf_counter() - began)
                group.await_answer(OURS, ours.process, ours.admin_port, path="/readyz")
                ready.append(time.perf_counter() - began)
    return StartUp(round(median(answered), 3), round(median(ready), 3))
