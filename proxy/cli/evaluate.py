"""`reprise eval`: how often the cache serves what it should, and what it should not (design 12)."""

import asyncio
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import click
import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table

from proxy.config import Config, load
from proxy.config_file import ConfigError
from proxy.core.meaning.verifier import VerifierError
from proxy.rehearsal import Rehearsal, rehearsing
from proxy.semantic.manifest import ModelError
from proxy.telemetry.log import Event

_T = TypeVar("_T")
Messages: TypeAlias = Sequence[Mapping[str, Any]]

_STORED = "the answer to the first of the pair"
_ASKED = "the answer to the second of the pair"


class InputError(ValueError):
    """A line that cannot be used: which, and what it should be."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions, or conversations that end in one; `a` is stored, `b` asked."""

    a: Messages
    b: Messages
    is_wanted: bool
    """One answer serves both."""
    lang: str
    kind: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request of a trace."""

    messages: Messages
    group: str
    """Requests of one group may share an answer."""


@dataclass(slots=True)
class Count:
    """Pairs of one sort, and how many of them were served."""

    wanted: int = 0
    wanted_served: int = 0
    traps: int = 0
    traps_served: int = 0

    def add(self, pair: Pair, *, is_served: bool) -> None:
        """Count one pair."""
        if pair.is_wanted:
            self.wanted += 1
            self.wanted_served += is_served
        else:
            self.traps += 1
            self.traps_served += is_served

    def told(self) -> dict[str, int]:
        """As in the result."""
        return {
            "wanted": self.wanted,
            "wanted_served": self.wanted_served,
            "traps": self.traps,
            "traps_served": self.traps_served,
        }


@dataclass(slots=True)
class Scores:
    """What came of all pairs."""

    all: Count = field(default_factory=Count)
    by_kind: dict[str, Count] = field(default_factory=dict)
    by_lang: dict[str, Count] = field(default_factory=dict)
    after_same: Count = field(default_factory=Count)
    """Wanted conversations once more: b's last question asked after what went before a's. As they
    are given, their histories mostly differ, and then nothing is compared."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Why wanted pairs were not served."""

    def add(self, pair: Pair, *, is_served: bool, why: str) -> None:
        """Count one pair."""
        self.all.add(pair, is_served=is_served)
        self.by_kind.setdefault(pair.kind, Count()).add(pair, is_served=is_served)
        self.by_lang.setdefault(pair.lang, Count()).add(pair, is_served=is_served)
        if pair.is_wanted and not is_served:
            self.refusals[str(why)] += 1


@click.group("eval")
def evaluate() -> None:
    """Measure what is served by meaning, on pairs or traces of your own."""


@evaluate.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--config", "path", type=click.Path(path_type=Path), help="As serve's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object last on stdout.")
def pairs(files: tuple[Path, ...], path: Path | None, as_json: bool) -> None:
    """Ask pairs of questions: a is stored, then b is asked.

    FILES are JSON lines {"a", "b", "label": 1 or 0, "lang", "kind"}; label 1 is for pairs of which
    one answer serves both. a and b are texts, or lists of messages.
    """
    config = _config(path)
    found = _read_all(files, read_pair)
    scores = _run(_ask_pairs(config, found))
    result = {
        "pairs": len(found),
        **scores.all.told(),
        "after_same_history": scores.after_same.told(),
        "by_kind": {kind: count.told() for kind, count in sorted(scores.by_kind.items())},
        "by_lang": {lang: count.told() for lang, count in sorted(scores.by_lang.items())},
        "refusals": dict(scores.refusals.most_common()),
        **_settings(config),
    }
    _show_pairs(scores)
    if as_json:
        click.echo(orjson.dumps(result).decode())


@evaluate.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--config", "path", type=click.Path(path_type=Path), help="As serve's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object last on stdout.")
def trace(file: Path, path: Path | None, as_json: bool) -> None:
    """Ask the questions of a trace one after the other; misses are stored.

    FILE is JSON lines {"text", "class"[, "context"]}, in order: a hit whose class differs from that
    of the stored question is wrong. "context" is a system text, or a list of messages before it.
    """
    config = _config(path)
    arrivals = _read_all((file,), read_arrival)
    hits, wrong = _run(_ask_trace(config, arrivals))
    result = {
        "requests": len(arrivals),
        "hits": hits.total(),
        "hit_rate": _share(hits.total(), len(arrivals)),
        "wrong": wrong.total(),
        "wrong_rate": _share(wrong.total(), hits.total()),
        "by_level": {
            str(level): {"hits": count, "wrong": wrong[level]}
            for level, count in sorted(hits.items())
        },
        **_settings(config),
    }
    _show_trace(result)
    if as_json:
        click.echo(orjson.dumps(result).decode())


def read_pair(line: Mapping[str, Any]) -> Pair:
    """A pair from one line. Raises InputError."""
    if line.get("label") not in (0, 1):
        raise InputError('label must be 1 or 0: {"a", "b", "label": 1 or 0}')
    return Pair(
        _messages(line, "a"),
        _messages(line, "b"),
        line["label"] == 1,
        str(line.get("lang", "")),
        str(line.get("kind", "")),
    )


