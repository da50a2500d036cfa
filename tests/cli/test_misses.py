"""`reprise misses`."""

import pytest

from proxy.cli.misses import misses
from tests.cli.asking import KEEPING, SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.semantic import comparing_by_words, learned


async def test_misses_and_their_groups_are_shown(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)
    async with proxy(KEEPING) as app:
        await learned(app, 0)
        await ask(app.url, question("Can I cancel within 14 days?"))
        await learned(app, 1)
        await ask(app.url, question("Can I cancel within 30 days?"))
        await ask(app.url, question("May I cancel within 30 days?"), key="key-b")
        result = await run(misses, app)
        assert result.exit_code == 0, result.output
        lines = result.output.splitlines()
        assert any("guard" in line and "numbers" in line and "30 days" in line for line in lines)
        same = "May I cancel within 30 days? · Can I cancel within 30 days?"
        assert any(same in line for line in lines)
        told = json_of(await run(misses, app, "--json", "--limit", "1"))
        assert len(told["misses"]) == 1
        assert told["groups"][0]["count"] == 2


async def test_without_prompts_the_remedy_is_told(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url, question("Can I cancel?"))
        result = await run(misses, app)
        assert result.exit_code == 0, result.output
        assert "cancel" not in result.output
        assert "absent" in result.output or "encoder" in result.output
        assert "privacy.keep_prompts" in result.output
