"""The command line. A command's module is loaded when it is called, so that `serve` starts fast."""

import importlib
from typing import cast

import click

from proxy import __version__

COMMANDS = {
    "check": "Tell every mistake of a configuration file.",
    "demo": "Show the cache before a real model.",
    "epoch": "Give models another epoch: what is stored of them is not found any longer.",
    "eval": "Measure what is served by meaning, on pairs or traces of your own.",
    "explain": "Say what would happen to a question, and why.",
    "export": "Write the most valuable entries of a proxy to a file.",
    "healthcheck": "Ask a proxy whether it takes requests.",
    "import": "Put the entries of an exported file into a proxy.",
    "inject": "Give pods in Kubernetes a proxy of their own.",
    "misses": "Show the questions that are missed most.",
    "models": "Prepare, fetch and check the models that compare by meaning.",
    "purge": "Take entries out of a proxy's cache.",
    "schema": "Print the JSON schema of the configuration.",
    "serve": "Run the proxy.",
    "train": "Make the verifier from labelled pairs.",
    "top": "Show the answers that are given most.",
    "warm": "Fill a cache before the users come.",
}


_MODULES = {"eval": "evaluate", "import": "importing"}
"""Python has an eval and an import of its own."""


class _Lazy(click.Group):
    """Finds each command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = _MODULES.get(cmd_name, cmd_name)
        module = importlib.import_module(f"proxy.cli.{name}")
        return cast(click.Command, getattr(module, name))


@click.command(cls=_Lazy)
@click.version_option(__version__, prog_name="reprise")
def main() -> None:
    """Reprise, a caching reverse proxy for OpenAI-compatible servers."""
