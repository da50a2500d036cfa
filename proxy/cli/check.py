"""`reprise check`: is this configuration file usable?"""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from proxy.config import Config, load
from proxy.config_file import ConfigError


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--upstream", metavar="URL", help="As serve's; in place of the file's upstreams.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(file: Path, upstream: str | None, as_json: bool) -> None:
    """Check a configuration FILE and print every mistake in it.

    Exit code 0: the file is usable. 2: it is not.
    """
    try:
        config = load(file, upstream=upstream, env=os.environ)
    except ConfigError as error:
        problems = [asdict(problem) for problem in error.problems]
        found: dict[str, Any] = {"file": str(file), "ok": False, "problems": problems}
        click.echo(_json(found) if as_json else str(error))
        sys.exit(2)
    if as_json:
        summary = {"upstreams": _upstreams(config), "routes": config.redacted()["routes"]}
        click.echo(_json({"file": str(file), "ok": True, "digest": config.digest, **summary}))
    else:
        click.echo(f"{file}: ok")
        for line in _summary(config):
            click.echo(f"  {line}")


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()


def _upstreams(config: Config) -> list[dict[str, Any]]:
    return [
        {"name": pool.name, "url": pool.url, "models": pool.models} for pool in config.dynamic.pools
    ]


def _summary(config: Config) -> list[str]:
    lines = [f"listens on {config.static.listen}, admin on {config.static.admin_listen}"]
    for pool in config.dynamic.pools:
        name = "" if pool.name == pool.url else f"{pool.name} = "
        models = ", ".join(pool.models) or "every model"
        lines.append(f"upstream {name}{pool.url}: {models}")
    for position, route in enumerate(config.redacted()["routes"]):
        match = ", ".join(f"{key} {_glob(glob)}" for key, glob in route.pop("match").items())
        changed = [f"{name}.{key}" for name, section in route.items() for key in section]
        lines.append(f"route {position}: {match}: {', '.join(changed) or 'changes nothing'}")
    return lines


def _glob(glob: str | dict[str, str]) -> str:
    if isinstance(glob, str):
        return glob
    return " ".join(f"{name}: {value or '?*'}" for name, value in glob.items())
