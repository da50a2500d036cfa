"""The command line. A command's module is loaded when it is called, so that `serve` starts fast."""

import importlib
from typing import cast

import click

from proxy import __version__

COMMANDS = {
    "check": "Tell every mistake of a configuration file.",
    "demo": "Show the cache before a real model.",
    "eval": "Measure what is served by meaning, on pairs or traces of your own.",
    "explain": "Say what would happen to a question, and why.",
    "misses": "Show the questions that are missed most.",
    "models": "Prepare, fetch and check the models that compare by meaning.",
    "schema": "Print the JSON schema of the configuration.",
    "serve": "Run the proxy.",
    "train": "Make the verifier from labelled pairs.",
    "top": "Show the answers that are given most.",
    "warm": "Fill a cache before the users come.",
}


class _Lazy(click.Group):
    """Finds each command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = "evaluate" if cmd_name == "eval" else cmd_name  # Python has an eval of its own
        module = importlib.import_module(f"proxy.cli.{name}")
        return cast(click.Command, getattr(module, name))


@click.command(cls=_Lazy)
@click.version_option(__version__, prog_name="reprise")
def main() -> None:
    """Reprise, a caching reverse proxy for OpenAI-compatible servers."""
