"""Asks a running proxy's admin listener, for the commands that show what it knows."""

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, TypeAlias, TypeVar
from urllib.parse import urlencode

import click

from proxy.cli import http_url

Json: TypeAlias = dict[str, Any]
_Command = TypeVar("_Command", bound=Callable[..., None])

DEADLINE_SECONDS = 60.0
"""Explaining may wait for an encoder to be loaded."""


class AdminError(click.ClickException):
    """The proxy did not do as asked; the message says what would help. Exit code 2."""

    exit_code = 2


class AdminClient:
    """One admin listener and the token that it wants."""

    def __init__(self, url: str, token: str) -> None:
        """Raises AdminError for what is no URL."""
        self._url = url.rstrip("/")
        parts = http_url.split(self._url)
        if parts is None:
            raise AdminError(f"--admin {self._url!r} is not a URL such as http://127.0.0.1:8081")
        self._parts = parts
        self._token = token

    def get(self, path: str, member: str, **query: str | int) -> Json:
        """What the listener says; `member` is one that its answer has. Raises AdminError."""
        told = self._ask("GET", f"{path}?{urlencode(query)}" if query else path, None, {})
        return self._with(told, member)

    def post(self, path: str, member: str, body: bytes, fields: Mapping[str, str]) -> Json:
        """What the listener says of a body; as `get`."""
        return self._with(self._ask("POST", path, body, fields), member)

    def download(self, path: str, into: IO[bytes]) -> None:
        """Write what the listener sends to a file as it comes. Raises AdminError."""
        with self._connected() as connection:
            connection.request("GET", self._parts.path + path, None, self._fields({}))
            response = connection.getresponse()
            if response.status != 200:
                self._read(response.status, response.read())
                raise self._not_admin()
            while piece := response.read(1 << 20):
                try:
                    into.write(piece)
                except OSError as error:
                    raise AdminError(f"{into.name}: {error.strerror}") from error

    def upload(self, path: str, body: IO[bytes], length: int) -> tuple[int, Json]:
        """Send a file as it is read; the status, and what the listener says. Raises AdminError."""
        told = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
        with self._connected() as connection:
            # Who refuses it early may have said so already.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", self._parts.path + path, body, self._fields(told))
            response = connection.getresponse()
            data = response.read()
            with contextlib.suppress(ValueError):
                answer = json.loads(data)
                if response.status == 400 and isinstance(answer, dict) and "imported" in answer:
                    return response.status, answer
            return response.status, self._with(self._read(response.status, data), "imported")

    def _with(self, told: Json, member: str) -> Json:
        if member not in told:
            raise self._not_admin()
        return told

    def _not_admin(self) -> AdminError:
        return AdminError(
            f"{self._url} is not the admin listener of a proxy of this version; "
            "name it with --admin"
        )

    def _ask(self, method: str, path: str, body: bytes | None, fields: Mapping[str, str]) -> Json:
        with self._connected() as connection:
            connection.request(method, self._parts.path + path, body, self._fields(fields))
            response = connection.getresponse()
            return self._read(response.status, response.read())

    def _fields(self, fields: Mapping[str, str]) -> dict[str, bytes]:
        sent = dict(fields) | ({"Authorization": f"Bearer {self._token}"} if self._token else {})
        if any(character in value for value in sent.values() for character in "\r\n\0"):
            raise AdminError("the token or the key has a line break in it")
        return {name: value.encode("utf-8", "surrogateescape") for name, value in sent.items()}

    @contextlib.contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        connection = http_url.connection(self._parts, DEADLINE_SECONDS)
        try:
            yield connection
        except (OSError, http.client.HTTPException) as error:
            raise AdminError(
                f"no proxy answers at {self._url}: {error}; "
                "start one with `reprise serve`, or name its admin.listen with --admin"
            ) from error
        finally:
            connection.close()

    def _read(self, status: int, body: bytes) -> Json:
        try:
            told = json.loads(body)
        except ValueError:
            told = None
        if status == 200 and isinstance(told, dict):
            return told
        if status == 403:
            raise AdminError(
                f"{self._url} has no admin.token, and answers nothing without one: set admin.token "
                "in its configuration file, and name it with --token or REPRISE_ADMIN_TOKEN"
            )
        if status == 401:
            given = "another" if self._token else "none"
            raise AdminError(
                f"{self._url} wants the value of its admin.token, and {given} was given: "
                "name it with --token or REPRISE_ADMIN_TOKEN"
            )
        message = told.get("error", {}).get("message") if isinstance(told, dict) else None
        if message is None or status == 404:
            raise self._not_admin()
        raise AdminError(f"{self._url}: {message}")


def of_admin(command: _Command) -> _Command:
    """Give a command the options that say which proxy to ask, and `--json`."""
    url = click.option(
        "--admin",
        "url",
        metavar="URL",
        default="http://127.0.0.1:8081",
        show_default=True,
        help="Admin listener of the proxy to ask.",
    )
    token = click.option(
        "--token",
        metavar="TOKEN",
        default="",
        envvar="REPRISE_ADMIN_TOKEN",
        help="Its admin.token; else REPRISE_ADMIN_TOKEN.",
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    return url(token(as_json(command)))


def print_json(value: Json) -> None:
    """One JSON object, last on standard output."""
    click.echo(json.dumps(value))
