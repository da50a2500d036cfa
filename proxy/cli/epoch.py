"""`reprise epoch`: what is stored of some models is left behind, or found again."""

import json

import click
from rich.console import Console

from proxy.cli.admin_client import AdminClient, AdminError, Json, of_admin, print_json
from proxy.cli.tables import table

_JSON_FIELDS = {"Content-Type": "application/json"}


@click.command("epoch")
@click.argument("model", required=False)
@click.option("--set", "epoch", metavar="TEXT", help="The epoch; one like none before if left out.")
@click.option("--clear", is_flag=True, help="Back to none: what was stored without is found again.")
@click.option("--forward", is_flag=True, help="Upstreams that are a Reprise do the same.")
@of_admin
def epoch(
    model: str | None,
    epoch: str | None,
    url: str,
    token: str,
    *,
    clear: bool,
    forward: bool,
    as_json: bool,
) -> None:
    """Give the models that MODEL, a glob, names another epoch; without MODEL, show all epochs.

    Exit code 0: done. 2: no proxy, a refused token, or unusable input.
    """
    client = AdminClient(url, token)
    if model is None:
        if clear or forward or epoch is not None:
            raise AdminError("name the models, such as 'gpt-4*'; '*' is all of them")
        _show(client.get("/admin/epochs", "epochs"), as_json=as_json)
        return
    if clear and epoch is not None:
        raise AdminError("say either --set or --clear")
    order: Json = {"model": model, "forward": forward}
    if clear or epoch is not None:
        order["epoch"] = "" if clear else epoch
    told = client.post("/admin/epoch", "epoch", json.dumps(order).encode(), _JSON_FIELDS)
    if as_json:
        print_json(told)
        return
    console = Console()
    console.print(f"{told['model']}: {told['epoch'] or 'no epoch'}")
    for other in told.get("forwarded", ()):
        console.print(f"{other['upstream']}: {other.get('error') or 'the same'}")


def _show(told: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    names = ("model", "epoch", "by")
    rows = [tuple(one[name] for name in names) for one in told["epochs"]]
    Console().print(table("epochs; of several that fit, the upper one counts", names, rows))
