"""How the demo counts and what it says; tests/e2e/test_demo.py runs it."""

import asyncio
import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from proxy.cli import children, demo
from proxy.cli.demo import QUESTIONS, REWORDINGS, Question, Reply, Tally

HIT = "reprise; hit; ttl=9; detail=exact"
MISS = "reprise; fwd=miss; fwd-status=200; stored"


def reply(text: str = "seven", cache_status: str = HIT, total: float = 0.002) -> Reply:
    """What came back."""
    return Reply(text, "stop", cache_status, total, total)


@pytest.mark.parametrize(
    ("cache_status", "is_hit", "level"),
    [
        (HIT, True, "exact"),
        ("reprise;hit;detail=semantic", True, "semantic"),
        ("reprise; hit; ttl=-3", True, "hit"),
        ("reprise; fwd=miss; fwd-status=200; collapsed", False, "miss"),
        (MISS, False, "miss"),
        ("reprise; fwd=bypass; detail=hit", False, "miss"),
        ("", False, "miss"),
    ],
)
def test_the_level_is_read_from_cache_status(cache_status: str, is_hit: bool, level: str) -> None:
    assert reply(cache_status=cache_status).is_hit is is_hit
    assert reply(cache_status=cache_status).level == level


def test_a_repeat_that_missed_or_differs_is_a_failure() -> None:
    tally = Tally(first=[reply(cache_status=MISS, total=0.5)])
    tally.judge(QUESTIONS[0], tally.first[0], reply())
    assert tally.failures == []
    tally.judge(QUESTIONS[0], tally.first[0], reply(cache_status=MISS))
    tally.judge(QUESTIONS[0], tally.first[0], reply("eight"))
    assert len(tally.failures) == 2
    assert tally.failures[0].startswith("not a hit")
    assert tally.failures[1].startswith("another answer")
    document = demo.as_document(tally)
    assert (document["repeats"], document["hits"]) == (3, 2)
    assert document["median_first_seconds"] == 0.5


@pytest.mark.parametrize(
    ("tally", "words"),
    [
        (Tally([reply(total=0.5)], [reply()]), "1 of 1 repeats came from the cache, stream"),
        (Tally([reply()], [reply()], ["not a hit: why"]), "not a hit: why"),
        (Tally([reply()]), "none was stored"),
    ],
)
def test_the_summary_says_what_happened(tally: Tally, words: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    demo.summarise(tally, console)
    assert isinstance(console.file, io.StringIO)
    assert words in console.file.getvalue()


def test_a_question_says_its_parameters() -> None:
    body = Question("Which?", stream=False, system="Briefly.", choices=("a", "b")).body()
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == [
        "a",
        "b",
    ]
    assert "response_format" not in QUESTIONS[0].body()


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "MODEL_PACKAGE", "no_such_package")
    result = CliRunner().invoke(demo.demo, [])
    assert result.exit_code == 2
    assert "make demo" in result.output


def test_a_child_that_dies_is_told_with_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "LLAMA_SERVER", "import sys; sys.exit('no such model')")
    result = CliRunner().invoke(demo.demo, ["--json"])
    assert result.exit_code == 1
    assert "no such model" in result.output


def test_the_address_is_read_from_the_log() -> None:
    lines = [
        "starting",
        '{"event": "other"}',
        json.dumps({"event": "listening", "url": "http://x", "admin_url": "http://y"}),
    ]
    assert [demo.urls_of(line) for line in lines] == ["", "", "http://x http://y"]


@pytest.mark.parametrize(
    ("is_same", "cache_status", "failure"),
    [
        (True, "reprise; hit; detail=semantic", ""),
        (True, MISS, "not served"),
        (False, MISS, ""),
        (False, "reprise; hit; detail=semantic", "served"),
    ],
)
def test_a_rewording_is_served_and_a_look_alike_is_not(
    is_same: bool, cache_status: str, failure: str
) -> None:
    tally = Tally()
    rewording = next(one for one in REWORDINGS if one.is_same is is_same)
    tally.judge_rewording(rewording, reply(cache_status=cache_status))
    assert [told.partition(":")[0] for told in tally.failures] == ([failure] if failure else [])
    assert len(tally.reworded) == (is_same and not failure)
    assert tally.refused == (not is_same and not failure)


async def test_a_proxy_that_never_gets_ready_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    monkeypatch.setattr(demo, "READY_WITHIN", 0.3)
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(children.StartError, match="not loaded in time"):
            await asyncio.to_thread(demo.await_ready, f"http://127.0.0.1:{port}")
