"""Half an hour of mixed load: `python -m tests.bench.soak [--minutes 30] [--rate 150]`.

One proxy as shipped, with disk, Redis and both encoders, that may hold fewer entries than are asked
for, so that entries go all the time. Its resident memory is looked at every five seconds. The
figures go to docs/bench.json and the page.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import uvloop
from aiohttp import ClientSession

from tests.bench.kept import keep
from tests.bench.lasting import Soak
from tests.bench.processes import Processes, all_metrics, free_port, python, resident_bytes
from tests.bench.soak_load import ADMIN_TOKEN, Load
from tests.bench.systems import Ours, ready_ours
from tests.fakes.models import prepared_models
from tests.fakes.redis import running_redis

MAX_ENTRIES = 5000
SETTLED = 1 / 3
"""The share of the time after which memory should not grow any more: ten minutes of thirty."""
SAMPLE_SECONDS = 5.0
_DISK_BYTES = "64MiB"
_REDIS_BYTES = "128mb"
_PURGE_SECONDS = 20.0
_SMOOTHED_SECONDS = 120.0
_LOG_SECONDS = 60.0
_TOLD_BYTES = 500
_LEAST_KEPT_MINUTES = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the process."""

    second: float
    rss_bytes: int


def growth(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Bytes after a third of the time, bytes at the end, and by how much that is more.

    Each is the median over two minutes, or less where all is short.
    """
    end = samples[-1].second
    window = min(_SMOOTHED_SECONDS, end * SETTLED / 2)
    begin = end * SETTLED
    settled = median(one.rss_bytes for one in samples if begin <= one.second <= begin + window)
    last = median(one.rss_bytes for one in samples if one.second >= end - window)
    return settled, last, last / settled - 1


class _Log:
    """The lines that the proxy has written, of which only what is wrong is of interest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.events: Counter[str] = Counter()
        self.told: list[str] = []

    def read(self) -> None:
        """Count what is there, and empty the file: it would fill the disk."""
        with self._path.open("rb") as lines:
            for line in lines:
                if b'"level":"info"' in line:
                    continue
                told = json.loads(line)
                self.events[f"{told['level']}: {told['event']}"] += 1
                if told["level"] != "warning":
                    self.told.append(line.decode()[:_TOLD_BYTES])
        os.truncate(self._path, 0)


class _Watch:
    """Looks at the proxy while it is asked."""

    def __init__(self, ours: Ours, log: _Log, samples_file: Path | None) -> None:
        self.samples: list[Sample] = []
        self._ours = ours
        self._log = log
        self._file = samples_file

    async def run(self, seconds: float) -> None:
        """Look until so many seconds have passed."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        read_at = began + _LOG_SECONDS
        while (second := loop.time() - began) < seconds:
            resident = resident_bytes(self._ours.process.pid)
            self.samples.append(Sample(round(second, 1), resident))
            if loop.time() >= read_at:
                read_at += _LOG_SECONDS
                await asyncio.to_thread(self._log.read)
                await asyncio.to_thread(self._tell)
            await asyncio.sleep(min(SAMPLE_SECONDS, seconds / 20))

    def _tell(self) -> None:
        """Leave word of how it goes, for whoever looks into what grows."""
        if self._file is None:
            return
        last = self.samples[-1]
        figures = all_metrics(self._ours.admin_port)
        with self._file.open("a") as file:
            file.write(json.dumps({**asdict(last), **figures}) + "\n")


async def soak(
    folder: Path, *, minutes: float, rate: float, samples: Path | None = None
) -> tuple[Soak, list[str]]:
    """Run it; the figures, and the first things that went wrong.

    `samples` is a file that gets all metrics, once a minute.
    """
    seconds = minutes * 60
    async with running_redis(
        *("--maxmemory", _REDIS_BYTES, "--maxmemory-policy", "allkeys-lru")
    ) as redis:
        settings = {
            "memory": {"max_entries": MAX_ENTRIES},
            "persist": {"disk": {"max_bytes": _DISK_BYTES}, "redis": {"url": redis.url}},
            "admin": {"token": ADMIN_TOKEN},
        }
        with Processes(folder) as processes:
            port = free_port()
            echo = processes.start("echo", python("-m", "tests.bench.echo", str(port)))
            await asyncio.to_thread(processes.await_answer, "echo", echo, port)
            ours = await asyncio.to_thread(
                ready_ours, processes, folder, port, name="soak", settings=settings
            )
            log = _Log(processes.log("soak"))
            load = Load(ours.port, ours.admin_port, rate=rate)
            watch = _Watch(ours, log, samples)
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run())
                purging = group.create_task(_purge_on(load))
                await watch.run(seconds)
                load.stop()
                purging.cancel()
            lasted = time.monotonic() - began
            figures = await asyncio.to_thread(all_metrics, ours.admin_port)
            log.read()
            redis_bytes = (await redis.command("INFO", "memory"))["used_memory"]
    seen = load.seen
    settled, last, grown = growth(watch.samples)
    found = Soak(
        minutes=minutes,
        requests=seen.requests,
        rps=round(seen.requests / lasted, 1),
        outcomes=dict(seen.outcomes.most_common()),
        purges=seen.purges,
        opinions=seen.opinions,
        failures=seen.failures,
        not_alike=seen.not_alike,
        events=dict(log.events),
        rss_settled_mb=round(settled / 1e6, 1),
        rss_end_mb=round(last / 1e6, 1),
        rss_most_mb=round(max(one.rss_bytes for one in watch.samples) / 1e6, 1),
        growth=round(grown, 4),
        entries=figures["reprise_entries"],
        disk_mb=round(figures.get("reprise_disk_bytes", 0.0) / 1e6, 1),
        disk_dropped=figures.get("reprise_disk_dropped_total", 0.0),
        redis_mb=round(redis_bytes / 1e6, 1),
    )
    return found, [*seen.told, *log.told[:20]]


async def _purge_on(load: Load) -> None:
    soft = False
    async with ClientSession() as session:
        while True:
            await asyncio.sleep(_PURGE_SECONDS)
            await load.purge(session, soft=soft)
            soft = not soft


def main() -> int:
    """Run it, print the figures, and keep them unless it was short."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="(30); under 10 nothing is kept")
    parser.add_argument("--rate", type=float, default=150, help="requests a second (150)")
    parser.add_argument("--samples", type=Path, help="a file for all metrics, once a minute")
    options = parser.parse_args()
    os.environ["REPRISE_MODELS"] = str(prepared_models())
    with tempfile.TemporaryDirectory(prefix="reprise-soak-") as name:
        found, wrong = uvloop.run(
            soak(
                Path(name),
                minutes=options.minutes,
                rate=options.rate,
                samples=options.samples,
            )
        )
    sys.stdout.write(json.dumps(asdict(found), indent=2) + "\n")
    for line in wrong:
        sys.stderr.write(line + "\n")
    if options.minutes >= _LEAST_KEPT_MINUTES:
        keep("soak", asdict(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
