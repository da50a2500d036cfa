"""docs/benchmarks.md and docs/bench.json, written from one run."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bench import nginx
from tests.bench.figures import (
    ENTRY_TARGET,
    IDLE_TARGET,
    RATIO_TARGETS,
    START_TARGET,
    Absolute,
    verdict,
)
from tests.bench.footprint import Memory
from tests.bench.parts import Part
from tests.bench.systems import BARE_HIT, BARE_PASS, NGINX_CACHE, NGINX_PASS, OURS, UPSTREAM

_PACKAGES = ("uvloop", "aiohttp", "orjson", "structlog", "prometheus-client")

_OPENING = """\
# Benchmarks

Written by `make bench` (`python -m tests.bench`); do not edit. All figures are of one run on one
machine: the systems take turns of {seconds:g} s, in an order that rotates from round to round, and
each figure is the median over {rounds} rounds. A ratio is ours / the bare aiohttp counterpart,
taken within each round, then the median. Absolute figures drift with the machine and with what else
runs on it; the ratios hold.

The request is a chat completion of 1 KB, the answer 600 bytes of JSON or 50 SSE chunks (11 KB). The
load generator is a process of its own which checks the status and every byte of every answer.
Reprise runs as shipped: JSON log lines to a file, metrics on. On a miss each request differs, so
every answer is also recorded and stored. Times are in microseconds unless marked otherwise.

At one connection all processes share one processor: they take turns anyway, and left free on a
virtual machine each hand-over costs 10 or 80 us by the scheduler's whim, more than what is measured
(a hit then seemed as fast as the bare handler). At 32 connections they are free.

- **upstream alone**: the scripted LLM server without a proxy, an asyncio protocol that writes fixed
  bytes; a stream goes out as 50 writes.
- **bare aiohttp, hit**: an aiohttp handler on uvloop that looks the body's SHA-256 up in a dict and
  writes fixed bytes.
- **bare aiohttp, pass**: an aiohttp server and an aiohttp client on uvloop that stream through.
- **nginx**: one worker, `proxy_cache` with the body in the key, and `proxy_pass` without buffering.
{nginx_word}"""

_MEMORY_WORD = """
Idle is after start and 20 requests. An entry's share is the growth of VmRSS over {entries:,}
distinct requests of 1 KB through the proxy, divided by their number, less the 600-byte answer and
its stored header. So it holds the key, the memo of the request's digest, the store's own index and
the allocator's loss. At the end the process has {loaded:g} MB. Start-up is the median time from
spawning the process to the first 200 through it.
"""

_PARTS_WORD = """\
## What a hit costs

Our own functions, called in process one after the other on the bench's request, with the clock read
in between; medians. What is missing to a whole hit is aiohttp's connection loop and the socket. A
request that was not a hit before pays for its key without the memo.

"""

_ELSEWHERE = """\
## Measured elsewhere

Other caching proxies, the same request on this kind of machine in an earlier, quiet run (bare
aiohttp then had 45 us for a JSON hit, 32,000 requests/s at 32 connections, and added 144 us on a
miss). Times are the p50 at one connection.

| | JSON hit, us | x bare aiohttp at 32 | added on a JSON miss, us |
|---|---|---|---|
| crucible-cache 1.0 | 173 | 0.2 | 900 |
| cachellm-proxy 0.3 | 525 | 0.05 | 11,700 (with its encoder) |
| litellm proxy, local cache | 3,658 | 0.006 | 5,600 |
| gptcache server | 43,600 | 0.0006 | - |
"""

_REPEAT = """\
## How to repeat

```
apt-get install --no-install-recommends nginx-light   # optional; its service need not run
make bench                                            # writes this page and docs/bench.json
python -m tests.bench --quick                         # a look in half a minute; writes nothing
python -m tests.bench --only hit_json --rounds 5      # one piece of work
```
"""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one run found."""

    rounds: int
    seconds: float
    absolute: Absolute
    ratios: Mapping[str, float]
    memory: Memory | None
    start_seconds: float | None
    parts: Sequence[Part]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """The machine and what ran on it."""
    program = nginx.find()
    told = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in told if line.startswith("model name")]
    return {
        "cpu": f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores",
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{package: _installed(package) for package in _PACKAGES},
        "nginx": nginx.version(program) if program else "absent, skipped",
    }


def document(findings: Findings) -> dict[str, object]:
    """The content of bench.json."""
    memory = findings.memory
    return {
        "rounds": findings.rounds,
        "versions": versions(),
        "absolute": findings.absolute,
        "ratios": findings.ratios,
        "memory": {
            "idle_rss_mb": memory.idle_rss_mb if memory else None,
            "bytes_per_entry_over_own": memory.bytes_per_entry_over_own if memory else None,
        },
        "start_s": findings.start_seconds,
    }


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def _table(
    absolute: Absolute, systems: Sequence[str], columns: Mapping[str, str], title: str
) -> str:
    """A table with a row a system and a column a figure."""
    text = f"### {title}\n\n" + _row(["", *columns.values()]) + _row(["---"] * (len(columns) + 1))
    for system in systems:
        if system in absolute:
            label = f"**{system}**" if system == OURS else system
            text += _row([label, *(_number(absolute[system].get(name)) for name in columns)])
    return text + "\n"


