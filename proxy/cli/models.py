"""`reprise models`: the models that compare questions by meaning."""

import importlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson
from rich.console import Console
from rich.table import Table

from proxy.core.meaning.script import Script
from proxy.semantic import manifest, prepare
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.manifest import Manifest, ModelError
from proxy.semantic.models import PACKAGED, Packaged, default_directory, prepared

_Command = TypeVar("_Command", bound=Callable[..., None])

_HUB = "proxy.semantic.hub"
_LETTERS = [script.value for script in Script if script is not Script.NONE]


@click.group("models")
def models() -> None:
    """Prepare, fetch and check the models that compare questions by meaning.

    Exit code 0: done. 1: what was asked for is not so. 2: unusable input.
    """


def _place(command: _Command) -> _Command:
    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    place = click.option(
        "--models",
        "place",
        type=click.Path(path_type=Path, file_okay=False),
        default=lambda: default_directory(os.environ),
        help="Where prepared models are; else REPRISE_MODELS, else the user's data directory.",
    )
    return place(as_json(command))


def _custom(command: _Command) -> _Command:
    name = click.option("--name", callback=_sound, help="What to call the model here.")
    prefix = click.option("--prefix", default="", help="What it wants before each text.")
    scripts = click.option(
        "--script",
        "scripts",
        multiple=True,
        type=click.Choice(_LETTERS),
        default=_LETTERS,
        help="A script that it serves; repeat it for more. All, unless given.",
    )
    return name(prefix(scripts(command)))


def _sound(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise click.BadParameter("a name is of letters, digits, points and hyphens")
    return name


@models.command("list")
@_place
def list_models(place: Path, *, as_json: bool) -> None:
    """Tell which models there are, and which are prepared."""
    here = {path.name: path for path in prepared(place)}
    rows = [_row(name, here.get(name)) for name in sorted({*PACKAGED, *here})]
    if as_json:
        _print_json({"directory": str(place), "models": rows})
        return
    table = Table("model", "state", "scripts", "source")
    for row in rows:
        table.add_row(row["name"], row["state"], " ".join(row["scripts"]), row["source"])
    console = Console()
    console.print(table)
    console.print(f"prepared models are in {place}", soft_wrap=True)


def _row(name: str, directory: Path | None) -> dict[str, Any]:
    if directory is None:
        packaged = PACKAGED[name]
        state = "installed" if packaged.directory() is not None else "not installed"
        scripts = [script.value for script in packaged.scripts]
        return {"name": name, "state": state, "scripts": scripts, "source": packaged.package}
    try:
        found = manifest.read(directory)
    except ModelError as error:
        return {"name": name, "state": "damaged", "scripts": [], "source": str(error)}
    return {
        "name": name,
        "state": "prepared",
        "scripts": found.scripts,
        "source": found.source,
        "identity": found.identity,
    }


@models.command("prepare")
@click.argument("names", nargs=-1)
@click.option("--force", is_flag=True, help="Also what is prepared already.")
@click.option(
    "--path",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take model.onnx and tokenizer.json from here instead; needs --name.",
)
@click.option(
    "--pooling",
    type=click.Choice(["mean", "first"]),
    default="mean",
    help="How the model at --path makes a sentence of its tokens.",
)
@_custom
@_place
def prepare_models(
    names: Sequence[str],
    path: Path | None,
    place: Path,
    name: str | None,
    prefix: str,
    pooling: str,
    scripts: Sequence[str],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Make models ready to serve: all whose packages are installed, or NAMES of them."""
    if path is not None:
        if name is None or names:
            raise click.UsageError("--path needs --name, and no other names")
        made = partial(
            prepare.from_path,
            path,
            place,
            name=name,
            prefix=prefix,
            pooling=pooling,
            scripts=scripts,
            origin=str(path.resolve()),
        )
        _make({name: made}, as_json=as_json)
        return
    if name is not None:
        raise click.UsageError("--name goes with --path")
    wanted = _wanted(names)
    _make(
        {model.name: partial(_convert, model, place, force=force) for model in wanted},
        as_json=as_json,
    )


def _wanted(names: Sequence[str]) -> Sequence[Packaged]:
    if unknown := [name for name in names if name not in PACKAGED]:
        raise click.UsageError(f"no package holds {unknown[0]!r}; there are {', '.join(PACKAGED)}")
    if names:
        return [PACKAGED[name] for name in names]
    # Where no package is there, preparing tells which to install.
    installed = [model for model in PACKAGED.values() if model.directory() is not None]
    return installed or list(PACKAGED.values())


def _convert(model: Packaged, place: Path, *, force: bool) -> Manifest:
    if not force:
        for directory in prepared(place):
            if directory.name == model.name:
                return _whole(directory)
    return prepare.from_package(model, place)


@models.command("pull")
@click.argument("repository")
@click.option("--revision", required=True, help="The 40 digits of a commit: they pin every file.")
@_custom
@_place
def pull_model(
    repository: str,
    revision: str,
    place: Path,
    name: str | None,
    prefix: str,
    scripts: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Fetch a sentence encoder from the Hugging Face hub, and prepare it."""
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise click.BadParameter("not the 40 digits of a commit", param_hint="--revision")
    known = name or repository.rpartition("/")[2]
    _make(
        {known: partial(_pull, repository, revision, place, known, prefix, scripts)},
        as_json=as_json,
    )


def _pull(
    repository: str, revision: str, place: Path, name: str, prefix: str, scripts: Sequence[str]
) -> Manifest:
    try:
        hub = importlib.import_module(_HUB)
    except ImportError as error:
        remedy = "pip install 'reprise-proxy[hub]'"
        raise ModelError(repository, f"cannot be fetched without {error.name}", remedy) from error
    with tempfile.TemporaryDirectory(prefix="reprise-pull-") as scratch:
        pooling = hub.fetch(repository, revision, Path(scratch))
        return prepare.from_path(
            Path(scratch),
            place,
            name=name,
            prefix=prefix,
            pooling=pooling,
            scripts=scripts,
            origin=f"{repository}@{revision}",
        )


@models.command("verify")
@click.argument("names", nargs=-1)
@_place
def verify_models(names: Sequence[str], place: Path, *, as_json: bool) -> None:
    """Hold prepared models to their checksums, and try whether they tell meanings apart."""
    found = [place / name for name in names] or list(prepared(place))
    if not found:
        click.echo(f"{place}: there is no prepared model; reprise models prepare", err=True)
        sys.exit(1)
    _make({path.name: partial(_whole, path) for path in found}, as_json=as_json)


def _whole(directory: Path) -> Manifest:
    return OnnxEncoder(directory).manifest


def _make(makers: dict[str, Callable[[], Manifest]], *, as_json: bool) -> None:
    """Do one after the other and tell each; exit code 1 where one fails."""
    progress = Console(stderr=True)
    told: list[dict[str, Any]] = []
    for name, make in makers.items():
        try:
            with progress.status(name):
                made = make()
            told.append({"name": name, "ok": True, "identity": made.identity})
        except ModelError as error:
            told.append({"name": name, "ok": False, "why": str(error)})
            progress.print(str(error), style="red", soft_wrap=True, markup=False, highlight=False)
        else:
            if not as_json:
                click.echo(f"{name}: {made.identity}")
    if as_json:
        _print_json({"ok": all(one["ok"] for one in told), "models": told})
    if not all(one["ok"] for one in told):
        sys.exit(1)


def _print_json(value: dict[str, Any]) -> None:
    click.echo(orjson.dumps(value).decode())
