"""`reprise explain`: what would happen to a question, and why."""

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from proxy.cli.admin_client import AdminClient, AdminError, Json, of_admin, print_json
from proxy.cli.tables import cell, duration, table


@click.command("explain")
@click.option("--question", metavar="TEXT", help="The question, as the last message of a chat.")
@click.option("--model", metavar="MODEL", help="Unless given, the only one with stored answers.")
@click.option("--system", metavar="TEXT", help="A system message before the question.")
@click.option(
    "--request",
    "file",
    metavar="FILE",
    help="A whole request body instead, as a client sends it; - is standard input.",
)
@click.option(
    "--api-key",
    metavar="KEY",
    default="",
    envvar="OPENAI_API_KEY",
    help="The client's key, for each has answers of its own; else OPENAI_API_KEY.",
)
@of_admin
def explain(
    question: str | None,
    model: str | None,
    system: str | None,
    file: str | None,
    api_key: str,
    url: str,
    token: str,
    *,
    as_json: bool,
) -> None:
    """Say what would happen to a question or a request now, and why. Nothing is changed by asking.

    Exit code 0: done. 2: no proxy, a refused token, or unusable input.
    """
    if (question is None) == (file is None):
        raise click.UsageError("say either --question or --request")
    if file is not None and (model is not None or system is not None):
        raise click.UsageError("--model and --system stand in the body that --request names")
    client = AdminClient(url, token)
    if file is not None:
        body = _read(file)
    else:
        body = _chat(question or "", system, model or _only_model(client))
    fields = {"x-explain-authorization": f"Bearer {api_key}"} if api_key else {}
    told = client.post("/admin/explain", "outcome", body, fields)
    if as_json:
        print_json(told)
    else:
        _show(told)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error


def _chat(question: str, system: str | None, model: str) -> bytes:
    messages = [] if system is None else [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": question})
    return json.dumps({"model": model, "messages": messages}).encode()


def _only_model(client: AdminClient) -> str:
    models = [str(one["model"]) for one in client.get("/admin/models", "models")["models"]]
    if len(models) == 1:
        return models[0]
    held = f"there are answers of {', '.join(models)}" if models else "nothing is stored yet"
    raise AdminError(f"say which model is asked with --model: {cell(held)}")


def _show(told: Json) -> None:
    console = Console()
    console.print(cell(_outcome(told)), style="bold")
    if told["outcome"] == "bypass":
        return
    facts = [("upstream", told["upstream"]), ("model", told["model"]), ("tenant", told["tenant"])]
    facts += [(f"key: {name}", part) for name, part in told["key"].items()]
    stored, meaning = told["stored"], told["meaning"]
    if stored is not None:
        facts.append(("stored", f"{stored['entry']}, {_times(stored)}"))
    facts.append(("by meaning", _comparison(meaning)))
    console.print(table("the request", ("", ""), facts))
    if meaning["nearest"]:
        names = ("similarity", "probability", "says", "ttl", "entry", "question")
        nearest = [_near(near) for near in meaning["nearest"]]
        console.print(table("nearest, same in all but the last message", names, nearest))
    if meaning["elsewhere"]:
        names = ("similarity", "differs", "model", "tenant", "entry", "question")
        others = [tuple(near.get(name) for name in names) for near in meaning["elsewhere"]]
        console.print(table("near, but of other requests", names, others))


def _comparison(meaning: Json) -> str:
    if not meaning["encoder"]:
        return f"not compared: {meaning['reason']}"
    threshold = meaning["threshold"]
    bar = "nothing to compare with" if threshold is None else f"threshold {threshold:.4f}"
    return f"compared by {meaning['encoder']}, {bar}"


def _outcome(told: Json) -> str:
    if told["outcome"] == "bypass":
        return f"bypass ({told['reason']}): it goes to {told['upstream']}, nothing is looked up"
    if told["outcome"] == "miss":
        meant = told["meaning"]["reason"]
        why = f"{told['reason']}; by meaning: {meant}" if meant else told["reason"]
        return f"miss ({why}): {told['upstream']} would be asked"
    return f"{told['outcome']} ({told['level']}): {told['entry']} would be given"


def _near(near: Json) -> tuple[object, ...]:
    says = [_objection(guard) for guard in near["guards"]]
    if near["may_serve"]:
        says.append("serves")
    elif near["reason"] != "guard":
        says.append(near["reason"] or "too old")
    return (
        near["similarity"],
        near["probability"],
        ", ".join(says),
        duration(near["ttl"]),
        near["entry"],
        near.get("question"),
    )


def _objection(guard: Json) -> str:
    if "stored" not in guard:
        return str(guard["guard"])
    return f"{guard['guard']} ({guard['stored'] or '-'} / {guard['asked'] or '-'})"


def _times(stored: Json) -> str:
    left = stored["ttl"]
    state = f"fresh for {duration(left)}" if left > 0 else f"stale for {duration(-left)}"
    return f"{duration(stored['age'])} old, {state}"
