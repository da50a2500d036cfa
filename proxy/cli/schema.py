"""`reprise schema`: the JSON schema of the configuration file, as config/ has it."""

import click
import orjson

from proxy.config_model import json_schema


@click.command("schema", hidden=True)
def schema() -> None:
    """Print the JSON schema of the configuration file."""
    click.echo(orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2).decode())
