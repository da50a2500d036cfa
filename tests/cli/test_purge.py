"""`reprise purge`."""

import pytest

from proxy.cli.purge import purge
from tests.cli.asking import SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.watch import figure


async def test_what_is_named_goes(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        for model in ("m1", "m2", "other"):
            await ask(app.url, question(model=model), fields=[("x-cache-tags", f"t-{model}")])
        told = json_of(await run(purge, app, "--model", "m*", "--dry-run", "--json"))
        assert (told["would_purge"], told["models"]) == (2, {"m1": 1, "m2": 1})
        shown = await run(purge, app, "--all", "--dry-run")
        assert shown.exit_code == 0
        assert "3 entries would go; nothing was changed" in shown.output
        assert "other" in shown.output
        assert figure(app, "entries") == 3
        assert "1 entries" in (await run(purge, app, "--tag", "t-m*", "--model", "m1")).output
        assert json_of(await run(purge, app, "--tag", "t-*", "--soft", "--json"))["purged"] == 2
        assert figure(app, "entries") == 2
        assert (await run(purge, app, "--all")).exit_code == 0
        assert figure(app, "entries") == 0


async def test_upstreams_are_told_where_that_is_asked_for(proxy: StartProxy) -> None:
    dead = (
        "upstreams: [{url: 'http://127.0.0.1:9', reprise: true, admin_url: 'http://127.0.0.1:9'}]"
    )
    async with proxy(SETTINGS + dead, upstream=None) as app:
        result = await run(purge, app, "--all", "--forward")
    assert result.exit_code == 0
    assert "http://127.0.0.1:9: No connection to the upstream" in result.output


@pytest.mark.parametrize("arguments", [(), ("--all", "--model", "m"), ("--soft",)])
async def test_what_is_unclear_is_refused(proxy: StartProxy, arguments: tuple[str, ...]) -> None:
    async with proxy(SETTINGS) as app:
        result = await run(purge, app, *arguments)
    assert result.exit_code == 2
    assert "say --all, or one or more of" in result.output
