"""What the operator sees is what counts now. The routes themselves are tested in admin/."""

from proxy.app import App
from tests.admin.test_questions import explained
from tests.admin.test_routes import SETTINGS, admin
from tests.admin.test_sets import export, take_in
from tests.conftest import StartProxy
from tests.fakes.client import ask, question

COMMON = b"what replicas have agreed on"


async def would_be_a_hit(app: App) -> bool:
    """What is said of the question that was asked."""
    said = await explained(app, question())
    return bool(said["outcome"] == "hit")


async def test_questions_are_explained_by_the_secret_that_replicas_agreed_on_later(
    proxy: StartProxy,
) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        assert await would_be_a_hit(app)
        app._use_secret(COMMON)
        assert not await would_be_a_hit(app)
        assert not (await ask(app.url)).is_hit
        assert await would_be_a_hit(app)
        assert (await ask(app.url)).is_hit


async def test_sets_are_for_those_who_have_the_secret_of_now(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as one, proxy(SETTINGS) as other:
        await ask(one.url)
        assert (await take_in(other, await export(one))).status == 400
        for app in (one, other):
            app._use_secret(COMMON)
        assert (await take_in(other, await export(one))).json()["imported"] == 1


async def test_what_is_here_already_is_not_taken_over_again(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        told = (await take_in(app, await export(app))).json()
        assert (told["imported"], told["left_out"]) == (0, 1)


async def test_an_opinion_of_the_operators_is_in_the_audit_list(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        entry = (await ask(app.url)).header("x-cache-entry")
        body = b'{"entry": "%b", "verdict": "wrong"}' % str(entry).encode()
        assert (await admin(app, "POST", "/admin/feedback", body)).status == 200
        (record,) = (await admin(app, "GET", "/admin/audit")).json()["audit"]
        assert (record["action"], record["entry"]) == ("feedback", entry)
        assert (await admin(app, "POST", "/admin/feedback", body)).status == 404
