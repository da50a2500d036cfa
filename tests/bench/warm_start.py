"""How soon a new process has 100,000 entries: `python -m tests.bench.warm_start [--entries N]`.

Entries with answers of 2 KB and vectors are written by the journals themselves: into Redis with a
snapshot, and onto disk. Then a proxy is started, and looked at until it holds and finds them all.
The vectors are drawn (crowd.py), but for those of some questions, which are made by the encoder:
these are asked in other words. The figures go to docs/bench.json and the page.
"""

import argparse
import asyncio
import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import uvloop

from proxy.clock import SystemClock
from proxy.config import load
from proxy.core.cache.change import Change, Learnt, Put
from proxy.core.cache.thread import NO_THREADS
from proxy.core.classify import Lookup, classify
from proxy.core.meaning.vectors import to_bytes
from proxy.ports import Journal, Vector
from proxy.semantic_level import make_gate
from proxy.store.disk import DiskJournal
from proxy.tasks import Tasks
from tests.bench.crowd import DrawnVectors
from tests.bench.kept import keep
from tests.bench.lane import Lane
from tests.bench.lasting import DISK, REDIS, WarmStart
from tests.bench.processes import (
    BenchError,
    Processes,
    all_metrics,
    answers,
    processor_seconds,
    resident_bytes,
)
from tests.bench.questions import ENGLISH
from tests.bench.systems import Ours, start_ours, start_upstream
from tests.bench.work import asked_body
from tests.core.values import OPERATIONS, request, stored_response
from tests.fakes.lines import Lines
from tests.fakes.models import prepared_models
from tests.fakes.redis import running_redis
from tests.store.redis_replicas import Replica

_SECRET = "the-secret-of-all-replicas-of-the-bench"
_ANSWER_BYTES = 2048
_REAL = 300
"""Entries whose vectors are made by the encoder."""
_ASKED = 100
_AT_ONCE = 500
_MOST_WAITING = 5000
_PROSE = "The parcel left our warehouse on Monday and the carrier has scanned it twice since then. "
_DEADLINE_SECONDS = 300.0
_POLL_SECONDS = 0.02
_SCRAPE_SECONDS = 0.2
"""Seldom, for it takes some milliseconds of the process that is measured."""
_AUTHORIZATION = ("Authorization", "Bearer sk-bench-0123456789abcdef")
_LOG_ENTRIES = 1_000_000
"""So many that no snapshot is written before all is there."""


class _Entries:
    """What is written: the same for every journal."""

    def __init__(self, count: int, upstream_port: int, folder: Path) -> None:
        """Blocks while the encoder reads some questions."""
        self.count = count
        lane = Lane(ENGLISH, make_gate(""), entries=_REAL, asked=_ASKED, folder=folder)
        self.reworded = lane.asked
        self.real = dict(zip(lane.stored, lane.vectors_of(lane.stored), strict=True))
        self._identity = lane.identity
        config = load(None, upstream=f"http://127.0.0.1:{upstream_port}", env={})
        self._rules = config.rules(1)
        self._now = SystemClock().now()

    def texts(self) -> Iterator[str]:
        """The questions."""
        yield from self.real
        for number in range(self.count - len(self.real)):
            yield f"How do I file claim {number:06} for a bicycle?"

    def changes(self) -> Iterator[Change]:
        """The entries, as they are told to a journal."""
        drawn = DrawnVectors().draw(self.count)
        for text in self.texts():
            vector = self.real.get(text)
            yield from self._entry(text, next(drawn) if vector is None else vector)

    def _entry(self, text: str, vector: Vector) -> tuple[Put, Learnt]:
        plan = self._plan(text)
        answer = stored_response(
            key=plan.key.exact,
            tenant=plan.tenant,
            model=plan.model,
            body=_answer(text),
            created=self._now,
            ttl=86400.0,
        )
        learnt = Learnt(
            key=plan.key.exact,
            scope=plan.key.scope,
            settings=plan.key.settings,
            history=plan.key.history,
            text=plan.text,
            until=self._now + 86400.0,
            encoder=self._identity,
            vector=to_bytes(vector),
        )
        return Put(answer), learnt

    def _plan(self, text: str) -> Lookup:
        asked = request(asked_body(text), _AUTHORIZATION)
        plan = classify(asked, self._rules, OPERATIONS, _SECRET.encode(), NO_THREADS)
        if not isinstance(plan, Lookup) or not plan.text:
            raise BenchError(f"not compared: {text}")
        return plan


