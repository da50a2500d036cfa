"""`reprise demo`: a real model behind the proxy, and what the proxy makes of repeated questions."""

import contextlib
import http.client
import importlib
import importlib.util
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from statistics import median
from types import FrameType
from typing import TYPE_CHECKING, Any, Never

import click
from rich import box
from rich.console import Console
from rich.table import Table

from proxy.cli.children import StartError, find_model, llama_server, run_child

if TYPE_CHECKING:
    from openai import OpenAI

ANSWERS_WITHIN = 60.0
"""Seconds for one answer."""
READY_WITHIN = 60.0
"""Seconds until the encoders are loaded."""
LEARNED_AFTER = 0.3
"""Seconds after an answer until it can be found by meaning: it is taken in behind the client."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the shape in which it is asked first."""

    text: str
    stream: bool
    system: str = ""
    choices: tuple[str, ...] = ()
    """The only answers a JSON schema allows."""

    def body(self) -> dict[str, Any]:
        """The parameters of the SDK's call, without the shape."""
        messages = [{"role": "user", "content": self.text}]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        body: dict[str, Any] = {"model": "smollm2", "messages": messages, "temperature": 0}
        if self.choices:
            schema = {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": list(self.choices)}},
                "required": ["answer"],
            }
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema},
            }
        return body | {"max_tokens": 300}


QUESTIONS = (
    Question("How many days are in a week?", stream=True),
    Question("2 + 2 = ?", stream=False),
    Question("What is the opposite of hot?", stream=True, system="Answer in one word."),
    Question("Name three primary colours.", stream=True),
    Question("中国的首都是哪里", stream=True, choices=("北京", "上海", "伦敦")),
    Question("雪是什么颜色", stream=False, choices=("白色", "黑色")),
)


@dataclass(frozen=True, slots=True)
class Rewording:
    """A question that is stored, and one that is asked after it."""

    stored: Question
    asked: str
    is_same: bool
    """They mean the same: one answer serves both."""


_CITIES = ("Lima", "Santiago", "Quito")
_WAYS = ("数据线", "无线网络", "邮件")
REWORDINGS = (
    Rewording(
        Question("What is the capital city of Peru?", stream=True, choices=_CITIES),
        "Which city is the capital of Peru?",
        is_same=True,
    ),
    Rewording(
        Question("What is the capital city of Peru?", stream=True, choices=_CITIES),
        "What is the capital city of Chile?",
        is_same=False,
    ),
    Rewording(
        Question("怎么把照片从手机传到电脑", stream=False, choices=_WAYS),
        "如何把照片从手机传到电脑上",
        is_same=True,
    ),
    Rewording(
        Question("怎么把照片从手机传到电脑", stream=False, choices=_WAYS),
        "怎么把照片从电脑传到手机",
        is_same=False,
    ),
)

CONFIG = """\
upstream: {upstream}
listen: 127.0.0.1:0
admin: {{listen: 127.0.0.1:0}}
persist: {{disk: {{enabled: false}}}}  # each demo begins with nothing
semantic:
  deadline: 2s  # the model's server takes both cores of a small machine
  encoders:
    - {{model: all-minilm-l6-v2, scripts: [latin]}}
    - {{model: multilingual-e5-small, scripts: [han]}}
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one question. Times in seconds."""

    text: str
    finish_reason: str
    cache_status: str
    first_token: float
    total: float
    similarity: str = ""
    """Of the question whose answer it is, where that is another one."""

    @property
    def is_hit(self) -> bool:
        """Whether the cache answered (RFC 9211 2.1)."""
        return "hit" in self.cache_status.replace(" ", "").split(";")

    @property
    def level(self) -> str:
        """The kind of hit, else miss."""
        if self.is_hit:
            return self.cache_status.partition("detail=")[2] or "hit"
        return "miss"


