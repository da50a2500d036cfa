"""`reprise export`: the most valuable entries of a proxy as a file."""

import os
from pathlib import Path

import click

from proxy.cli.admin_client import AdminClient, AdminError, of_admin, print_json


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(1), help="How many, those given most first; else all.")
@of_admin
def export(file: Path, top: int | None, url: str, token: str, *, as_json: bool) -> None:
    """Write entries to FILE, for `reprise import`. It holds answers: keep it as you keep those.

    Exit code 0: done. 2: no proxy, a refused token, or a file that cannot be written.
    """
    path = "/admin/export" + (f"?top={top}" if top is not None else "")
    half = file.with_name(file.name + ".part")
    try:
        # What an earlier run has left may be for other eyes too.
        half.unlink(missing_ok=True)
        with open(half, "wb", opener=_for_its_owner) as into:
            AdminClient(url, token).download(path, into)
        half.replace(file)
    except OSError as error:
        raise AdminError(f"{file}: {error.strerror or error}") from error
    finally:
        half.unlink(missing_ok=True)
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size})
    else:
        click.echo(f"{file}: {size} bytes")


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
