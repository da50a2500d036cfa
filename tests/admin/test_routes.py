"""The second listener: health, metrics, reload, purge."""

import asyncio

import pytest

from proxy import __version__
from proxy.app import App
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask, call, connect, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, error_reply, sse_reply
from tests.watch import figure, until

TOKEN = "s3cret-token"
SETTINGS = f"admin: {{token: '{TOKEN}'}}"
PROTECTED = [
    ("GET", "/admin/config"),
    ("POST", "/admin/reload"),
    ("POST", "/admin/purge"),
    ("DELETE", "/admin/entries/x"),
    ("GET", "/admin/top"),
    ("GET", "/admin/misses"),
    ("GET", "/admin/models"),
    ("POST", "/admin/explain"),
    ("POST", "/admin/feedback"),
    ("GET", "/admin/not-there"),
]


async def admin(app: App, method: str, path: str, body: bytes | None = None) -> Answer:
    """A request of the operator's."""
    shown = [("Authorization", f"Bearer {TOKEN}")]
    return await call(app.admin_url, method, path, fields=shown, body=body)


async def purge(app: App, body: bytes) -> tuple[int, int]:
    """Status and count of a purge; -1 where there is none."""
    answer = await admin(app, "POST", "/admin/purge", body)
    return answer.status, answer.json().get("purged", -1)


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_health_depends_on_no_one_else(
    proxy: StartProxy, upstream: ScriptedUpstream, path: str
) -> None:
    async with proxy() as app:
        await upstream.stop()
        answer = await call(app.admin_url, "GET", path)
    assert (answer.status, answer.body) == (200, b"ok\n")


