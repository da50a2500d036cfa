"""`reprise epoch`."""

import pytest

from proxy.cli.epoch import epoch
from tests.cli.asking import SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask


async def test_an_epoch_is_set_shown_and_taken_back(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        assert len(json_of(await run(epoch, app, "m*", "--json"))["epoch"]) == 16
        assert not (await ask(app.url)).is_hit
        assert "m*: spring" in (await run(epoch, app, "m*", "--set", "spring")).output
        shown = await run(epoch, app)
        assert shown.exit_code == 0
        assert "spring" in shown.output
        assert json_of(await run(epoch, app, "--json"))["epochs"][0]["epoch"] == "spring"
        assert "m*: no epoch" in (await run(epoch, app, "m*", "--clear")).output
        assert (await ask(app.url)).is_hit


async def test_upstreams_are_told_where_that_is_asked_for(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as centre:
        told = f"url: '{centre.url}', reprise: true, admin_url: '{centre.admin_url}'"
        upstream = f"upstreams: [{{{told}, admin_token: s3cret-token}}]"
        async with proxy(SETTINGS + upstream, upstream=None) as edge:
            result = await run(epoch, edge, "m*", "--set", "e", "--forward")
            assert f"{centre.url}: the same" in result.output
        assert json_of(await run(epoch, centre, "--json"))["epochs"][0]["model"] == "m*"


@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        (("--clear",), "name the models"),
        (("--set", "e"), "name the models"),
        (("m", "--set", "e", "--clear"), "say either --set or --clear"),
        (("m", "--set", "e" * 300), "Nothing was changed"),
    ],
)
async def test_what_is_unclear_is_refused(
    proxy: StartProxy, arguments: tuple[str, ...], flaw: str
) -> None:
    async with proxy(SETTINGS) as app:
        result = await run(epoch, app, *arguments)
    assert result.exit_code == 2
    assert flaw in result.output