def _answer(text: str) -> bytes:
    def answer(content: str) -> bytes:
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "chatcmpl-warm", "object": "chat.completion", "choices": [choice]}
        return json.dumps(whole).encode()

    missing = _ANSWER_BYTES - len(answer(text))
    return answer(text + (_PROSE * 24)[:missing])


async def _append_all(
    journal: Journal, changes: Iterator[Change], waiting: Callable[[], float]
) -> None:
    """Tell a journal everything, and wait until it has kept that."""
    while some := list(islice(changes, _AT_ONCE)):
        for change in some:
            journal.append(change)
        while waiting() > _MOST_WAITING:  # noqa: ASYNC110 - a journal tells nobody
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
    while waiting():  # noqa: ASYNC110 - the same
        await asyncio.sleep(0.01)


async def _nothing(changes: Sequence[Change]) -> None:
    """Take in nothing."""


class _Source(Replica):
    """A replica that has all entries without holding them."""

    def __init__(self, url: str, entries: _Entries) -> None:
        super().__init__(url, "reprise", log_entries=_LOG_ENTRIES)
        self._entries = entries

    async def everything(self) -> AsyncIterator[Sequence[Change]]:
        """All entries."""
        changes = self._entries.changes()
        while some := list(islice(changes, _AT_ONCE)):
            yield some
            await asyncio.sleep(0)


async def fill_redis(url: str, entries: _Entries) -> None:
    """Write all entries and a snapshot of them."""
    source = _Source(url, entries)
    journal = source.journal
    await journal.start(_nothing)
    await _append_all(journal, entries.changes(), lambda: source.figure("queue"))
    await source.until(lambda: source.figure("followed") + source.figure("written") > 0)
    if not await journal._snapshot_writer.write_if_needed():
        raise BenchError("no snapshot was written")
    await source.close()


async def fill_disk(directory: Path, entries: _Entries) -> None:
    """Write all entries to a file."""
    died: list[str] = []
    tasks = Tasks(lambda name, error: died.append(f"{name}: {error!r}"))
    journal = DiskJournal(
        directory, max_bytes=2 << 30, clock=SystemClock(), tasks=tasks, log=Lines()
    )
    await journal.start(_nothing)
    await _append_all(journal, entries.changes(), lambda: journal.figures()["disk_queue"])
    await journal.close()
    await tasks.drain(1.0)
    if died:
        raise BenchError("; ".join(died))


