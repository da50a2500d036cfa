"""`reprise top`: the answers that are given most."""

import click
from rich.console import Console

from proxy.cli.admin_client import AdminClient, Json, of_admin, print_json
from proxy.cli.tables import duration, table


@click.command("top")
@click.option(
    "--by",
    type=click.Choice(["hits", "seconds", "tokens"]),
    default="hits",
    show_default=True,
    help="What is most: hits, or what they saved.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@of_admin
def top(by: str, limit: int, url: str, token: str, *, as_json: bool) -> None:
    """Show the answers that are given most from the cache, since the proxy was started.

    Exit code 0: done. 2: no proxy, a refused token, or unusable input.
    """
    told = AdminClient(url, token).get("/admin/top", "entries", by=by, limit=limit)
    if as_json:
        print_json(told)
        return
    columns = ("hits", "seconds", "tokens", "levels", "age", "ttl", "model", "tenant", "entry")
    rows = [_row(entry) for entry in told["entries"]]
    console = Console()
    console.print(table(f"most given, by {by}", (*columns, "question"), rows))
    if not any("question" in entry for entry in told["entries"]):
        console.print("questions are shown with privacy.keep_prompts", style="dim")


def _row(entry: Json) -> tuple[object, ...]:
    levels = ", ".join(f"{level} {count}" for level, count in entry["levels"].items())
    return (
        entry["hits"],
        f"{entry['saved_seconds']:.1f}",
        entry["saved_tokens"],
        levels,
        duration(entry["age"]),
        duration(entry["ttl"]),
        entry["model"],
        entry["tenant"],
        entry["entry"] or "gone",
        entry.get("question"),
    )
