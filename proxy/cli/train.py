"""`reprise train`: make the verifier from labelled pairs."""

import contextlib
import hashlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table

from proxy import __version__
from proxy.core.meaning.features import language_of
from proxy.core.meaning.gate import discover
from proxy.core.meaning.script import script_of
from proxy.core.meaning.text import Text
from proxy.core.meaning.training import TRAPS_PER_WANTED, Example, TooFewError, Trained, learned
from proxy.core.meaning.uncompared import NotCompared
from proxy.core.meaning.verifier import Group, Verifier
from proxy.semantic.encoder import OnnxEncoder, Vectors
from proxy.semantic.manifest import ModelError
from proxy.semantic.models import PACKAGED, default_directory, find_or_prepare

_BATCH = 16
_DEFAULT_RATE = 0.01
"""The error rate at which the card tells what is served: the default of the configuration."""


class _Line(NamedTuple):
    """A line of a file of pairs."""

    set: str
    stored: str
    asked: str
    fits: bool


class _InputError(ValueError):
    """A line that cannot be used."""


@click.command("train")
@click.option(
    "--pairs",
    "files",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help='JSON lines {"a", "b", "label": 1 or 0}; 1: the answer to a serves b. Repeat for more.',
)
@click.option(
    "--factor",
    "factors",
    multiple=True,
    metavar="SET=NUMBER",
    help="How much more a set counts than others; a set is the file's name up to its first point.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("verifier.json")
)
@click.option(
    "--models",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=lambda: default_directory(os.environ),
    help="Where prepared models are; else REPRISE_MODELS, else the user's data directory.",
)
@click.option("--note", default="", help="A sentence for the card: whose pairs, on what terms.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object last.")
def train(
    files: tuple[Path, ...],
    factors: tuple[str, ...],
    output: Path,
    place: Path,
    note: str,
    *,
    as_json: bool,
) -> None:
    """Make a verifier from labelled pairs of questions, for `semantic.verifier`.

    Pairs that share a question are held out together, and every figure of the card is of pairs
    that were held out. Exit code 0: done. 2: unusable input.
    """
    try:
        by_set = {path.name.split(".")[0]: path for path in files}
        chosen = _factors(factors, by_set)
        lines = [line for path in files for line in _read(path)]
        groups, left_out = _examples(lines, place)
        trained = _train(groups, chosen)
    except (_InputError, ModelError, TooFewError) as error:
        click.echo(f"reprise train: {error}", err=True)
        sys.exit(2)
    card = _card(files, lines, chosen, trained, note) | {"left_out": left_out}
    verifier = Verifier({group: one.weights for group, one in trained.items()}, card)
    output.write_bytes(verifier.to_bytes())
    if as_json:
        click.echo(orjson.dumps({"output": str(output), "card": card}).decode())
    else:
        _show(trained, output)


def _factors(given: Sequence[str], sets: Mapping[str, Path]) -> dict[str, float]:
    found = {}
    for one in given:
        name, _, number = one.partition("=")
        try:
            found[name] = float(number)
        except ValueError as error:
            raise _InputError(f"--factor {one}: write SET=NUMBER") from error
        if name not in sets or not 0 < found[name] < float("inf"):
            known = ", ".join(sorted(sets))
            raise _InputError(f"--factor {one}: a number above 0 for one of {known}")
    return found


