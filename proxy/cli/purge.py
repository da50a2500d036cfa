"""`reprise purge`: entries out of a proxy's cache."""

import json

import click
from rich.console import Console

from proxy.cli.admin_client import AdminClient, AdminError, Json, of_admin, print_json
from proxy.cli.tables import table

_JSON_FIELDS = {"Content-Type": "application/json"}


@click.command("purge")
@click.option("--model", metavar="GLOB", help="Of these models, such as 'gpt-4*'.")
@click.option("--tenant", metavar="NAME", help="Of this tenant, named as in the log.")
@click.option("--tag", metavar="GLOB", help="With such a tag (x-cache-tags), such as 'product-*'.")
@click.option("--namespace", metavar="GLOB", help="Of such a namespace (x-cache-namespace).")
@click.option("--all", "is_all", is_flag=True, help="Everything.")
@click.option("--soft", is_flag=True, help="Make them stale instead of taking them out.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@click.option("--forward", is_flag=True, help="Upstreams that are a Reprise do the same.")
@of_admin
def purge(
    model: str | None,
    tenant: str | None,
    tag: str | None,
    namespace: str | None,
    url: str,
    token: str,
    *,
    is_all: bool,
    soft: bool,
    dry_run: bool,
    forward: bool,
    as_json: bool,
) -> None:
    """Take entries out: those that agree with every option.

    Exit code 0: done, or nothing was there. 2: no proxy, a refused token, or unusable input.
    """
    chosen = {"model": model, "tenant": tenant, "tag": tag, "namespace": namespace}
    order: Json = {name: value for name, value in chosen.items() if value is not None}
    if bool(order) == is_all:
        raise AdminError("say --all, or one or more of --model, --tenant, --tag, --namespace")
    flags = {"all": is_all, "soft": soft, "dry_run": dry_run, "forward": forward}
    order |= {name: True for name, value in flags.items() if value}
    body = json.dumps(order).encode()
    told = AdminClient(url, token).post("/admin/purge", "purged", body, _JSON_FIELDS)
    if as_json:
        print_json(told)
        return
    console = Console()
    console.print(_line(told))
    for kind in ("models", "tenants"):
        if told.get(kind):
            rows = sorted(told[kind].items(), key=lambda row: -row[1])
            console.print(table(f"by {kind.removesuffix('s')}", (kind, "entries"), rows))
    for other in told.get("forwarded", ()):
        console.print(f"{other['upstream']}: {other.get('error') or _line(other)}")


def _line(told: Json) -> str:
    if "would_purge" in told:
        return f"{told['would_purge']} entries would go; nothing was changed"
    return f"{told['purged']} entries"
