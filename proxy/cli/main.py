"""The command line. A command's module is loaded when it is called, so that `serve` starts fast."""

import importlib
from typing import cast

import click

from proxy import __version__

COMMANDS = {
    "check": "Tell every mistake of a configuration file.",
    "demo": "Show the cache before a real model.",
    "schema": "Print the JSON schema of the configuration.",
    "serve": "Run the proxy.",
}


class _Lazy(click.Group):
    """Finds each command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"proxy.cli.{cmd_name}")
        return cast(click.Command, getattr(module, cmd_name))


@click.command(cls=_Lazy)
@click.version_option(__version__, prog_name="reprise")
def main() -> None:
    """Reprise, a caching reverse proxy for OpenAI-compatible servers."""
