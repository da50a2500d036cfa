"""`reprise warm` before a real proxy."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from proxy.cli.warm import warm
from tests.conftest import Serve, StartProxy
from tests.fakes.answers import chat_answer, usage
from tests.fakes.client import ask, call, question
from tests.fakes.models import prepared_models
from tests.fakes.process import ProxyProcess
from tests.fakes.upstream import Reply, ScriptedUpstream, Seen, error_reply, json_reply
from tests.watch import until

PLAIN = "semantic: {enabled: false}"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three questions, of which one was asked three times and one twice."""
    return written(tmp_path / "log.jsonl", *"bacaab")


def written(path: Path, *texts: str) -> Path:
    path.write_bytes(b"".join(question(text, stream=True) + b"\n" for text in texts))
    return path


async def run(url: str, *arguments: str | Path, home: Path, models: str = "") -> Result:
    environment = {"OPENAI_API_KEY": "key-a", "XDG_STATE_HOME": str(home), "COLUMNS": "200"}
    if models:
        environment["REPRISE_MODELS"] = models
    else:
        arguments = ("--exact-only", *arguments)
    return await asyncio.to_thread(
        CliRunner().invoke,
        warm,
        ["--proxy", url, "--json", *map(str, arguments)],
        env=environment,
    )


def told(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def asked(upstream: ScriptedUpstream) -> list[str]:
    return [seen.json()["messages"][-1]["content"] for seen in upstream.requests]


def costing(tokens: int) -> Any:
    def respond(seen: Seen) -> Reply:
        return json_reply(chat_answer("text") | {"usage": usage(tokens - 5, 5)})

    return respond


async def test_the_most_frequent_are_asked_once_and_are_hits_from_then_on(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    upstream.respond = costing(12)
    async with proxy(PLAIN) as app:
        found = told(await run(app.url, log, "--top", "2", home=tmp_path))
        assert asked(upstream) == ["a", "b"]
        assert (found["asked"], found["stored"], found["tokens"]) == (2, 2, 24)
        assert (found["questions"], found["chosen"], found["remaining"]) == (3, 2, 0)
        assert all("stream" not in seen.json() for seen in upstream.requests)
        assert (await ask(app.url, question("a", stream=True))).is_hit
        again = told(await run(app.url, log, home=tmp_path))
        assert (again["hits"], again["asked"], again["tokens"]) == (2, 1, 12)
    assert asked(upstream) == ["a", "b", "c"]
    assert list((tmp_path / "reprise").iterdir()) == []


async def test_a_dry_run_asks_nothing(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    async with proxy(PLAIN) as app:
        result = await run(app.url, log, "--dry-run", "--top", "2", home=tmp_path)
    found = told(result)
    assert (found["requests"], found["questions"], found["chosen"]) == (6, 3, 2)
    assert found["covered"] == round(5 / 6, 4)
    assert found["estimated_tokens"] > 500
    assert "2 questions would be asked" in result.stderr
    assert upstream.calls == 0
    assert not (tmp_path / "reprise").exists()


async def test_it_asks_as_whom_and_how_it_is_told(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    ours = ["--api-key", "key-b", "--header", "x-cache-namespace: n", "--temperature", "0.5"]
    async with proxy(PLAIN) as app:
        told(await run(app.url, log, *ours, "--concurrency", "2", home=tmp_path))
        seen = upstream.requests[0]
        assert seen.header("Authorization") == "Bearer key-b"
        assert seen.json()["temperature"] == 0.5
        fields = [("x-cache-namespace", "n")]
        warmed = await ask(app.url, question("a", temperature=0.5), key="key-b", fields=fields)
        assert warmed.is_hit
        assert not (await ask(app.url, question("a", temperature=0.5))).is_hit


async def test_it_ends_before_the_cap(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    log = written(tmp_path / "many.jsonl", *(f"question {number}" for number in range(9)))
    upstream.respond = costing(40)
    async with proxy(PLAIN) as app:
        capped = ["--max-tokens", "130", "--concurrency", "4"]
        result = await run(app.url, log, *capped, home=tmp_path)
        found = told(result)
        assert (found["asked"], found["tokens"], found["remaining"]) == (3, 120, 6)
        assert "6 remain" in result.stderr
        more = told(await run(app.url, log, *capped, home=tmp_path))
        assert (more["asked"], more["remaining"]) == (0, 6)
        rest = told(await run(app.url, log, "--max-tokens", "1000", home=tmp_path))
        assert (rest["asked"], rest["remaining"]) == (6, 0)
    assert upstream.calls == 9


async def test_calls_wait_while_those_of_clients_are_under_way(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("x"), before_head=gate))
    async with proxy(PLAIN) as app, asyncio.TaskGroup() as group:
        client = group.create_task(ask(app.url, question("a client's")))
        await upstream.received(1)
        warming = group.create_task(run(app.url, log, "--concurrency", "2", home=tmp_path))
        await until(lambda: b"reprise_background_requests_waiting 2.0" in app.exposition())
        assert upstream.calls == 1
        gate.set()
        await client
        assert told(await warming)["stored"] == 3
    assert upstream.calls == 4


async def test_killed_in_the_middle_it_goes_on_and_asks_nothing_twice(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    log = written(tmp_path / "many.jsonl", *(f"question {number}" for number in range(8)))
    gate = asyncio.Event()
    kept = [upstream.respond] * 3
    environment = {"XDG_STATE_HOME": str(tmp_path), "OPENAI_API_KEY": "key-a"}

    def respond(seen: Seen) -> Reply:
        reply = json_reply(chat_answer("text"), before_head=None if kept else gate)
        if kept:
            kept.pop()
        return reply

    upstream.respond = respond
    async with serve("--upstream", upstream.url) as process:
        arguments = ("warm", str(log), "--proxy", process.url, "--exact-only", "--json")
        killed = ProxyProcess(*arguments, environment=environment)
        await killed.start()
        await upstream.received(4)
        killed.signal(signal.SIGKILL)
        assert await killed.wait() == -signal.SIGKILL
        await killed.stop()
        gate.set()
        again = ProxyProcess(*arguments, environment=environment)
        await again.start()
        assert await again.wait() == 0, again.stderr
        await again.stop()
        found = json.loads(again.stdout.splitlines()[-1])
    assert (found["remaining"], found["failed"]) == (0, 0)
    assert found["hits"] == 1  # whose answer came when nobody was there to read it
    assert sorted(asked(upstream)) == sorted(f"question {number}" for number in range(8))


async def test_interrupted_it_says_how_to_go_on(
    serve: Serve, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    upstream.will(json_reply(chat_answer("text")))
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply({}, before_head=gate)
    environment = {"XDG_STATE_HOME": str(tmp_path), "COLUMNS": "300"}
    async with serve("--upstream", upstream.url) as process:
        arguments = ("warm", str(log), "--proxy", process.url, "--exact-only", "--json")
        interrupted = ProxyProcess(*arguments, environment=environment)
        await interrupted.start()
        await upstream.received(2)
        interrupted.signal(signal.SIGINT)
        assert await interrupted.wait() == 1
        await interrupted.stop()
        gate.set()
    found = json.loads(interrupted.stdout.splitlines()[-1])
    assert (found["stored"], found["remaining"], found["ended_by"]) == (1, 2, "interrupted")
    assert "the same command goes on from there" in interrupted.stderr
    assert "Traceback" not in interrupted.stderr


async def test_rewordings_are_asked_once(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    texts = ["What is the capital city of Peru?", *["Which city is the capital of Peru?"] * 2]
    log = written(tmp_path / "log.jsonl", *texts, "How do I oil a bicycle chain?")
    async with proxy(PLAIN) as app:
        models = str(prepared_models())
        found = told(await run(app.url, log, "--top", "1", home=tmp_path, models=models))
    assert (found["questions"], found["groups"], found["asked"]) == (3, 2, 1)
    assert asked(upstream) == [texts[1]]


async def test_what_a_proxy_recorded_warms_another(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"
    choice = {"index": 0, "text": "x", "finish_reason": "stop"}
    completion = json_reply({"object": "text_completion", "choices": [choice]})
    async with proxy(f"{PLAIN}\nprivacy: {{record_requests: {record}}}") as app:
        for text in ("a", "b", "b", "你好"):
            await ask(app.url, question(text, stream=text == "b"))
        prompt = {"model": "m", "prompt": "Q"}
        upstream.will(completion)
        await ask(app.url, prompt, path="/openai/v1/completions?v=1")
    calls = upstream.calls
    chat = json_reply(chat_answer("x"))
    upstream.respond = lambda seen: chat if "messages" in seen.json() else completion
    async with proxy(PLAIN) as app:
        found = told(await run(app.url, record, home=tmp_path))
        assert (found["requests"], found["questions"], found["stored"]) == (5, 4, 4)
        assert all([(await ask(app.url, question(text))).is_hit for text in ("a", "b", "你好")])
    assert upstream.calls == calls + 4


async def test_a_bad_line_is_named_and_may_be_left_out(
    proxy: StartProxy, log: Path, tmp_path: Path
) -> None:
    with log.open("ab") as file:
        file.write(b"\n{broken\n")
    async with proxy(PLAIN) as app:
        result = await run(app.url, log, home=tmp_path)
        assert result.exit_code == 2
        assert f"{log}:8: not JSON" in result.stderr
        assert "--skip-bad" in result.stderr
        found = told(await run(app.url, log, "--skip-bad", home=tmp_path))
        assert (found["bad_lines"], found["stored"]) == (1, 3)


async def test_answers_that_are_not_stored_are_told_of_and_not_asked_again(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    cut = chat_answer("tex") | {"usage": usage(3, 5)}
    cut["choices"][0]["finish_reason"] = "length"
    upstream.will(json_reply(cut), error_reply(400))
    async with proxy(PLAIN) as app:
        found = told(await run(app.url, log, home=tmp_path), code=1)
        assert (found["asked"], found["stored"], found["failed"]) == (2, 1, 2)
        assert (found["tokens"], found["remaining"]) == (21, 0)


async def test_a_busy_upstream_is_asked_again(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    soon = [("Retry-After", "0")]
    upstream.will(error_reply(429, fields=soon), error_reply(503, fields=soon))
    async with proxy(PLAIN) as app:
        found = told(await run(app.url, log, home=tmp_path))
    assert (found["stored"], found["failed"], upstream.calls) == (3, 0, 5)


async def test_a_refused_key_ends_it(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    upstream.respond = lambda seen: error_reply(401)
    async with proxy(PLAIN) as app:
        result = await run(app.url, log, home=tmp_path)
    assert "--api-key" in told(result, code=1)["ended_by"]
    assert upstream.calls == 1


async def test_what_is_no_reprise_is_not_warmed(
    upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    found = told(await run(upstream.url, log, home=tmp_path), code=1)
    assert "is no Reprise" in found["ended_by"]
    assert upstream.calls == 1


async def test_nobody_there_is_told_with_the_remedy(
    upstream: ScriptedUpstream, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.cli.warm_client.FIRST_PAUSE", 0.01)
    await upstream.stop()
    found = told(await run(upstream.url, log, home=tmp_path), code=1)
    assert "reprise serve" in found["ended_by"]
    assert found["remaining"] == 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--proxy", "localhost"], "--proxy 'localhost' is not a URL"),
        (["--header", "none"], "must be NAME:VALUE"),
        (["--api-key", "a\nb"], "line break"),
        (["--config", "/none.yaml"], "/none.yaml"),
        (["/none.jsonl"], "/none.jsonl: No such file"),
    ],
)
async def test_what_cannot_be_used_is_told(
    arguments: list[str], why: str, log: Path, tmp_path: Path
) -> None:
    result = await run("http://127.0.0.1:9", log, *arguments, home=tmp_path)
    assert result.exit_code == 2, result.output
    assert why in result.stderr


async def test_without_models_it_says_what_to_do(log: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    encoder = f"{{model: {tmp_path / 'none'}, scripts: [latin]}}"
    config.write_text(f"upstream: http://h\nsemantic: {{encoders: [{encoder}]}}")
    asked = run("http://h", log, "--config", config, home=tmp_path, models=str(tmp_path))
    result = await asked
    assert result.exit_code == 2, result.output
    assert "--exact-only" in result.stderr


async def test_the_rate_bounds_calls_and_not_hits(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    async with proxy(PLAIN) as app:
        for text in "abc":
            await ask(app.url, question(text))
        hits = told(await run(app.url, log, "--rate", "1", home=tmp_path))
        assert (hits["hits"], hits["seconds"] < 30) == (3, True)
        await call(app.admin_url, "POST", "/admin/purge", body=b'{"all": true}')
        other = written(tmp_path / "other.jsonl", "d", "e", "f")
        calls = told(await run(app.url, other, "--rate", "600", home=tmp_path))
    assert calls["seconds"] >= 0.2


async def test_a_dry_run_knows_what_is_done(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    upstream.respond = costing(20)
    state: list[str | Path] = ["--state", tmp_path / "s"]
    async with proxy(PLAIN) as app:
        capped = await run(app.url, log, "--max-tokens", "30", *state, home=tmp_path)
        assert told(capped)["remaining"] == 2
        found = told(await run(app.url, log, "--dry-run", *state, home=tmp_path))
    assert (found["done"], found["remaining"], upstream.calls) == (1, 2, 1)


async def test_what_the_cache_does_not_look_up_is_told(
    proxy: StartProxy, upstream: ScriptedUpstream, log: Path, tmp_path: Path
) -> None:
    with log.open("ab") as file:
        file.write(b'{"url": "/v1/audio/speech", "body": {"input": "x"}}\n')
    async with proxy(PLAIN) as app:
        result = await run(app.url, log, home=tmp_path)
    assert told(result)["left_alone"] == {"path": 1}
    assert "1 of 7 requests are none that the cache looks up (path: 1)" in result.stderr
    assert upstream.calls == 3


@pytest.mark.parametrize("broken", ["log.jsonl", "log.jsonl/below"])
async def test_a_state_that_cannot_be_kept_is_told(broken: str, log: Path, tmp_path: Path) -> None:
    state: list[str | Path] = ["--state", tmp_path / broken]
    result = await run("http://127.0.0.1:9", log, *state, home=tmp_path)
    assert result.exit_code == 2, result.output
    assert "--state" in result.stderr
