"""The part of docs/benchmarks.md about entries that last."""

from collections.abc import Iterator, Mapping

from tests.bench.figures import (
    DELAY_TARGET,
    HIT_KEEPING_TARGETS,
    SOAK_TARGET,
    WARM_TARGET,
    Target,
)
from tests.bench.lasting import DISK, REDIS, SYSTEMS, Delay, Sharing, Soak, WarmStart
from tests.bench.table import heading, judged_row, number, row

HEADING = "## Disk, Redis, replicas\n"

_WORD = (
    HEADING
    + """
Three proxies that differ only in what they keep entries in besides memory (nothing, the file on
disk, a Redis on the same machine) take turns with the same work; nothing is compared by meaning. A
ratio is to the one that keeps nothing, of turns next to each other, then the median over all
rounds. Hits are told apart by turns there and back. On a miss the answer is also written: at one
connection all of that, Redis itself included, happens on the one processor that is measured.

"""
)

_DELAY_WORD = """\
Two proxies share a Redis, or a file. One is asked new questions; one of eight of its answers is
looked for at the other from then on, by `Cache-Control: only-if-cached` every 5 ms.

"""

_WARM_WORD = """\
### A warm start

{entries:,} entries with answers of 2 KB and vectors of 384 numbers, all in one partition, from
Redis by the newest snapshot, and from disk; seconds from spawning the process. It holds and finds
all of them when `reprise_entries` and `reprise_semantic_entries` say so; that no text is embedded
anew is plain from the time, for that many take over 300 s. Afterwards {asked} of them are asked as
stored and {reworded} in other words: all are hits. The graph of so large a partition is built
later; until then all its vectors are compared. Memory is that of the process, idle encoder
included, when all is there.

"""

_SOAK_WORD = """\
### Half an hour

One proxy as shipped with disk, Redis ({redis:g} MB used at the end) and both encoders, with room
for 5,000 entries, is asked by 24 clients of six tenants: long questions, short ones and the same in
other words, in two languages, as JSON and streams; a part of the clients leaves in mid-stream; some
answers are called wrong, some are purged, some fail. Questions are more than there is room for, so
entries go all the time. The whole text of every answer that is read to its end is compared to what
it has to be, and must be the tenant's own. On a busy machine the clients do not reach their rate of
150 a second. Growth is that of VmRSS from the eleventh minute to the last, medians over two
minutes.

"""


def lasting_figures(
    sharing: Sharing | None, warm_starts: Mapping[str, WarmStart], soak: Soak | None
) -> Iterator[tuple[Target, float | None]]:
    """Figures to reach with what was measured."""
    for name in (DISK, REDIS):
        for target in HIT_KEEPING_TARGETS:
            yield _named(name, target), sharing.ratios[name][target.name] if sharing else None
    for name in (DISK, REDIS):
        yield _named(name, DELAY_TARGET), sharing.delays[name].p99_ms if sharing else None
    for name in (DISK, REDIS):
        warm = warm_starts.get(name)
        yield _named(name, WARM_TARGET), warm.found_s if warm else None
    yield SOAK_TARGET, soak.growth if soak else None


def lasting_section(
    sharing: Sharing | None, warm_starts: Mapping[str, WarmStart], soak: Soak | None
) -> str:
    """The section; what was never measured is left out."""
    if sharing is None and not warm_starts and soak is None:
        return ""
    text = HEADING + "\n" if sharing is None else _costs(sharing) + _delays(sharing.delays)
    text += _warm(warm_starts) + ("" if soak is None else _soak(soak))
    text += heading(["", "measured", "to reach", ""])
    for target, value in lasting_figures(sharing, warm_starts, soak):
        if value is not None:
            text += judged_row(f"`{target.name}`", target, value)
    return text + "\n"


def _costs(sharing: Sharing) -> str:
    text = _WORD + heading(["", *SYSTEMS, "disk, ratio", "redis, ratio"])
    for label, figure in _ROWS:
        cells = [number(sharing.absolute[name][figure]) for name in SYSTEMS]
        cells += [f"{sharing.ratios[name][figure]:g}" for name in (DISK, REDIS)]
        text += row([label, *cells])
    return text + "\n"


def _delays(delays: Mapping[str, Delay]) -> str:
    text = _DELAY_WORD + heading(["by", "answers/s", "looked for", "p50, ms", "p99, ms", "slowest"])
    for name, one in delays.items():
        cells = (one.per_second, one.looked_for, one.p50_ms, one.p99_ms, one.slowest_ms)
        text += row([name, *map(number, cells)])
    return text + "\n"


def _warm(warm_starts: Mapping[str, WarmStart]) -> str:
    if not warm_starts:
        return ""
    some = next(iter(warm_starts.values()))
    text = _WARM_WORD.format(entries=some.entries, asked=some.asked, reworded=some.reworded)
    text += heading(
        [
            *("from", "first answer, s", "all served", "all found", "processor time, s"),
            "MB resident",
        ]
    )
    for name, one in warm_starts.items():
        cells = (one.answers_s, one.served_s, one.found_s, one.processor_s, one.rss_mb)
        text += row([name, *(f"{cell:g}" for cell in cells)])
    return text + "\n"


def _soak(soak: Soak) -> str:
    text = _SOAK_WORD.format(redis=soak.redis_mb) + heading(["", ""])
    outcomes = ", ".join(f"{name} {count:,}" for name, count in soak.outcomes.items())
    for label, cell in (
        ("minutes", f"{soak.minutes:g}"),
        ("requests", f"{soak.requests:,} ({soak.rps:g}/s)"),
        ("outcomes", outcomes),
        ("purges by tag; answers called wrong", f"{soak.purges:,}; {soak.opinions:,}"),
        ("failures, wrong or foreign answers", f"{soak.failures:,}"),
        ("found by meaning, to another question", f"{soak.not_alike:,}"),
        ("MB resident after 10 minutes", f"{soak.rss_settled_mb:g}"),
        ("MB resident at the end", f"{soak.rss_end_mb:g}"),
        ("MB on disk, at most 64 of them for the file", f"{soak.disk_mb:g}"),
        ("changes that did not reach the disk", f"{soak.disk_dropped:,.0f}"),
    ):
        text += row([label, cell])
    return text + "\n"


def _named(name: str, target: Target) -> Target:
    return Target(f"{name}_{target.name}", target.bound, target.is_floor)


_ROWS = (
    *(
        (f"{kind}, {label}", f"{work}_{figure}")
        for kind, work in (("hit, JSON", "hit_json"), ("hit, SSE", "hit_sse"))
        for label, figure in (("p50, 1", "p50_1"), ("requests/s, 32", "rps_32"))
    ),
    ("miss, JSON, p50, 1", "miss_json_p50_1"),
    ("miss, JSON, requests/s, 32", "miss_json_rps_32"),
    ("miss, SSE, p50, 1", "miss_sse_total_p50_1"),
    ("miss, SSE, requests/s, 32", "miss_sse_rps_32"),
)