def _four(work: str) -> dict[str, str]:
    return {
        f"{work}_rps_32": "requests/s, 32",
        f"{work}_p50_1": "p50, 1",
        f"{work}_p99_1": "p99, 1",
        f"{work}_p50_32": "p50, 32",
        f"{work}_p99_32": "p99, 32",
    }


def _ratios(ratios: Mapping[str, float]) -> str:
    text = "## Ratios\n\n" + _row(["ours / bare aiohttp", "ratio", "to reach", ""])
    text += _row(["---"] * 4)
    for target in RATIO_TARGETS:
        value = ratios.get(target.name)
        text += _row([f"`{target.name}`", _number(value), target.text, verdict(target, value)])
    return text + "\n"


def _absolute(absolute: Absolute) -> str:
    hits, passes = (OURS, BARE_HIT, NGINX_CACHE, UPSTREAM), (OURS, BARE_PASS, NGINX_PASS, UPSTREAM)
    json_miss = {**_four("miss_json"), "miss_json_added_p50_1": "added over upstream alone, p50, 1"}
    sse_miss = {
        "miss_sse_first_byte_p50_1": "first byte p50, 1",
        "miss_sse_first_byte_added_p50_1": "added",
        "miss_sse_total_p50_1": "total p50, 1",
        "miss_sse_total_added_p50_1": "added",
        "miss_sse_total_p99_1": "total p99, 1",
        "miss_sse_rps_32": "requests/s, 32",
    }
    return (
        "## Absolute\n\n"
        + _table(absolute, hits, _four("hit_json"), "Hit, JSON")
        + _table(absolute, hits, _four("hit_sse"), "Hit, 50 chunks of SSE")
        + _table(absolute, passes, json_miss, "Miss, JSON")
        + _table(absolute, passes, sse_miss, "Miss, 50 chunks of SSE")
        + _table(absolute, passes, _four("pass"), "Pass-through of a path that is not cached")
    )


def _footprint(memory: Memory | None, start_seconds: float | None) -> str:
    idle = memory.idle_rss_mb if memory else None
    share = memory.bytes_per_entry_over_own if memory else None
    text = "## Memory and start-up\n\n" + _row(["", "measured", "to reach", ""]) + _row(["---"] * 4)
    for label, target, value in (
        ("idle, MB resident", IDLE_TARGET, idle),
        ("bytes a stored entry over its own", ENTRY_TARGET, share),
        ("start to first answer, s", START_TARGET, start_seconds),
    ):
        measured = "-" if value is None else f"{value:g}"
        text += _row([label, measured, target.text, verdict(target, value)])
    if memory is not None:
        text += _MEMORY_WORD.format(entries=memory.entries, loaded=memory.loaded_rss_mb)
    return text + "\n"


def _parts(parts: Sequence[Part]) -> str:
    if not parts:
        return ""
    text = _PARTS_WORD + _row(["part", "us, JSON", "us, SSE"]) + _row(["---"] * 3)
    on_the_way = [part for part in parts if not part.is_extra]
    for part in on_the_way:
        text += _row([part.name, f"{part.json_us:.1f}", f"{part.sse_us:.1f}"])
    sum_json = sum(part.json_us for part in on_the_way)
    sum_sse = sum(part.sse_us for part in on_the_way)
    text += _row(["**sum**", f"**{sum_json:.1f}**", f"**{sum_sse:.1f}**"])
    for part in parts:
        if part.is_extra:
            text += _row([f"(not in it: {part.name})", f"{part.json_us:.1f}", f"{part.sse_us:.1f}"])
    return text + "\n"


def page(findings: Findings) -> str:
    """The content of benchmarks.md."""
    told = versions()
    word = "" if nginx.find() else "  It is not installed here, so it was skipped.\n"
    text = _OPENING.format(rounds=findings.rounds, seconds=findings.seconds, nginx_word=word)
    text += "\nMachine: " + told.pop("cpu") + "; Linux " + told.pop("kernel") + ". Versions: "
    text += ", ".join(f"{name} {number}" for name, number in told.items()) + ".\n\n"
    return (
        text
        + _ratios(findings.ratios)
        + _absolute(findings.absolute)
        + _footprint(findings.memory, findings.start_seconds)
        + _parts(findings.parts)
        + _ELSEWHERE
        + "\n"
        + _REPEAT
    )
