"""`reprise import`: the entries of an exported file into a proxy."""

from pathlib import Path

import click

from proxy.cli.admin_client import AdminClient, AdminError, of_admin, print_json


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@of_admin
def importing(file: Path, url: str, token: str, *, as_json: bool) -> None:
    """Put the entries of FILE, made by `reprise export`, into a running proxy.

    Those that are over their time, or older than what is there, are left out. Exit code 0: done.
    1: the file is damaged, and what came before that place was taken in, or it is no exported set.
    2: no proxy, a refused token, another tenancy.secret, or no such file.
    """
    try:
        with file.open("rb") as source:
            length = file.stat().st_size
            status, told = AdminClient(url, token).upload("/admin/import", source, length)
    except OSError as error:
        raise AdminError(f"{file}: {error.strerror or error}") from error
    if as_json:
        print_json(told)
    else:
        click.echo(f"{told['imported']} entries imported, {told['left_out']} left out")
        for warning in told["warnings"]:
            click.echo(f"warning: {warning}", err=True)
    if status != 200:
        raise DamagedError(f"{file}: {told['error']['message']}")


class DamagedError(click.ClickException):
    """Only a part could be taken in. Exit code 1."""

    exit_code = 1
