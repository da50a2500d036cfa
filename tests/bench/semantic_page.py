"""The part of docs/benchmarks.md about what is found by meaning."""

from collections.abc import Iterator, Sequence

from tests.bench.crowd import Crowd
from tests.bench.figures import (
    JUDGE_TARGET,
    OVER_PARTS_TARGET,
    SEARCH_TARGET,
    SEMANTIC_ENTRY_TARGET,
    Target,
)
from tests.bench.lane import EXTRAS, JUDGE, PARTS
from tests.bench.questions import LANGUAGES
from tests.bench.semantic import (
    ADDED,
    EXACT_HIT,
    HIT,
    HIT_32,
    MISS,
    RATIO,
    UNCOMPARED_MISS,
    Figures,
    Semantic,
)
from tests.bench.table import heading, judged_row, number, row
from tests.bench.vectors import Engine

_WORD = """\
## By meaning

Short questions in one partition: {entries}. Of these {wordings} are asked in other words, without
end: when all wordings were asked, other blanks stand around them, so that no request has the key of
an earlier one and no alias answers it. Every answer is proved to be a semantic hit by its head
(`detail=semantic`). English is read by all-MiniLM-L6-v2, Chinese by multilingual-e5-small, each in
one thread. The parts are our own functions, called one after the other in a process of the bench,
on the same texts and with as many entries in the index; whole and parts take turns on one
processor. What a whole hit has besides: HTTP, its key, guards and verifier, the ways to the threads
of encoder and index and back, log and metrics. `semantic.deadline` is 5 s here, so that 32
connections show how many hits the encoder yields; as shipped, who has waited for 100 ms becomes a
miss.

"""

_MISS_WORD = """\
A miss by meaning asks for a number that is stored with no question: it is embedded, searched for,
refused by a guard for each of its neighbours, sent to the upstream, stored and taken in. Exact
only, the same request goes to the upstream at once.

"""

_BESIDE_WORD = """\
One connection asks for what is stored, while another asks without a pause for what is compared and
not found (English); nothing is kept on one processor.

"""

_CROWD_WORD = """\
A search for the 5 nearest in one partition, without the way to the thread that owns the vectors.
They are drawn at random in 48 directions of 384 and a little noise, for making so many with the
encoder would take minutes. An entry's share is the growth of VmRSS by the semantic level alone,
less the question's own bytes: vector, graph, and all records of index and level. Up to 10,000 are
compared one by one; in larger partitions a graph (hnswlib) is searched.

"""


def semantic_figures(
    semantic: Semantic | None, crowds: Sequence[Crowd]
) -> Iterator[tuple[Target, float | None]]:
    """Figures to reach with what was measured, one of each language."""
    for language in LANGUAGES:
        spoken = semantic.languages[language] if semantic else None
        yield _named(OVER_PARTS_TARGET, language), spoken.figures[RATIO] if spoken else None
        yield _named(JUDGE_TARGET, language), spoken.parts[JUDGE] if spoken else None
    most = crowds[-1] if crowds else None
    yield SEARCH_TARGET, most.search_p50 if most else None
    yield SEMANTIC_ENTRY_TARGET, most.bytes_per_entry if most else None


def _named(target: Target, language: str) -> Target:
    return Target(f"{target.name}_{language}", target.bound, target.is_floor)


_VECTORS_WORD = """\
The index of `semantic.index: redis` beside hnswlib, both with the same vectors, drawn as above, in
one partition. This takes minutes, so the figures are those of the last
`python -m tests.bench --only vectors`, not of this run. A search in Redis includes the way over
loopback and back; one in hnswlib is without the way to its thread. Up to 10,000 are compared one by
one in Redis too.

"""


def semantic_section(semantic: Semantic | None, crowds: Sequence[Crowd]) -> str:
    """The section; what was not measured is left out."""
    if semantic is None and not crowds:
        return ""
    text = "" if semantic is None else _hits(semantic) + _misses(semantic) + _beside(semantic)
    return text + _crowded(crowds)