def read_arrival(line: Mapping[str, Any]) -> Arrival:
    """A request of a trace from one line. Raises InputError."""
    group = line.get("class", line.get("group"))
    if group is None:
        raise InputError('class is missing: {"text", "class"}')
    context = line.get("context", [])
    if isinstance(context, str):
        context = [{"role": "system", "content": context}]
    if not _are_messages(context):
        raise InputError("context must be a text or a list of messages")
    return Arrival([*context, *_messages(line, "text")], str(group))


def _messages(line: Mapping[str, Any], name: str) -> Messages:
    value = line.get(name)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not _are_messages(value) or not value:
        raise InputError(f"{name} must be a text or a list of messages")
    found: Messages = value
    return found


def _are_messages(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(message, dict) and isinstance(message.get("role"), str) for message in value
    )


def _read_all(files: Iterable[Path], read: Callable[[Mapping[str, Any]], _T]) -> list[_T]:
    found: list[_T] = []
    for file in files:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            _fail(f"{file}: {error.strerror}")
        for number, raw in enumerate(lines, start=1):
            if not raw.strip():
                continue
            try:
                line = orjson.loads(raw)
                if not isinstance(line, dict):
                    raise InputError("must be a JSON object")
                found.append(read(line))
            except ValueError as error:
                _fail(f"{file}:{number}: {error}")
    if not found:
        _fail(f"{', '.join(map(str, files))}: no lines")
    return found


async def _ask_pairs(config: Config, found: Sequence[Pair]) -> Scores:
    scores = Scores()
    async with rehearsing(config, _Quiet()) as rehearsal:
        for number, pair in enumerate(_progress(found)):
            namespace = f"pair {number}"
            await _converse(rehearsal, pair.a, _STORED, namespace)
            answer, why = await _converse(rehearsal, pair.b, _ASKED, namespace)
            scores.add(pair, is_served=answer == _STORED, why=why)
            if pair.is_wanted and len(pair.a) > 1:
                asked = await rehearsal.ask([*pair.a[:-1], pair.b[-1]], _ASKED, namespace=namespace)
                scores.after_same.add(pair, is_served=asked.answer == _STORED)
    return scores


async def _converse(
    rehearsal: Rehearsal, messages: Messages, answer: str, namespace: str
) -> tuple[str, str]:
    """Ask each question of a conversation in turn; what the last one got, and why if refused."""
    for position, (message, following) in enumerate(itertools.pairwise(messages)):
        told = following.get("content")
        if message["role"] == "user" and following["role"] == "assistant" and isinstance(told, str):
            await rehearsal.ask(messages[: position + 1], told, namespace=namespace)
    last = await rehearsal.ask(messages, answer, namespace=namespace)
    exchange = last.exchange
    return last.answer, exchange.guard or exchange.meaning


async def _ask_trace(
    config: Config, arrivals: Sequence[Arrival]
) -> tuple[Counter[str], Counter[str]]:
    hits: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    async with rehearsing(config, _Quiet()) as rehearsal:
        for arrival in _progress(arrivals):
            asked = await rehearsal.ask(arrival.messages, arrival.group)
            level = asked.exchange.level
            if level is not None:
                hits[level] += 1
                wrong[level] += asked.answer != arrival.group
    return hits, wrong


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    try:
        return asyncio.run(work)
    except (ModelError, VerifierError) as error:
        _fail(str(error))


def _config(path: Path | None) -> Config:
    upstream = None if path is not None else "http://127.0.0.1:9"  # nobody is asked
    try:
        return load(path, upstream=upstream, env=os.environ)
    except ConfigError as error:
        _fail(str(error))


def _settings(config: Config) -> dict[str, Any]:
    rules = config.dynamic.policy.semantic
    return {
        "encoders": [encoder.model for encoder in config.static.encoders],
        "max_error_rate": rules.max_error_rate,
        "min_similarity": rules.min_similarity,
    }


def _progress(items: Sequence[_T]) -> Iterator[_T]:
    console = Console(stderr=True)
    yield from track(items, "asking", console=console, transient=True)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _show_pairs(scores: Scores) -> None:
    table = Table("", "wanted", "served", "", "traps", "served", "")
    for lang, count in sorted(scores.by_lang.items()):
        table.add_row(f"language {lang or '-'}", *_cells(count))
    for kind, count in sorted(scores.by_kind.items()):
        table.add_row(kind or "-", *_cells(count))
    table.add_section()
    if scores.after_same.wanted:
        table.add_row("after the same history", *_cells(scores.after_same))
    table.add_row("all", *_cells(scores.all))
    Console(stderr=True).print(table)


def _cells(count: Count) -> list[str]:
    return [
        str(count.wanted),
        str(count.wanted_served),
        f"{_share(count.wanted_served, count.wanted):.1%}",
        str(count.traps),
        str(count.traps_served),
        f"{_share(count.traps_served, count.traps):.1%}",
    ]


def _show_trace(result: Mapping[str, Any]) -> None:
    table = Table("level", "hits", "wrong", "of hits")
    for level, count in result["by_level"].items():
        share = _share(count["wrong"], count["hits"])
        table.add_row(level, str(count["hits"]), str(count["wrong"]), f"{share:.1%}")
    table.add_section()
    in_all = f"{result['wrong_rate']:.1%}"
    table.add_row("all", str(result["hits"]), str(result["wrong"]), in_all)
    console = Console(stderr=True)
    console.print(table)
    console.print(f"{result['requests']} requests, {result['hit_rate']:.1%} hits")


class _Quiet:
    """A log that nobody reads: what is wrong is told by exceptions."""

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Write nothing."""


def _fail(message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(2)
