"""`reprise explain`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proxy.app import App
from proxy.cli.explain import explain
from tests.cli.asking import KEEPING, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.semantic import comparing_by_words, learned

CANCEL = "Can I cancel within 14 days?"
REWORDED = "May I cancel within 14 days?"
LATER = "Can I cancel within 30 days?"


@pytest.fixture
async def app(proxy: StartProxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    """A proxy with one answer, asked for as the command asks."""
    comparing_by_words(monkeypatch)
    async with proxy(KEEPING) as running:
        await learned(running, 0)
        await ask(running.url, question(CANCEL, temperature=None))
        await learned(running, 1)
        yield running


async def test_a_rewording_is_a_hit(app: App) -> None:
    result = await run(explain, app, "--question", REWORDED)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("hit (semantic): ")
    told = json_of(await run(explain, app, "--question", REWORDED, "--json"))
    assert (told["level"], told["model"]) == ("semantic", "m1")


async def test_a_near_miss_names_the_guard_and_the_pieces(app: App) -> None:
    result = await run(explain, app, "--question", LATER, "--model", "m1")
    assert result.exit_code == 0, result.output
    assert "miss (absent; by meaning: guard)" in result.output
    assert "numbers (14 days / 30 days)" in result.output
    assert "compared by by-words, threshold 0.7000" in result.output


async def test_what_differs_elsewhere_is_shown(app: App) -> None:
    for arguments in (["--system", "Be brief."], ["--model", "m2"], ["--api-key", "key-b"]):
        result = await run(explain, app, "--question", CANCEL, *arguments)
        assert result.exit_code == 0, result.output
        assert "near, but of other requests" in result.output
        part = {"--system": "history", "--model": "settings", "--api-key": "scope"}[arguments[0]]
        assert part in result.output.partition("near, but of other requests")[2]
        assert "nothing to compare with" in result.output


async def test_an_exact_hit_tells_how_long_it_is_fresh(app: App) -> None:
    result = await run(explain, app, "--question", CANCEL)
    assert result.output.startswith("hit (exact): ")
    assert "0s old, fresh for " in result.output


@pytest.mark.parametrize("form", ["file", "-"])
async def test_a_whole_request_is_explained(app: App, tmp_path: Path, form: str) -> None:
    body = question(LATER, seed=7)
    file = tmp_path / "body.json"
    file.write_bytes(body)
    source = str(file) if form == "file" else "-"
    result = await run(explain, app, "--request", source, stdin=body)
    assert result.exit_code == 0, result.output
    assert "not compared: seed" in result.output


async def test_what_is_bypassed_says_why(app: App) -> None:
    result = await run(explain, app, "--request", "-", stdin=b"no json")
    assert result.exit_code == 0
    assert result.output.startswith("bypass (body): it goes to http://127.0.0.1:")


async def test_the_model_is_not_guessed(app: App, proxy: StartProxy) -> None:
    await ask(app.url, question(CANCEL, model="m2"))
    result = await run(explain, app, "--question", CANCEL)
    assert result.exit_code == 2
    assert "there are answers of m1, m2" in result.output
    async with proxy(KEEPING) as empty:
        result = await run(explain, empty, "--question", CANCEL)
        assert result.exit_code == 2
        assert "nothing is stored yet" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--question", "Q", "--request", "-"],
        ["--request", "-", "--model", "m1"],
        ["--request", "/not/there"],
        ["--question", "Q", "--model", "m1", "--token", "wrong"],
        ["--question", "Q", "--model", "m1", "--api-key", "a\nb"],
        ["--question", "Q", "--model", "m1", "--admin", "nowhere"],
    ],
)
async def test_what_cannot_be_asked_is_unusable(app: App, arguments: list[str]) -> None:
    result = await run(explain, app, *arguments)
    assert result.exit_code == 2, result.output