async def test_health_is_quick_beside_two_hundred_streams(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: sse_reply(b": hi\n\n", gate)

    async def stream(number: int) -> None:
        await ask(app.url, question(f"Q{number}", stream=True))

    async with proxy() as app, asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(stream(number))
        await upstream.received(200)
        for path in ("/livez", "/readyz"):
            async with asyncio.timeout(1):  # ten times what it may take: the machine is shared
                assert (await call(app.admin_url, "GET", path)).status == 200
        gate.set()


async def test_the_data_plane_has_none_of_these_paths(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: error_reply(404)
    async with proxy(SETTINGS) as app:
        for path in ("/livez", "/readyz", "/metrics", "/admin/config"):
            assert (await call(app.url, "GET", path)).status == 404
            assert (await call(app.url, "GET", path)).cache
    assert upstream.calls == 8


async def test_the_version_is_told(proxy: StartProxy) -> None:
    async with proxy() as app:
        assert (await call(app.admin_url, "GET", "/version")).json()["version"] == __version__


async def test_metrics_are_for_prometheus(proxy: StartProxy) -> None:
    async with proxy() as app:
        for _ in range(2):
            await ask(app.url)
        page = await call(app.admin_url, "GET", "/metrics")
    assert (page.header("Content-Type") or "").startswith("text/plain; version=")
    lines = page.body.decode().splitlines()
    assert 'reprise_requests_total{cache="exact",operation="chat",status_class="2xx"} 1.0' in lines
    assert "reprise_entries 1.0" in lines


@pytest.mark.parametrize(("method", "path"), PROTECTED)
@pytest.mark.parametrize("shown", [None, "", "Bearer ", "Bearer \xe9", f"Basic {TOKEN}"])
async def test_nothing_is_changed_or_shown_without_the_token(
    proxy: StartProxy, method: str, path: str, shown: str | None
) -> None:
    fields = [] if shown is None else [("Authorization", shown)]
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        refused = await call(app.admin_url, method, path, fields=fields, body=b'{"all": true}')
        assert refused.status == 401
        assert figure(app, "entries") == 1


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_without_a_configured_token_nothing_is_allowed(
    proxy: StartProxy, method: str, path: str
) -> None:
    async with proxy() as app:
        for fields in ([], [("Authorization", "Bearer ")]):
            refused = await call(app.admin_url, method, path, fields=fields, body=b"{}")
            assert refused.status == 403
            assert "admin.token" in refused.json()["error"]["message"]


async def test_the_configuration_is_shown_without_secrets(proxy: StartProxy) -> None:
    async with proxy(SETTINGS + "\ntenancy: {secret: hush-hush-hush-hush-hush-hush-hush}") as app:
        shown = await admin(app, "GET", "/admin/config")
    assert shown.json()["admin"]["token"] == "***"
    assert b"hush" not in shown.body


async def test_a_reload_without_a_file_changes_nothing(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        told = await admin(app, "POST", "/admin/reload", b"")
    assert told.status == 200
    assert told.json() == {
        "applied": False,
        "unchanged": True,
        "problems": [],
        "restart_required": [],
    }


async def fill(app: App) -> None:
    """Six entries: two models, two namespaces, two tags, two callers."""
    await ask(app.url, question("1", model="gpt-a"))
    await ask(app.url, question("2", model="gpt-b"))
    await ask(app.url, question("3"), fields=[("x-cache-namespace", "blau")])
    await ask(app.url, question("4"), fields=[("x-cache-tags", "docs, v1")])
    await ask(app.url, question("5"), fields=[("x-cache-tags", "v2,docs")])
    await ask(app.url, question("6"), key="key-b")
    assert figure(app, "entries") == 6


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        (b'{"all": true}', 6),
        (b'{"model": "gpt-*"}', 2),
        (b'{"model": "gpt-a"}', 1),
        (b'{"namespace": "blau"}', 1),
        (b'{"tag": "docs"}', 2),
        (b'{"tag": "v2"}', 1),
        (b'{"tag": "docs", "model": "gpt-a"}', 0),
        (b'{"tag": "doc"}', 0),
        (b'{"tenant": "000000000000"}', 0),
    ],
)
async def test_a_purge_takes_what_its_selector_names(
    proxy: StartProxy, selector: bytes, count: int
) -> None:
    async with proxy(SETTINGS) as app:
        await fill(app)
        assert await purge(app, selector) == (200, count)
        assert figure(app, "entries") == 6 - count
        assert await purge(app, selector) == (200, 0)


async def test_a_tenant_is_purged_by_its_name_in_the_log(proxy: StartProxy) -> None:
    log: list[bytes] = []
    async with proxy(SETTINGS, log=log) as app:
        await fill(app)
        await until(lambda: b"".join(log).count(b'"request"') == 6)
        tenant = b"".join(log).rpartition(b'"tenant":"')[2].partition(b'"')[0]
        assert await purge(app, b'{"tenant": "%b"}' % tenant) == (200, 1)
        assert not (await ask(app.url, question("6"), key="key-b")).is_hit
        assert (await ask(app.url, question("1", model="gpt-a"))).is_hit


async def test_one_entry_is_deleted_by_the_id_that_a_hit_tells(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        await fill(app)
        hit = await ask(app.url, question("2", model="gpt-b"))
        path = f"/admin/entries/{hit.header('x-cache-entry')}"
        assert (await admin(app, "DELETE", path)).json() == {"purged": 1}
        assert not (await ask(app.url, question("2", model="gpt-b"))).is_hit
        assert (await admin(app, "DELETE", path)).status == 404
        assert (await ask(app.url, question("1", model="gpt-a"))).is_hit


async def test_a_soft_purge_leaves_a_fallback(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(SETTINGS, clock=clock) as app:
        await ask(app.url)
        clock.advance(5)
        assert await purge(app, b'{"all": true, "soft": true}') == (200, 1)
        upstream.will(error_reply(500))
        fallback = await ask(app.url)
        assert (fallback.text, fallback.is_hit) == ("answer 1", True)
        assert (await ask(app.url)).text == "answer 3"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"no json",
        b'{"all": false}',
        b'{"all": true, "model": "m1"}',
        b'{"model": ""}',
        b'{"model": 7}',
        b'{"mdoel": "m1"}',
        b'{"soft": true}',
    ],
)
async def test_an_unclear_purge_purges_nothing(proxy: StartProxy, body: bytes) -> None:
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        answer = await admin(app, "POST", "/admin/purge", body)
        assert answer.status == 400
        assert "Nothing was purged" in answer.json()["error"]["message"]
        assert figure(app, "entries") == 1


async def test_a_kept_connection_serves_many_scrapes(proxy: StartProxy) -> None:
    async with proxy() as app, connect(app.admin_url) as client:
        for _ in range(3):
            assert (await client.ask("GET", "/metrics")).status == 200


@pytest.mark.parametrize(
    ("path", "fields"), [("/readyz?verbose", []), ("/readyz", [("Accept", "application/json")])]
)
async def test_readiness_is_told_in_detail(
    proxy: StartProxy, path: str, fields: list[tuple[str, str]]
) -> None:
    async with proxy() as app:
        told = (await call(app.admin_url, "GET", path, fields=fields)).json()
    assert (told["state"], told["parts"]["semantic"]) == ("ok", "off")
    assert told["tasks"]["watch-lag"].keys() == {"age", "every", "deaths", "late"}
