"""Commands that ask a running proxy, as a user types them."""

import asyncio
import json
from typing import Any

import click
from click.testing import CliRunner, Result

from proxy.app import App

TOKEN = "s3cret-token"
SETTINGS = f"admin: {{token: '{TOKEN}'}}\nsemantic: {{min_similarity: 0.7}}\n"
KEEPING = SETTINGS + "privacy: {keep_prompts: true}\n"


async def run(
    command: click.Command, app: App, *arguments: str, stdin: bytes | None = None
) -> Result:
    """The command before a proxy, on a wide terminal, with the usual client's key."""
    environment = {"REPRISE_ADMIN_TOKEN": TOKEN, "OPENAI_API_KEY": "key-a", "COLUMNS": "250"}
    return await asyncio.to_thread(
        CliRunner().invoke,
        command,
        ["--admin", app.admin_url, *arguments],
        input=stdin,
        env=environment,
    )


def json_of(result: Result) -> Any:
    """The JSON object that was printed last."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])
