"""docs/benchmarks.md and docs/bench.json, written from one run."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bench import nginx
from tests.bench.crowd import Crowd
from tests.bench.figures import (
    BOTH_TARGET,
    ENTRY_TARGET,
    IDLE_TARGET,
    RATIO_TARGETS,
    START_TARGET,
    Absolute,
    Target,
)
from tests.bench.footprint import Memory, StartUp
from tests.bench.lasting import Sharing, Soak, WarmStart
from tests.bench.lasting_page import lasting_figures, lasting_section
from tests.bench.parts import Part
from tests.bench.semantic import Semantic
from tests.bench.semantic_page import semantic_figures, semantic_section, vectors_section
from tests.bench.several import Several
from tests.bench.systems import (
    BARE_HIT,
    BARE_PASS,
    NGINX_CACHE,
    NGINX_PASS,
    OURS,
    OURS_EXACT,
    UPSTREAM,
)
from tests.bench.table import heading, judged_row, number, row
from tests.bench.vectors import kept

_PACKAGES = (
    *("uvloop", "aiohttp", "orjson", "structlog", "prometheus-client"),
    *("numpy", "onnxruntime", "tokenizers", "sentencepiece", "hnswlib"),
)

_OPENING = """\
# Benchmarks

Written by `make bench` (`python -m tests.bench`); do not edit. All figures are of one run on one
machine: the systems take turns of {seconds:g} s, in an order that rotates from round to round, and
each figure is the median over {rounds} rounds. A ratio is ours / the bare aiohttp counterpart,
taken within each round, then the median. Absolute figures drift with the machine and with what else
runs on it; the ratios hold.

The request is a chat completion of 1 KB, the answer 600 bytes of JSON or 50 SSE chunks (11 KB). The
load generator is a process of its own which checks the status and every byte of every answer.
Reprise writes JSON log lines to a file, metrics are on. On a miss each request differs, so every
answer is also recorded and stored. Times are in microseconds unless marked otherwise.

Hits are measured as shipped: questions are compared by meaning too, and an exact hit does not get
so far. Misses and what passes through are measured without the semantic level and without disk, for
their counterparts compare nothing and keep nothing; what being compared adds to a miss stands under
"By meaning", and what disk adds under "Disk, Redis, replicas".

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
Idle is after start and 20 requests; both encoders are there once a Chinese question was asked. An
entry's share is the growth of VmRSS over {entries:,} distinct requests of 1 KB through the proxy,
divided by their number, less the 600-byte answer and its stored header; five thousand requests went
before. So it holds the key, the store's own index and the allocator's loss, and nothing that is
bounded. At the end the process has {loaded:g} MB. Start-up is the median time from spawning the
process, as shipped, to the first 200 through it; exact hits are served from then on. Ready it says
to be when the encoder for Latin letters is loaded and warm.
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

_SEVERAL_WORD = """\
Hits of 600 bytes of JSON at 32 connections, exact only, nothing kept; `workers: 2` beside one
process. The load generator has its part of the same cores.

"""

