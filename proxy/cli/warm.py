"""`reprise warm`: ask what is asked most before the users do (mission E1)."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Never, TypeAlias

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, track

from proxy.cli.warm_client import StopError, WarmClient
from proxy.cli.warm_groups import Question, Survey, together
from proxy.cli.warm_input import LineError, Log, expected_tokens
from proxy.cli.warm_run import CAP, Bounds, Tally, Warming
from proxy.cli.warm_state import State, default_path
from proxy.cli.warm_told import tell_chosen, tell_end, tell_left_alone
from proxy.config import Config, load
from proxy.config_file import ConfigError
from proxy.core.meaning.verifier import VerifierError
from proxy.semantic.manifest import ModelError

Json: TypeAlias = dict[str, Any]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--proxy",
    "url",
    metavar="URL",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The running proxy whose cache is filled.",
)
@click.option(
    "--api-key",
    metavar="KEY",
    default="",
    envvar="OPENAI_API_KEY",
    help="The key to ask with, to which alone the answers are given; else OPENAI_API_KEY.",
)
@click.option(
    "--header",
    "headers",
    metavar="NAME:VALUE",
    multiple=True,
    help="A further header of all requests, for tenants and namespaces; may be repeated.",
)
@click.option(
    "--top",
    metavar="N",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Ask the N most frequent questions.",
)
@click.option(
    "--concurrency",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1, max=64),
    help="Questions under way at once; the proxy's background.max_concurrent bounds them too.",
)
@click.option(
    "--rate",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help="Calls of the upstream a minute at most.",
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(min=1),
    help="End before the upstream's answers, those of earlier runs included, take more tokens.",
)
@click.option(
    "--temperature",
    metavar="T",
    type=click.FloatRange(min=0, max=2),
    help="Ask with this temperature in place of the log's.",
)
@click.option(
    "--exact-only", is_flag=True, help="Count rewordings apart; no encoders are needed then."
)
@click.option("--skip-bad", is_flag=True, help="Leave out lines that are no requests.")
@click.option("--dry-run", is_flag=True, help="Show what would be asked, and ask nothing.")
@click.option(
    "--state",
    "state_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to write down what is done; else in $XDG_STATE_HOME/reprise (~/.local/state).",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="The proxy's configuration file, by which questions are told apart.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object last on stdout.")
def warm(
    files: tuple[Path, ...],
    *,
    url: str,
    api_key: str,
    headers: tuple[str, ...],
    top: int,
    concurrency: int,
    rate: float | None,
    max_tokens: int | None,
    temperature: float | None,
    exact_only: bool,
    skip_bad: bool,
    dry_run: bool,
    state_path: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Fill a cache before the users come: ask a running proxy what is asked most.

    FILES are JSON lines: OpenAI Batch lines {"method", "url", "body"}, bodies of requests, either
    of them as {"request": ...}, or what privacy.record_requests wrote. Rewordings of one question
    count as one. Calls of the upstream have low priority: they wait while clients' are under way.

    What is done is written down, so that the same command goes on where an earlier one ended.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    fields = _fields(api_key, headers)
    config = _config(config_path)
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(_log(files, temperature))
        survey = Survey(config, fields)
        bad = _count(log, survey, skip_bad=skip_bad)
        questions = survey.most_frequent()
        groups = questions if exact_only else _together(questions, config)
        chosen = groups[:top]
        path = state_path or default_path(files, url, os.environ)
        if survey.left_alone:
            tell_left_alone(survey)
        found: Json = {
            "requests": survey.requests,
            "questions": len(questions),
            "groups": len(groups),
            "chosen": len(chosen),
            "left_alone": dict(survey.left_alone.most_common()),
            "bad_lines": bad,
        }
        if dry_run:
            found |= _dry_run(log, chosen, path, survey.requests)
            code = 0
        else:
            bounds = Bounds(concurrency, rate, max_tokens)
            told, code = _warm(log, chosen, path, _client(url, fields), bounds)
            found |= told | {"seconds": round(time.monotonic() - began, 3)}
    if as_json:
        click.echo(orjson.dumps(found).decode())
    sys.exit(code)


def _count(log: Log, survey: Survey, *, skip_bad: bool) -> int:
    """Count every request; how many lines were left out."""
    bad = 0
    for place, entry in log:
        if not isinstance(entry, LineError):
            survey.add(entry, place)
        elif skip_bad:
            bad += 1
        else:
            _fail(
                f"{log.names[place.file]}:{place.number}: {entry}\n"
                "Mend the line, or leave out all such lines with --skip-bad."
            )
    if not survey.requests:
        _fail(f"{', '.join(log.names)}: no requests")
    return bad


def _together(questions: list[Question], config: Config) -> list[Question]:
    try:
        return together(questions, config, _track)
    except (ModelError, VerifierError, OSError) as error:
        _fail(f"{error}\nOr count rewordings apart with --exact-only.")


def _track(items: Sequence[Any]) -> Iterable[Any]:
    yield from track(items, "comparing", console=Console(stderr=True), transient=True)


def _dry_run(log: Log, chosen: Sequence[Question], path: Path, requests: int) -> Json:
    done = set()
    if path.exists():
        state = _state(path)
        done = {question.key for question in chosen if state.is_done(question.key)}
        state.close(is_complete=False)
    tokens = sum(
        sum(expected_tokens(log.entry(question.place)))
        for question in chosen
        if question.key not in done
    )
    covered = sum(question.count for question in chosen)
    tell_chosen(log, chosen, done=len(done), tokens=tokens, share=covered / requests, of=requests)
    return {
        "dry_run": True,
        "covered": round(covered / requests, 4),
        "done": len(done),
        "remaining": len(chosen) - len(done),
        "estimated_tokens": tokens,
    }


def _warm(
    log: Log, chosen: Sequence[Question], path: Path, client: WarmClient, bounds: Bounds
) -> tuple[Json, int]:
    console = Console(stderr=True)
    state = _state(path)
    todo = [question for question in chosen if not state.is_done(question.key)]
    with Progress(
        TextColumn("warming"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
    ) as progress:
        bar = progress.add_task("warming", total=len(chosen), told="")
        progress.update(bar, completed=len(chosen) - len(todo))

        def show(tally: Tally) -> None:
            told = f"{tally.hits:,} hits, {tally.stored:,} stored, {tally.tokens:,} tokens"
            progress.update(bar, advance=1, told=told)

        warming = Warming(
            client=client,
            read=lambda question: log.entry(question.place),
            state=state,
            bounds=bounds,
            on_progress=show,
        )
        warming.run(todo)
    tally = warming.tally
    remaining = sum(not state.is_done(question.key) for question in chosen)
    state.close(is_complete=not remaining)
    tell_end(tally, remaining, state)
    is_well = not tally.failed and tally.ended_by in ("", CAP)
    told = {
        "asked": tally.asked,
        "hits": tally.hits,
        "stored": tally.stored,
        "failed": tally.failed,
        "tokens": tally.tokens,
        "remaining": remaining,
        "ended_by": tally.ended_by,
    }
    return told, 0 if is_well else 1


def _state(path: Path) -> State:
    try:
        return State(path)
    except OSError as error:
        _fail(f"{path}: {error.strerror}; name another file with --state")
    except ValueError as error:
        _fail(f"{path}: {error}; name another file with --state")


def _log(files: Sequence[Path], temperature: float | None) -> Log:
    try:
        return Log(files, temperature=temperature)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")


def _client(url: str, fields: Sequence[tuple[str, str]]) -> WarmClient:
    try:
        return WarmClient(url, fields)
    except StopError as error:
        _fail(str(error))


def _fields(api_key: str, headers: Sequence[str]) -> list[tuple[str, str]]:
    fields = [("Authorization", f"Bearer {api_key}")] if api_key else []
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip().replace("-", "").isalnum():
            _fail(f"--header {header!r} must be NAME:VALUE")
        fields.append((name.strip(), value.strip()))
    return fields


def _config(path: Path | None) -> Config:
    upstream = None if path is not None else "http://127.0.0.1:9"  # nobody is asked
    try:
        return load(path, upstream=upstream, env=os.environ)
    except ConfigError as error:
        _fail(str(error))


def _interrupt(number: int, frame: FrameType | None) -> Never:
    raise KeyboardInterrupt


def _fail(message: str) -> Never:
    click.echo(message, err=True)
    sys.exit(2)