def _await_warm(ours: Ours, entries: _Entries, began: float, turn: int) -> WarmStart:
    """Look until all is there, and ask then."""
    reached: dict[str, float] = {}

    def note(name: str, *, is_so: bool) -> None:
        if is_so and name not in reached:
            reached[name] = round(time.perf_counter() - began, 2)

    while "found" not in reached or "ready" not in reached:
        if time.perf_counter() - began > _DEADLINE_SECONDS or ours.process.poll() is not None:
            raise BenchError(f"it is not warm: {reached}")
        if "answers" not in reached:
            note("answers", is_so=answers(ours.port, "/v1/models"))
        elif "ready" not in reached:
            note("ready", is_so=answers(ours.admin_port, "/readyz"))
        if "answers" in reached:
            figures = all_metrics(ours.admin_port)
            note("served", is_so=figures["reprise_entries"] >= entries.count)
            found = figures.get("reprise_semantic_entries", 0.0)
            note("found", is_so=found >= entries.count)
        time.sleep(_SCRAPE_SECONDS if "answers" in reached else _POLL_SECONDS)
    used, resident = processor_seconds(ours.process.pid), resident_bytes(ours.process.pid)
    every = max(1, entries.count // _ASKED)
    stored = list(islice(entries.texts(), 0, None, every))
    _ask(ours.port, stored, "detail=exact")
    # With other blanks at each start: else it is known from the one before what answers it.
    _ask(ours.port, [text + " " * turn for text in entries.reworded], "detail=semantic")
    return WarmStart(
        entries=entries.count,
        answers_s=reached["answers"],
        ready_s=reached["ready"],
        served_s=reached["served"],
        found_s=reached["found"],
        processor_s=round(used, 1),
        rss_mb=round(resident / 1e6, 1),
        asked=len(stored),
        reworded=len(entries.reworded),
    )


def _ask(port: int, texts: Sequence[str], proof: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    fields = dict((_AUTHORIZATION, ("Content-Type", "application/json")))
    for text in texts:
        connection.request("POST", "/v1/chat/completions", asked_body(text), fields)
        response = connection.getresponse()
        body = response.read()
        told = response.getheader("Cache-Status", "")
        if proof not in told or len(body) != _ANSWER_BYTES:
            raise BenchError(f"{text!r} is no hit: {response.status} {told!r} {body[:200]!r}")
    connection.close()


def _settings(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "memory": {"max_entries": 200_000, "max_bytes": "2GiB"},
        "semantic": {"deadline": "5s"},
        "tenancy": {"secret": _SECRET},
        "persist": kept,
    }


def _start(
    folder: Path,
    processes: Processes,
    upstream_port: int,
    entries: _Entries,
    kept: Mapping[str, Any],
    turn: int,
) -> WarmStart:
    began = time.perf_counter()
    ours = start_ours(processes, folder, upstream_port, name="warm", settings=_settings(kept))
    try:
        return _await_warm(ours, entries, began, turn)
    finally:
        processes.end(ours.process)


async def measure_warm_starts(
    folder: Path, count: int, *, times: int, kinds: Sequence[str], tell: Callable[[str], None]
) -> dict[str, WarmStart]:
    """Fill and start; the start in the middle of several, by where the entries came from."""
    found = {}
    with Processes(folder) as processes:
        upstream_port = await asyncio.to_thread(start_upstream, processes)
        entries = await asyncio.to_thread(_Entries, count, upstream_port, folder)

        async def started(kept: Mapping[str, Any]) -> WarmStart:
            starts = []
            for turn in range(times):
                tell("starting")
                starts.append(
                    await asyncio.to_thread(
                        _start, folder, processes, upstream_port, entries, kept, turn
                    )
                )
                tell(str(starts[-1]))
            return sorted(starts, key=lambda one: one.found_s)[times // 2]

        if REDIS in kinds:
            async with running_redis() as redis:
                tell("filling redis")
                await fill_redis(redis.url, entries)
                kept = {"redis": {"url": redis.url}, "disk": {"enabled": False}}
                found[REDIS] = await started(kept)
        if DISK in kinds:
            tell("filling the disk")
            directory = folder / "warm-kept"
            await fill_disk(directory, entries)
            found[DISK] = await started({"disk": {"path": str(directory), "max_bytes": "2GiB"}})
    return found


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> int:
    """Run it, print the figures, and keep them unless there were few entries."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.warm_start", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000, help="fewer are not kept")
    parser.add_argument("--times", type=int, default=3, help="starts of each kind (3)")
    parser.add_argument("--only", nargs="+", choices=(REDIS, DISK), default=(REDIS, DISK))
    options = parser.parse_args()
    os.environ["REPRISE_MODELS"] = str(prepared_models())
    with tempfile.TemporaryDirectory(prefix="reprise-warm-") as name:
        found = uvloop.run(
            measure_warm_starts(
                Path(name),
                options.entries,
                times=options.times,
                kinds=options.only,
                tell=_tell,
            )
        )
    told = {kind: asdict(one) for kind, one in found.items()}
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
    if options.entries >= 100_000 and len(told) == 2:
        keep("warm_start", told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
