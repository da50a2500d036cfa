"""The command: `python -m tests.bench [--rounds N] [--json] [--quick] [--only WORK ...]`."""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.bench.crowd import Crowd, measure_crowd
from tests.bench.figures import Rounds, verdict
from tests.bench.footprint import measure_memory, measure_start
from tests.bench.generator import Generator
from tests.bench.kept import keep, kept_soak, kept_warm_starts
from tests.bench.lasting import Sharing
from tests.bench.page import Findings, document, page
from tests.bench.parts import measure_parts
from tests.bench.processes import ROOT, BenchError, Processes, pin
from tests.bench.rounds import SCENARIOS, Sample, Scenario, prime, run_rounds, turns
from tests.bench.semantic import Scale, Semantic, measure_semantic
from tests.bench.several import measure_several
from tests.bench.sharing import Extent, measure_sharing
from tests.bench.systems import start_all
from tests.bench.vectors import keep as keep_vectors
from tests.bench.vectors import measure_vectors
from tests.fakes.models import prepared_models

_WORKS = tuple(dict.fromkeys(scenario.work for scenario in SCENARIOS))
_OTHERS = (*("memory", "start", "parts", "semantic", "crowd", "several", "vectors", "sharing"),)
_CROWDS = (1000, 10_000, 100_000)
_QUICK_CROWDS = (1000, 3000)
_VECTORS = (10_000, 100_000)
_QUICK_VECTORS = (1000,)
_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (5)")
    parser.add_argument("--seconds", type=float, default=0.6, help="length of a turn (0.6)")
    parser.add_argument("--json", action="store_true", help="print bench.json last on stdout")
    parser.add_argument("--quick", action="store_true", help="a short look; writes nothing")
    parser.add_argument(
        "--only", nargs="+", choices=(*_WORKS, *_OTHERS), help="; writes nothing but vectors"
    )
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = min(options.rounds, 2), 0.25
    return options


def _run_rounds(
    console: Console, folder: Path, generator: Generator, options: argparse.Namespace
) -> list[Sample]:
    scenarios: Sequence[Scenario] = [
        scenario for scenario in SCENARIOS if not options.only or scenario.work in options.only
    ]
    if not scenarios:
        return []
    with Processes(folder) as processes:
        systems = start_all(processes, folder)
        prime(generator, systems, scenarios)
        everybody = [*processes.ids, generator.id]
        free = os.sched_getaffinity(0)

        def place(connections: int) -> None:
            pin(everybody, {min(free)} if connections == 1 else free)

        with Progress(*_COLUMNS, TimeElapsedColumn(), console=console, refresh_per_second=2) as bar:
            task = bar.add_task("rounds", total=turns(systems, scenarios, options.rounds))
            return list(
                run_rounds(
                    generator,
                    systems,
                    scenarios,
                    rounds=options.rounds,
                    seconds=options.seconds,
                    pin=place,
                    advance=lambda what: bar.update(task, advance=1, description=what),
                )
            )


def _run_semantic(
    console: Console, folder: Path, generator: Generator, options: argparse.Namespace
) -> Semantic:
    scale = Scale(
        entries=60 if options.quick else 1000,
        asked=30 if options.quick else 300,
        rounds=options.rounds,
        seconds=options.seconds,
    )
    with Progress(*_COLUMNS, TimeElapsedColumn(), console=console, refresh_per_second=2) as bar:
        task = bar.add_task("semantic", total=scale.steps)
        return measure_semantic(
            folder,
            generator,
            scale,
            advance=lambda what: bar.update(task, advance=1, description=what),
        )


def _run_sharing(
    console: Console, folder: Path, generator: Generator, options: argparse.Namespace
) -> Sharing:
    extent = Extent(
        rounds=options.rounds,
        seconds=options.seconds,
        delay_seconds=3 if options.quick else 20,
    )
    with Progress(*_COLUMNS, TimeElapsedColumn(), console=console, refresh_per_second=2) as bar:
        task = bar.add_task("sharing", total=extent.steps)
        return measure_sharing(
            folder,
            generator,
            extent,
            advance=lambda what: bar.update(task, advance=1, description=what),
        )


def _look_at_vectors(console: Console, options: argparse.Namespace) -> None:
    engines = measure_vectors(_QUICK_VECTORS if options.quick else _VECTORS)
    table = Table("", "entries", "p50, us", "p99, us", "recall", "bytes an entry", "seconds")
    for one in engines:
        table.add_row(*map(str, asdict(one).values()))
    console.print(table)
    if not options.quick:
        keep_vectors(engines)


def _bench(console: Console, options: argparse.Namespace) -> Findings:
    def wanted(what: str) -> bool:
        return not options.only or what in options.only

    parts = measure_parts(1000 if options.quick else 6000) if wanted("parts") else ()
    with tempfile.TemporaryDirectory(prefix="reprise-bench-") as name, Generator() as generator:
        folder = Path(name)
        rounds = Rounds(_run_rounds(console, folder, generator, options))
        memory = start = semantic = several = sharing = None
        if wanted("semantic"):
            semantic = _run_semantic(console, folder, generator, options)
        if wanted("sharing"):
            sharing = _run_sharing(console, folder, generator, options)
        if wanted("memory"):
            console.print("memory")
            memory = measure_memory(folder, generator, entries=4000 if options.quick else 20_000)
        if wanted("start"):
            console.print("start-up")
            start = measure_start(folder, times=2 if options.quick else 5)
        if wanted("several"):
            console.print("several processes")
            several = measure_several(
                folder, generator, rounds=options.rounds, seconds=options.seconds
            )
    crowds: Sequence[Crowd] = ()
    if wanted("crowd"):
        console.print("a crowded partition")
        crowds = measure_crowd(_QUICK_CROWDS if options.quick else _CROWDS)
    if options.only and "vectors" in options.only:
        console.print("vectors in Redis")
        _look_at_vectors(console, options)
    return Findings(
        rounds=options.rounds,
        seconds=options.seconds,
        absolute=rounds.absolute(),
        ratios=rounds.ratios(),
        memory=memory,
        start=start,
        parts=parts,
        semantic=semantic,
        crowds=crowds,
        several=several,
        sharing=sharing,
        warm_starts={} if options.only else kept_warm_starts(),
        soak=None if options.only else kept_soak(),
    )


def _summary(findings: Findings) -> Table:
    table = Table("", "measured", "to reach", "")
    for target, value in findings.judged():
        if value is not None:
            table.add_row(target.name, f"{value:g}", target.text, verdict(target, value))
    return table


def _end_by_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Run the bench; 0 when it ran, 2 when it could not. Missed figures are in what it writes."""
    options = _arguments()
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, _end_by_signal)
    os.environ["REPRISE_MODELS"] = str(prepared_models())
    try:
        findings = _bench(console, options)
    except BenchError as error:
        console.print(f"bench: {error}", style="red", markup=False)
        return 2
    except KeyboardInterrupt:
        return 130
    console.print(_summary(findings))
    found = json.dumps(document(findings), indent=2) + "\n"
    if not options.quick and not options.only:
        docs = ROOT / "docs"
        (docs / "bench.json").write_text(found)
        (docs / "benchmarks.md").write_text(page(findings))
        console.print(f"wrote {docs}/benchmarks.md and bench.json")
    elif findings.sharing is not None and not options.quick:
        keep("sharing", asdict(findings.sharing))
    if options.json:
        sys.stdout.write(json.dumps(document(findings)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
