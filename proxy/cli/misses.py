"""`reprise misses`: the questions that are missed most."""

import click
from rich.console import Console

from proxy.cli.admin_client import AdminClient, of_admin, print_json
from proxy.cli.tables import table


@click.command("misses")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@of_admin
def misses(limit: int, url: str, token: str, *, as_json: bool) -> None:
    """Show the questions that the cache had no answer for most often, and those that mean the same.

    Exit code 0: done. 2: no proxy, a refused token, or unusable input.
    """
    told = AdminClient(url, token).get("/admin/misses", "misses", limit=limit)
    if as_json:
        print_json(told)
        return
    names = ("count", "nearest", "reason", "guard", "model", "tenant", "key", "question")
    rows = [tuple(miss.get(name) for name in names) for miss in told["misses"]]
    console = Console()
    console.print(table("most missed", names, rows))
    if not told["keep_prompts"]:
        console.print("questions are kept and grouped with privacy.keep_prompts", style="dim")
    if told["groups"]:
        groups = [
            (group["count"], group["tenants"], " · ".join(group["questions"]))
            for group in told["groups"][:limit]
        ]
        console.print(table("they mean the same", ("count", "tenants", "questions"), groups))