def _read(path: Path) -> Iterator[_Line]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
            stored, asked, label = found["a"], found["b"], found["label"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise _InputError(f'{path}:{number}: not an object with "a", "b", "label"') from error
        if not isinstance(stored, str) or not isinstance(asked, str) or label not in (0, 1):
            raise _InputError(f'{path}:{number}: "a" and "b" are texts, "label" is 1 or 0')
        yield _Line(path.name.split(".")[0], stored, asked, label == 1)


def _examples(
    lines: Sequence[_Line], place: Path
) -> tuple[dict[Group, list[Example]], dict[str, int]]:
    """The pairs by the group that judges them, with their similarity; and what was left out."""
    by_group: dict[Group, list[_Line]] = defaultdict(list)
    left_out: dict[str, int] = defaultdict(int)
    for line in lines:
        groups = {_group(line.stored), _group(line.asked)}
        group = groups.pop()
        if groups or group is None:
            left_out["no group judges both texts"] += 1
        else:
            by_group[group].append(line)
    found = {}
    for group, those in sorted(by_group.items()):
        encoder = OnnxEncoder(find_or_prepare(group.encoder, place))
        vectors = _vectors(encoder, {text for line in those for text in line[1:3]}, group)
        known = [line for line in those if line.stored in vectors and line.asked in vectors]
        if len(known) < len(those):
            left_out["not comparable by the encoder"] += len(those) - len(known)
        found[group] = [
            Example(*line, similarity=float(vectors[line.stored] @ vectors[line.asked]))
            for line in known
        ]
    return found, dict(left_out)


def _group(text: str) -> Group | None:
    language = language_of(Text(text))
    script = script_of(text)
    names = [model.name for model in PACKAGED.values() if script in model.scripts]
    return Group(names[0], language) if names and language else None


def _vectors(encoder: OnnxEncoder, texts: set[str], group: Group) -> dict[str, Vectors]:
    tokens: dict[str, Sequence[int]] = {}
    # Texts of like length together: less padding.
    for text in sorted(texts, key=lambda text: (len(text), text)):
        with contextlib.suppress(NotCompared):
            tokens[text] = encoder.tokenize(text).ids
    found: dict[str, Vectors] = {}
    known = list(tokens)
    progress = Console(stderr=True)
    told = f"encoding with {group.encoder}"
    for start in track(range(0, len(known), _BATCH), told, console=progress, transient=True):
        batch = known[start : start + _BATCH]
        found.update(zip(batch, encoder.forward([tokens[text] for text in batch]), strict=True))
    return found


def _train(
    groups: Mapping[Group, Sequence[Example]], factors: Mapping[str, float]
) -> dict[Group, Trained]:
    guards = discover()
    found = {}
    for group, examples in groups.items():
        try:
            found[group] = learned(
                examples,
                group,
                guards=guards,
                factors=factors,
                max_error_rate=_DEFAULT_RATE,
            )
        except TooFewError as error:
            raise TooFewError(f"{group.encoder}, {group.language}: {error}") from error
    if not found:
        raise TooFewError("there is no pair that an encoder reads")
    return found


def _card(
    files: Sequence[Path],
    lines: Sequence[_Line],
    factors: Mapping[str, float],
    trained: Mapping[Group, Trained],
    note: str,
) -> dict[str, Any]:
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "by": f"reprise train {__version__}",
        "note": note,
        "files": [
            {
                "name": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "pairs": sum(line.set == path.name.split(".")[0] for line in lines),
                "factor": factors.get(path.name.split(".")[0], 1.0),
            }
            for path in files
        ],
        "error_rate": (
            "share of wrong answers among the served, where of the near candidates there is one "
            f"that does not fit for {1 / TRAPS_PER_WANTED:g} that do"
        ),
        "held_out": [
            {
                "encoder": group.encoder,
                "language": group.language,
                "max_error_rate": _DEFAULT_RATE,
                "sets": {name: outcome._asdict() for name, outcome in one.outcomes.items()},
            }
            for group, one in trained.items()
        ],
    }


def _show(trained: Mapping[Group, Trained], output: Path) -> None:
    table = Table("encoder", "set", "wanted served", "traps served", title="held-out pairs")
    for group, one in trained.items():
        for name, outcome in one.outcomes.items():
            table.add_row(
                f"{group.encoder} ({group.language})",
                name,
                f"{outcome.wanted_served:.1%} of {outcome.wanted}",
                f"{outcome.traps_served:.1%} of {outcome.traps}",
            )
    console = Console()
    console.print(table)
    console.print(f"{output} is written; name it in semantic.verifier, then `reprise check`.")