def _hits(semantic: Semantic) -> str:
    spoken = semantic.languages
    text = _WORD.format(
        entries=_listed([f"{one.entries:,} in {_TONGUES[name]}" for name, one in spoken.items()]),
        wordings=_listed([f"{one.wordings:,}" for one in spoken.values()]),
    )
    text += heading(["", *(f"{_TONGUES[name]}, us" for name in spoken)])
    for part in PARTS:
        text += row([part, *(number(one.parts[part]) for one in spoken.values())])
    sums = [sum(one.parts[part] for part in PARTS) for one in spoken.values()]
    text += row(["**sum of the parts**", *(f"**{number(value)}**" for value in sums)])
    for label, name in (
        ("**semantic hit, p50, 1 connection**", HIT),
        ("p99, 1", f"{HIT}_p99"),
        ("requests/s, 32 connections", f"{HIT_32}_rps"),
        ("p50, 32", f"{HIT_32}_p50"),
        ("p99, 32", f"{HIT_32}_p99"),
        ("(an exact hit, p50, 1)", EXACT_HIT),
    ):
        text += row([label, *(number(one.figures[name]) for one in spoken.values())])
    for part in EXTRAS:
        text += row([f"({part})", *(number(one.parts[part]) for one in spoken.values())])
    text += "\n" + heading(["", "measured", "to reach", ""])
    for target, value in semantic_figures(semantic, ()):
        if value is not None:
            text += judged_row(f"`{target.name}`", target, value)
    return text + "\n"


def _misses(semantic: Semantic) -> str:
    spoken = semantic.languages
    text = _MISS_WORD + heading(["", *(f"{_TONGUES[name]}, us" for name in spoken)])
    for label, name in (
        ("miss, p50, 1", MISS),
        ("exact only, p50, 1", UNCOMPARED_MISS),
        ("added by being compared", ADDED),
    ):
        text += row([label, *(number(one.figures[name]) for one in spoken.values())])
    return text + "\n"


def _beside(semantic: Semantic) -> str:
    def told(label: str, figures: Figures) -> str:
        return row([label, *(number(figures[name]) for name in ("p50", "p99", "slowest"))])

    text = _BESIDE_WORD + heading(["exact hits, 1 connection", "p50", "p99", "slowest"])
    text += told("alone", semantic.hits_alone)
    return text + told("beside what is compared", semantic.hits_beside) + "\n"


def _crowded(crowds: Sequence[Crowd]) -> str:
    if not crowds:
        return ""
    text = "### Many entries\n\n" + _CROWD_WORD
    text += heading(["entries", "search p50, us", "p99, us", "bytes an entry", "taken in after, s"])
    for crowd in crowds:
        cells = (crowd.search_p50, crowd.search_p99, crowd.bytes_per_entry, crowd.seconds)
        text += row([f"{crowd.entries:,}", *map(number, cells)])
    text += "\n" + heading([f"at {crowds[-1].entries:,}", "measured", "to reach", ""])
    for target, value in semantic_figures(None, crowds):
        if value is not None:
            text += judged_row(f"`{target.name}`", target, value)
    return text + "\n"


def vectors_section(engines: Sequence[Engine]) -> str:
    """What was kept of the last look at vectors in Redis; nothing where there is none."""
    if not engines:
        return ""
    text = "### Vectors in Redis\n\n" + _VECTORS_WORD
    names = ("", "entries", "search p50, us", "p99, us", "found of the 5 nearest")
    text += heading([*names, "bytes an entry", "taken in after, s"])
    for one in engines:
        found = f"{100 * one.recall:.1f} %"
        cells = (number(one.search_p50), number(one.search_p99), found)
        last = (number(one.bytes_per_entry), number(one.seconds))
        text += row([one.name, f"{one.entries:,}", *cells, *last])
    return text + "\n"


_TONGUES = {"en": "English", "zh": "Chinese"}


def _listed(words: Sequence[str]) -> str:
    return " and ".join(words)
