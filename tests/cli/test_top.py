"""`reprise top`."""

import pytest

from proxy.cli.top import top
from tests.cli.asking import KEEPING, SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.semantic import comparing_by_words, learned


async def test_what_is_given_most_is_shown(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)
    async with proxy(KEEPING) as app:
        await learned(app, 0)
        for _ in range(3):
            await ask(app.url, question("Who wrote [Emma]?"))
        await learned(app, 1)
        result = await run(top, app)
        assert result.exit_code == 0, result.output
        line = next(line for line in result.output.splitlines() if "[Emma]" in line)
        assert "exact 2" in line
        assert "m1" in line
        assert "keep_prompts" not in result.output
        told = json_of(await run(top, app, "--json", "--by", "tokens", "--limit", "1"))
        assert (told["by"], told["entries"][0]["hits"]) == ("tokens", 2)


async def test_without_prompts_the_remedy_is_told(proxy: StartProxy) -> None:
    async with proxy(SETTINGS + "memory: {max_entries: 1}") as app:
        for text in ("A?", "A?", "B?"):
            await ask(app.url, question(text))
        result = await run(top, app)
        assert result.exit_code == 0, result.output
        assert "gone" in result.output
        assert "privacy.keep_prompts" in result.output


async def test_what_cannot_be_asked_is_unusable(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        for arguments in (["--by", "most"], ["--limit", "0"], ["--token", "wrong"]):
            assert (await run(top, app, *arguments)).exit_code == 2
