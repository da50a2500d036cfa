"""`reprise inject render`: manifests with the sidecar, for clusters without the webhook."""

import sys
from pathlib import Path

import click

from proxy.cli.inject_settings import settings_of, sidecar_options
from proxy.k8s.manifests import BadManifest, rendered

MAX_BYTES = 64 * 1024 * 1024


@click.command("render")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@sidecar_options
def render(
    file: Path,
    path: Path | None,
    image: str | None,
    upstream: str | None,
    *,
    is_native: bool | None,
) -> None:
    """Print the manifests of FILE (YAML or JSON; - is standard input) with sidecars in their pods.

    Pods get one whether they are labelled for it or not, unless reprise.dev/inject is "false". What
    has no pod in it is printed as it is.

    Exit code 0: every pod has what it should. 1: one was left alone, and standard error says why.
    2: unusable input.
    """
    settings = settings_of(path, image=image, upstream=upstream, is_native=is_native)
    try:
        outcome = rendered(_read(file), settings)
    except BadManifest as error:
        click.echo(f"{file}: {error}", err=True)
        sys.exit(2)
    sys.stdout.buffer.write(outcome.text.encode())
    sys.stdout.flush()
    for warning in outcome.warnings:
        click.echo(warning, err=True)
    sys.exit(0 if outcome.is_complete else 1)


def _read(file: Path) -> str:
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as source:
            raw = source.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise BadManifest("is larger than 64 MiB")
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise BadManifest(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadManifest("is not UTF-8") from error
