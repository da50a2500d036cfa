"""`reprise eval` asks pairs and traces through the gate that serves, and counts."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from proxy.cli.evaluate import evaluate
from tests.fakes.models import prepared_models

CHAT = {"role": "user", "content": "Which tyres does this car need?"}


def run(*arguments: str) -> Result:
    environment = {"REPRISE_MODELS": str(prepared_models()), "COLUMNS": "120"}
    return CliRunner().invoke(evaluate, arguments, env=environment)


def written(path: Path, *lines: dict[str, Any]) -> str:
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return str(path)


def told(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = orjson.loads(result.stdout.splitlines()[-1])
    return found


def pair(a: Any, b: Any, label: int, kind: str = "k", lang: str = "en") -> dict[str, Any]:
    return {"a": a, "b": b, "label": label, "kind": kind, "lang": lang}


def test_pairs_are_counted_by_kind_and_language(tmp_path: Path) -> None:
    file = written(
        tmp_path / "pairs.jsonl",
        pair("What is the capital city of Peru?", "Which city is the capital of Peru?", 1, "same"),
        pair("How do I boil 3 eggs?", "How do I boil 4 eggs?", 0, "number"),
        pair("怎么重置路由器", "如何重置路由器", 1, "same", "zh"),
        pair("怎么打开蓝牙", "怎么关闭蓝牙", 0, "opposite", "zh"),
        pair("Is the museum open today?", "Is the museum open today, please?", 1, "now"),
    )
    found = told(run("pairs", file, "--json"))
    assert (found["pairs"], found["wanted"], found["traps"]) == (5, 3, 2)
    assert (found["wanted_served"], found["traps_served"]) == (2, 0)
    assert found["by_kind"]["same"]["wanted_served"] == 2
    assert found["by_lang"]["zh"] == {
        "wanted": 1,
        "wanted_served": 1,
        "traps": 1,
        "traps_served": 0,
    }
    assert found["refusals"] == {"rule-keyword": 1}


def test_conversations_are_compared_only_after_the_same_history(tmp_path: Path) -> None:
    def asked(first: str, reply: str, last: str) -> list[dict[str, str]]:
        return [
            {"role": "user", "content": first},
            {"role": "assistant", "content": reply},
            {"role": "user", "content": last},
        ]

    one = asked("I have a blue van.", "Nice.", "How do I change its tyres?")
    file = written(
        tmp_path / "pairs.jsonl",
        pair(one, asked("I have a blue van.", "Nice.", "How can I change its tyres?"), 1),
        pair(one, asked("I have a red bike.", "Nice.", "How can I change its tyres?"), 0),
        pair(one, asked("I have a blue van.", "Good.", "How can I change its tyres?"), 1),
    )
    found = told(run("pairs", file, "--json"))
    assert (found["wanted_served"], found["traps_served"]) == (1, 0)
    assert found["refusals"] == {"absent": 1}
    assert found["after_same_history"]["wanted_served"] == 2


def test_a_trace_counts_hits_of_another_class_as_wrong(tmp_path: Path) -> None:
    file = written(
        tmp_path / "trace.jsonl",
        {"text": "How do I reset my router?", "class": "reset"},
        {"text": "How do I reset my router?", "group": "reset"},
        {"text": "How can I reset my router?", "class": "something else"},
        {"text": "How do I reset my router?", "class": "x", "context": "You sell routers."},
        {"text": "How do I reset my router?", "class": "y", "context": [CHAT]},
    )
    found = told(run("trace", file, "--json"))
    assert (found["requests"], found["hits"], found["wrong"]) == (5, 2, 1)
    assert found["by_level"] == {
        "exact": {"hits": 1, "wrong": 0},
        "semantic": {"hits": 1, "wrong": 1},
    }
    assert (found["hit_rate"], found["wrong_rate"]) == (0.4, 0.5)


def test_a_configuration_decides(tmp_path: Path) -> None:
    file = written(tmp_path / "pairs.jsonl", pair("Open the door", "Please open the door", 1))
    config = tmp_path / "reprise.yaml"
    config.write_text("upstream: http://127.0.0.1:9\nsemantic: {enabled: false}")
    found = told(run("pairs", file, "--config", str(config), "--json"))
    assert (found["wanted_served"], found["refusals"]) == (0, {"off": 1})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "1: "),
        (b"[1]", "must be a JSON object"),
        (b'{"a": "x", "b": "y"}', "label must be 1 or 0"),
        (b'{"a": "x", "b": "y", "label": 2}', "label must be 1 or 0"),
        (b'{"a": 1, "b": "y", "label": 1}', "a must be a text or a list of messages"),
        (b'{"a": "x", "b": [], "label": 1}', "b must be a text or a list of messages"),
        (b'{"a": "x", "b": [{"content": "y"}], "label": 1}', "b must be a text"),
        (b"", "no lines"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(line)
    result = run("pairs", str(file))
    assert result.exit_code == 2
    assert str(file) in result.stderr
    assert message in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "x"}', "class is missing"),
        (b'{"text": "x", "class": "c", "context": 1}', "context must be"),
        (b'{"class": "c"}', "text must be"),
    ],
)
def test_a_request_that_cannot_be_used_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(line)
    result = run("trace", str(file))
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    result = run("pairs", str(tmp_path / "none.jsonl"))
    assert result.exit_code == 2
    assert "none.jsonl: No such file" in result.stderr
    file = written(tmp_path / "pairs.jsonl", pair("a b", "a b c", 1))
    result = run("pairs", file, "--config", str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert "none.yaml" in result.stderr


def test_a_model_that_is_missing_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "pairs.jsonl", pair("a b", "a b c", 1))
    config = tmp_path / "reprise.yaml"
    config.write_text(
        "upstream: http://127.0.0.1:9\nsemantic: {encoders: [{model: mine, scripts: [latin]}]}"
    )
    result = run("pairs", file, "--config", str(config))
    assert result.exit_code == 2
    assert "mine" in result.stderr
    assert "reprise models prepare" in result.stderr
