"""Purges and epochs, of here and of others, and what the audit list tells of them."""

import pytest

from proxy.app import App
from proxy.core.cache.change import Purged, Renewed
from proxy.core.cache.selector import Selector
from tests.admin.test_routes import SETTINGS, admin
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.clock import FakeClock
from tests.watch import figure


async def audit(app: App) -> list[dict[str, object]]:
    """The list, without their times."""
    records = (await admin(app, "GET", "/admin/audit")).json()["audit"]
    return [{name: told for name, told in one.items() if name != "time"} for one in records]


async def test_a_survey_counts_what_waits_to_be_stored_and_changes_nothing(
    proxy: StartProxy,
) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url, question(model="m1"))
        found = await app.invalidator.survey(Selector())
        assert found.models == {"m1": 1}
        assert figure(app, "entries") == 1


async def test_a_purge_tells_how_many_there_were_and_who_asked(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url, question(model="m1"))
        assert await app.invalidator.purge(Selector(model="m1"), True, "somebody") == 1
        assert await audit(app) == [
            {
                "action": "purge",
                "by": "somebody",
                "selector": {"model": "m1"},
                "soft": True,
                "count": 1,
            }
        ]


async def test_an_epoch_is_later_than_all_before_it(proxy: StartProxy, clock: FakeClock) -> None:
    async with proxy(SETTINGS, clock=clock) as app:
        ahead = clock.now() + 100
        app.invalidator.renewed_elsewhere(Renewed("m*", "theirs", ahead, "other"))
        assert not (await ask(app.url)).is_hit
        app.invalidator.renew("m*", "ours", "me")
        assert not (await ask(app.url)).is_hit
        assert [(one.model, one.epoch) for one in app.invalidator.epochs] == [("m*", "ours")]
        assert app.invalidator.epochs[0].at > ahead
        app.invalidator.renewed_elsewhere(Renewed("m*", "theirs", ahead, "other"))
        assert (await ask(app.url)).is_hit


@pytest.mark.parametrize("soft", [False, True])
async def test_what_others_have_done_is_in_the_list_too(
    proxy: StartProxy, clock: FakeClock, *, soft: bool
) -> None:
    async with proxy(SETTINGS, clock=clock) as app:
        purged = Purged(Selector(tag="t"), soft, clock.now(), "other")
        app.invalidator.purged_elsewhere(purged)
        assert await audit(app) == [
            {"action": "purge", "by": "other", "selector": {"tag": "t"}, "soft": soft}
        ]
