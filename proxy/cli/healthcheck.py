"""`reprise healthcheck`: does the proxy of this machine take requests?

A container engine runs it every few seconds, so it loads next to nothing.
"""

import contextlib
import socket
import sys
from urllib.parse import urlsplit

import click

_DEADLINE_SECONDS = 4.0
"""For each wait. Less than what the image gives the whole command."""


@click.command("healthcheck")
@click.option(
    "--admin-url",
    "url",
    metavar="URL",
    default="http://127.0.0.1:8081",
    show_default=True,
    help="Admin listener of the proxy to ask.",
)
def healthcheck(url: str) -> None:
    """Ask a proxy whether it takes requests (`/readyz`).

    Exit code 0: it does. 1: it does not, or none answers. 2: unusable input.
    """
    host, port = _address(url)
    try:
        status, said = _ask(host, port)
    except OSError as error:
        click.echo(f"no proxy answers at {url}: {error}", err=True)
        sys.exit(1)
    click.echo(said, err=status != 200)
    sys.exit(0 if status == 200 else 1)


def _address(url: str) -> tuple[str, int]:
    """Host and port of a URL; raises BadParameter for another text."""
    parts, port = urlsplit(url), None
    with contextlib.suppress(ValueError):
        port = parts.port or 80
    if parts.scheme != "http" or not parts.hostname or port is None:
        hint = "not a URL such as http://127.0.0.1:8081"
        raise click.BadParameter(hint, param_hint="--admin-url")
    return parts.hostname, port


def _ask(host: str, port: int) -> tuple[int, str]:
    """The status of /readyz, and its word for it; 0 for who speaks no HTTP. Raises OSError."""
    place = f"[{host}]" if ":" in host else host
    with socket.create_connection((host, port), timeout=_DEADLINE_SECONDS) as connection:
        connection.sendall(f"GET /readyz HTTP/1.0\r\nHost: {place}:{port}\r\n\r\n".encode())
        with connection.makefile("rb") as answer:
            data = answer.read(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        return 0, "what answers there speaks no HTTP"
    return int(rest[:3]), body.decode("utf-8", "replace").strip()