@dataclass(slots=True)
class Tally:
    """What has been asked so far."""

    first: list[Reply] = field(default_factory=list)
    repeats: list[Reply] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    reworded: list[Reply] = field(default_factory=list)
    """What came back for rewordings that mean the same, and from the cache."""
    refused: int = 0
    """Questions that only look alike, and went to the model."""

    def judge(self, question: Question, first: Reply, repeat: Reply) -> None:
        """A whole answer must come from the cache the next time, and must be the same."""
        self.repeats.append(repeat)
        if not repeat.is_hit:
            self.failures.append(f"not a hit: {question.text} ({repeat.cache_status})")
        elif repeat.text != first.text:
            self.failures.append(f"another answer: {question.text} ({repeat.text!r})")

    def judge_rewording(self, rewording: Rewording, reply: Reply) -> None:
        """The cache answers what means the same, and nothing else."""
        is_served = reply.level == "semantic"
        if is_served and rewording.is_same:
            self.reworded.append(reply)
        elif not is_served and not rewording.is_same:
            self.refused += 1
        else:
            told = f"{rewording.stored.text} -> {rewording.asked} ({reply.cache_status})"
            self.failures.append(f"{'served' if is_served else 'not served'}: {told}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object last on stdout.")
def demo(*, as_json: bool) -> None:
    """Ask a small real model a few questions, again, and in the other shape."""
    model = find_model()
    if model is None or not all(map(importlib.util.find_spec, ("openai", "xllamacpp"))):
        click.echo("The demo's packages are missing: run `make demo`.", err=True)
        sys.exit(2)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    console = Console(stderr=as_json)
    try:
        with running(model, console) as url:
            client = client_for(url)
            tally = ask_all(client, console)
            ask_reworded(client, tally, console)
    except StartError as failure:
        click.echo(f"The demo could not run: {failure}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    summarise(tally, console)
    if as_json:
        click.echo(json.dumps(as_document(tally), ensure_ascii=False))
    sys.exit(1 if tally.failures or not tally.repeats else 0)


@contextlib.contextmanager
def running(model: Path, console: Console) -> Iterator[str]:
    """The model's server and the proxy before it; gives the proxy's URL."""
    with contextlib.ExitStack() as stack:
        with console.status("Loading the model (SmolLM2-135M, llama.cpp) ..."):
            upstream = stack.enter_context(llama_server(model))
        with console.status("Starting the proxy ..."):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            config = folder / "demo.yaml"
            config.write_text(CONFIG.format(upstream=upstream))
            proxy = [sys.executable, "-m", "proxy", "serve", "--config", str(config)]
            url, admin_url = stack.enter_context(run_child(proxy, urls_of)).split()
            await_ready(admin_url)
        console.print(f"llama.cpp listens on {upstream}, the proxy before it on {url}")
        yield url


def urls_of(line: str) -> str:
    """Where the proxy and its admin listener listen, if this line of its log says so."""
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return f"{entry['url']} {entry['admin_url']}" if entry.get("event") == "listening" else ""


def await_ready(admin_url: str) -> None:
    """Wait until the proxy can compare questions. Raises StartError if that takes too long."""
    host, _, port = admin_url.removeprefix("http://").rpartition(":")
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        connection = http.client.HTTPConnection(host, int(port), timeout=READY_WITHIN)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == HTTPStatus.OK:
                return
        finally:
            connection.close()
        time.sleep(0.1)
    raise StartError("The encoders were not loaded in time.")


def client_for(url: str) -> "OpenAI":
    """The official SDK, pointed at the proxy."""
    # By name and here: the SDK is an extra, and costs every other command half a second.
    sdk = importlib.import_module("openai")
    client: OpenAI = sdk.OpenAI(
        base_url=f"{url}/v1", api_key="demo", timeout=ANSWERS_WITHIN, max_retries=0
    )
    return client


def ask_all(client: "OpenAI", console: Console) -> Tally:
    """Ask each question, again, and in the other shape; print the table."""
    tally = Tally()
    table = Table(title="The same questions, three times", box=box.SIMPLE_HEAD)
    table.add_column("question", min_width=15)
    for name in ("shape", "level"):
        table.add_column(name, no_wrap=True)
    for name in ("first ms", "total ms"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("Cache-Status")
    with console.status("") as status:
        for question in QUESTIONS:
            status.update(f"Asking: {question.text}")
            first = ask(client, question, stream=question.stream)
            tally.first.append(first)
            _add_row(table, question, stream=question.stream, reply=first)
            if first.finish_reason != "stop":
                continue  # cut off by max_tokens, so not stored: it may not be repeated
            for stream in (question.stream, not question.stream):
                repeat = ask(client, question, stream=stream)
                tally.judge(question, first, repeat)
                _add_row(table, question, stream=stream, reply=repeat)
            table.add_section()
    console.print(table)
    return tally


def ask_reworded(client: "OpenAI", tally: Tally, console: Console) -> None:
    """Ask questions that mean the same as a stored one, and such as only look so; print a table."""
    table = Table(title="In other words", box=box.SIMPLE_HEAD)
    for name in ("stored", "asked"):
        table.add_column(name, min_width=15)
    table.add_column("level", no_wrap=True)
    for name in ("similarity", "total ms"):
        table.add_column(name, no_wrap=True, justify="right")
    with console.status("") as status:
        for rewording in REWORDINGS:
            status.update(f"Asking: {rewording.asked}")
            ask(client, rewording.stored, stream=rewording.stored.stream)
            time.sleep(LEARNED_AFTER)
            asked = replace(rewording.stored, text=rewording.asked)
            reply = ask(client, asked, stream=rewording.stored.stream)
            tally.judge_rewording(rewording, reply)
            served = f"[green]{reply.level}[/]" if reply.is_hit else f"[yellow]{reply.level}[/]"
            table.add_row(
                rewording.stored.text,
                rewording.asked,
                served,
                reply.similarity,
                _milliseconds(reply.total),
            )
    console.print(table)


def _add_row(table: Table, question: Question, *, stream: bool, reply: Reply) -> None:
    table.add_row(
        question.text,
        "stream" if stream else "JSON",
        f"[green]{reply.level}[/]" if reply.is_hit else f"[yellow]{reply.level}[/]",
        _milliseconds(reply.first_token),
        _milliseconds(reply.total),
        reply.cache_status,
    )


def ask(client: "OpenAI", question: Question, *, stream: bool) -> Reply:
    """Put one question through the SDK."""
    create = client.chat.completions.with_raw_response.create
    started = time.perf_counter()
    if not stream:
        raw = create(**question.body())
        total = time.perf_counter() - started
        choice = raw.parse().choices[0]
        text, reason = choice.message.content or "", choice.finish_reason
        return _reply(text, reason, raw.headers, total, total)
    raw = create(**question.body(), stream=True, stream_options={"include_usage": True})
    pieces, reason, first_token = [], "", 0.0
    for chunk in raw.parse():
        for choice in chunk.choices:
            if choice.delta.content:
                first_token = first_token or time.perf_counter() - started
                pieces.append(choice.delta.content)
            reason = choice.finish_reason or reason
    total = time.perf_counter() - started
    return _reply("".join(pieces), reason, raw.headers, first_token or total, total)


def _reply(
    text: str, reason: str, fields: Mapping[str, str], first_token: float, total: float
) -> Reply:
    return Reply(
        text,
        reason,
        fields.get("cache-status", ""),
        first_token,
        total,
        fields.get("x-cache-similarity", ""),
    )


def summarise(tally: Tally, console: Console) -> None:
    """Say what it comes to, in a sentence or two."""
    for failure in tally.failures:
        console.print(f"[red]{failure}[/]")
    if not tally.repeats:
        console.print("[red]No answer of the model was whole, so none was stored.[/]")
        return
    first, again = _medians(tally)
    spared = sum(reply.is_hit for reply in tally.repeats)
    console.print(
        f"{spared} of {len(tally.repeats)} repeats came from the cache, stream and JSON alike: "
        f"{_milliseconds(again)} ms instead of {_milliseconds(first)} ms (medians), "
        f"{first / again:.0f} times faster. The answers are the same to the letter."
        if not tally.failures
        else f"{spared} of {len(tally.repeats)} repeats came from the cache."
    )
    console.print(
        f"{len(tally.reworded)} questions in other words were answered from the cache too; "
        f"{tally.refused} that only look alike went to the model."
    )


def as_document(tally: Tally) -> dict[str, Any]:
    """The figures for programs."""
    first, again = _medians(tally) if tally.repeats else (0.0, 0.0)
    return {
        "asked": len(tally.first),
        "repeats": len(tally.repeats),
        "hits": sum(reply.is_hit for reply in tally.repeats),
        "reworded_hits": len(tally.reworded),
        "look_alikes_refused": tally.refused,
        "median_first_seconds": round(first, 6),
        "median_repeat_seconds": round(again, 6),
        "failures": tally.failures,
    }


def _medians(tally: Tally) -> tuple[float, float]:
    return (
        median(reply.total for reply in tally.first),
        median(reply.total for reply in tally.repeats),
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"


def _leave(number: int, frame: FrameType | None) -> Never:
    # As an exception, so that every child is ended on the way out.
    sys.exit(128 + number)