_REPEAT = """\
## How to repeat

```
apt-get install --no-install-recommends nginx-light   # optional; its service need not run
make bench                                            # writes this page and docs/bench.json
python -m tests.bench --quick                         # a look in a minute; writes nothing
python -m tests.bench --only hit_json --rounds 9      # one piece of work
python -m tests.bench --only semantic crowd           # what is found by meaning
python -m tests.bench --only sharing                  # disk, Redis, and how soon others know
python -m tests.bench.warm_start                      # 100,000 entries from Redis and from disk
python -m tests.bench.soak --minutes 30               # memory under load
python -m tests.bench --only vectors                  # in Redis; writes docs/bench-vectors.json
```
"""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one run found; what was not wanted is None or empty."""

    rounds: int
    seconds: float
    absolute: Absolute
    ratios: Mapping[str, float]
    memory: Memory | None
    start: StartUp | None
    parts: Sequence[Part]
    semantic: Semantic | None
    crowds: Sequence[Crowd]
    several: Several | None = None
    sharing: Sharing | None = None
    warm_starts: Mapping[str, WarmStart] = field(default_factory=dict)
    """These two are of commands of their own."""
    soak: Soak | None = None

    def judged(self) -> Iterator[tuple[Target, float | None]]:
        """Every figure to reach with what was measured."""
        for target in RATIO_TARGETS:
            yield target, self.ratios.get(target.name)
        yield from footprint_figures(self.memory, self.start)
        yield from semantic_figures(self.semantic, self.crowds)
        yield from lasting_figures(self.sharing, self.warm_starts, self.soak)


def footprint_figures(
    memory: Memory | None, start: StartUp | None
) -> Iterator[tuple[Target, float | None]]:
    """Those of memory and start-up."""
    yield IDLE_TARGET, memory.idle_rss_mb if memory else None
    yield BOTH_TARGET, memory.both_encoders_rss_mb if memory else None
    yield ENTRY_TARGET, memory.bytes_per_entry_over_own if memory else None
    yield START_TARGET, start.answer_s if start else None


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
    """The content of bench.json; null for what was not measured."""
    memory, start, semantic = findings.memory, findings.start, findings.semantic
    return {
        "rounds": findings.rounds,
        "versions": versions(),
        "absolute": findings.absolute,
        "ratios": findings.ratios,
        "memory": asdict(memory) if memory else None,
        "start": asdict(start) if start else None,
        "semantic": asdict(semantic) if semantic else None,
        "crowds": [asdict(crowd) for crowd in findings.crowds],
        "several": asdict(findings.several) if findings.several else None,
        "sharing": asdict(findings.sharing) if findings.sharing else None,
        "warm_start": {name: asdict(one) for name, one in findings.warm_starts.items()},
        "soak": asdict(findings.soak) if findings.soak else None,
    }


def _table(
    absolute: Absolute, systems: Sequence[str], columns: Mapping[str, str], title: str
) -> str:
    """A table with a row a system and a column a figure."""
    text = f"### {title}\n\n" + heading(["", *columns.values()])
    for system in systems:
        if system in absolute:
            label = f"**{system}**" if system in (OURS, OURS_EXACT) else system
            text += row([label, *(number(absolute[system].get(name)) for name in columns)])
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
    text = "## Ratios\n\n" + heading(["ours / bare aiohttp", "ratio", "to reach", ""])
    for target in RATIO_TARGETS:
        text += judged_row(f"`{target.name}`", target, ratios.get(target.name))
    return text + "\n"


def _absolute(absolute: Absolute) -> str:
    hits = (OURS, BARE_HIT, NGINX_CACHE, UPSTREAM)
    passes = (OURS_EXACT, BARE_PASS, NGINX_PASS, UPSTREAM)
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


def _footprint(memory: Memory | None, start: StartUp | None) -> str:
    text = "## Memory and start-up\n\n" + heading(["", "measured", "to reach", ""])
    labels = (
        "idle, exact only, MB resident",
        "idle, with both encoders, MB resident",
        "bytes a stored entry over its own, exact only",
        "start to first answer, s",
    )
    for label, (target, value) in zip(labels, footprint_figures(memory, start), strict=True):
        text += judged_row(label, target, value)
    if memory is not None:
        text += row(["idle, as shipped, MB resident", f"{memory.one_encoder_rss_mb:g}", "", ""])
    if start is not None:
        text += row(["start to ready, s", f"{start.ready_s:g}", "", ""])
    if memory is not None:
        text += _MEMORY_WORD.format(entries=memory.entries, loaded=memory.loaded_rss_mb)
    return text + "\n"


def _several(several: Several | None) -> str:
    if several is None:
        return ""
    text = "## Several processes\n\n" + _SEVERAL_WORD
    text += heading(["one process, requests/s", "two workers", "gain", "supervisor, us a hit"])
    figures = (several.alone_rps, several.two_rps, several.gain, several.supervisor_us)
    return text + row([f"{figure:g}" for figure in figures]) + "\n"


def _parts(parts: Sequence[Part]) -> str:
    if not parts:
        return ""
    text = _PARTS_WORD + heading(["part", "us, JSON", "us, SSE"])
    on_the_way = [part for part in parts if not part.is_extra]
    for part in on_the_way:
        text += row([part.name, f"{part.json_us:.1f}", f"{part.sse_us:.1f}"])
    sum_json = sum(part.json_us for part in on_the_way)
    sum_sse = sum(part.sse_us for part in on_the_way)
    text += row(["**sum**", f"**{sum_json:.1f}**", f"**{sum_sse:.1f}**"])
    for part in parts:
        if part.is_extra:
            text += row([f"(not in it: {part.name})", f"{part.json_us:.1f}", f"{part.sse_us:.1f}"])
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
        + semantic_section(findings.semantic, findings.crowds)
        + vectors_section(kept())
        + _footprint(findings.memory, findings.start)
        + _several(findings.several)
        + lasting_section(findings.sharing, findings.warm_starts, findings.soak)
        + _parts(findings.parts)
        + _ELSEWHERE
        + "\n"
        + _REPEAT
    )
