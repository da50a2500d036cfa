"""Purges by prefix and on trial, epochs of models, and who did it (E8)."""

import json
from typing import Any

import pytest

from proxy.app import App
from tests.admin.test_routes import SETTINGS, TOKEN, admin, purge
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask, call, question
from tests.fakes.clock import FakeClock
from tests.fakes.persistence import in_common
from tests.fakes.upstream import ScriptedUpstream, error_reply
from tests.watch import figure, until


async def epoch(app: App, **members: Any) -> Answer:
    """Another epoch for some models."""
    return await admin(app, "POST", "/admin/epoch", json.dumps(members).encode())


async def test_prefixes_name_what_begins_so(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        for number in range(3):
            fields = [
                ("x-cache-tags", f"product-{number},all"),
                ("x-cache-namespace", f"n{number}"),
            ]
            await ask(app.url, question(f"Q{number}"), fields=fields)
        await ask(app.url)
        assert await purge(app, b'{"tag": "product-[01]", "namespace": "n*"}') == (200, 2)
        assert await purge(app, b'{"namespace": "n*"}') == (200, 1)
        assert figure(app, "entries") == 1


async def test_a_dry_run_tells_what_would_go_and_changes_nothing(
    proxy: StartProxy, clock: FakeClock
) -> None:
    async with proxy(SETTINGS, clock=clock) as app:
        for model in ("m1", "m1", "m2"):
            await ask(app.url, question(f"{model}{clock.now()}", model=model))
            clock.advance(1)
        await ask(app.url, question(model="m2"), key="key-b")
        told = (await admin(app, "POST", "/admin/purge", b'{"all": true, "dry_run": true}')).json()
        assert (told["purged"], told["would_purge"], told["models"]) == (0, 4, {"m1": 2, "m2": 2})
        assert sorted(told["tenants"].values()) == [1, 3]
        tenant = next(name for name, count in told["tenants"].items() if count == 1)
        body = json.dumps({"tenant": tenant, "dry_run": True, "soft": True}).encode()
        assert (await admin(app, "POST", "/admin/purge", body)).json()["models"] == {"m2": 1}
        assert figure(app, "entries") == 4
        assert (await admin(app, "GET", "/admin/audit")).json() == {"audit": []}


async def test_an_epoch_leaves_what_was_stored_behind_and_back_to_none_finds_it(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    """B05: after the change a miss, answered anew; taken back, the old answer again."""
    async with proxy(SETTINGS) as app:
        assert (await ask(app.url)).text == "answer 1"
        await ask(app.url, question(model="other"))
        told = (await epoch(app, model="m?")).json()
        assert len(told["epoch"]) == 16
        assert (await ask(app.url)).text == "answer 3"
        assert (await ask(app.url)).is_hit
        assert (await ask(app.url, question(model="other"))).is_hit
        assert (await epoch(app, model="m?")).json()["epoch"] != told["epoch"]
        assert not (await ask(app.url)).is_hit
        assert (await epoch(app, model="m?", epoch=told["epoch"])).status == 200
        assert (await ask(app.url)).text == "answer 3"
        assert (await epoch(app, model="m?", epoch="")).json() == {"model": "m?", "epoch": ""}
        again = await ask(app.url)
    assert (again.text, again.is_hit) == ("answer 1", True)


async def test_an_epoch_outlives_a_reload_and_is_listed(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with proxy(SETTINGS, clock=clock) as app:
        await epoch(app, model="m*", epoch="e1")
        await epoch(app, model="x", epoch="e2")
        await ask(app.url)
        app.apply(app.reloader.current)
        assert (await ask(app.url)).is_hit
        told = (await admin(app, "GET", "/admin/epochs")).json()["epochs"]
    assert [(one["model"], one["epoch"], one["by"]) for one in told] == [
        ("x", "e2", "127.0.0.1"),
        ("m*", "e1", "127.0.0.1"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"{}", b'{"model": ""}', b'{"model": 1}', b'{"model": "m", "epoch": 1}'),
        *(b'{"model": "m", "forward": 1}', b'{"model": "m", "soft": true}'),
        json.dumps({"model": "m", "epoch": "x" * 257}).encode(),
    ],
)
async def test_an_epoch_that_is_unclear_changes_nothing(proxy: StartProxy, body: bytes) -> None:
    async with proxy(SETTINGS) as app:
        told = await admin(app, "POST", "/admin/epoch", body)
        assert told.status == 400
        assert told.json()["error"]["message"].startswith("Nothing was changed: ")
        assert (await admin(app, "GET", "/admin/epochs")).json() == {"epochs": []}


async def test_who_did_what_is_kept_and_logged(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    log: list[bytes] = []
    async with proxy(SETTINGS, log=log) as app:

        async def act(method: str, path: str, body: bytes | None, who: str) -> int:
            fields = [("Authorization", f"Bearer {TOKEN}"), ("X-Actor", who)]
            answer = await call(app.admin_url, method, path, fields=fields, body=body)
            return answer.status

        names = []
        for number in range(3):
            await ask(app.url, question(f"Q{number}"))
            names.append((await ask(app.url, question(f"Q{number}"))).header("x-cache-entry"))
        said = json.dumps({"entry": names[0], "verdict": "wrong"}).encode()
        assert await act("POST", "/admin/feedback", said, "ann") == 200
        assert await act("DELETE", f"/admin/entries/{names[1]}", None, "bob") == 200
        assert await act("POST", "/admin/purge", b'{"model": "m*", "soft": true}', "  ") == 200
        assert await act("POST", "/admin/epoch", b'{"model": "m", "epoch": "e"}', "d" * 500) == 200
        assert await act("POST", "/admin/purge", b"{}", "nobody") == 400
        told = (await admin(app, "GET", "/admin/audit?limit=10")).json()["audit"]
        assert (await admin(app, "GET", "/admin/audit?limit=x")).status == 400
    for one in told:
        del one["time"]
    assert told == [
        {"action": "epoch", "by": "d" * 128, "model": "m", "epoch": "e"},
        {
            "action": "purge",
            "by": "127.0.0.1",
            "selector": {"model": "m*"},
            "soft": True,
            "count": 1,
        },
        {
            "action": "purge",
            "by": "bob",
            "selector": {"entry": names[1]},
            "soft": False,
            "count": 1,
        },
        {"action": "feedback", "by": "ann", "entry": names[0], "verdict": "wrong"},
    ]
    lines = [json.loads(line) for line in log if b'"audit"' in line]
    assert [line["by"] for line in lines] == [one["by"] for one in reversed(told)]
    assert TOKEN.encode() not in b"".join(log)


async def test_no_cache_no_store_and_a_purge_get_a_bad_answer_out(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    """B46."""
    async with proxy(SETTINGS) as app:
        await ask(app.url)
        fresh = await ask(app.url, fields=[("Cache-Control", "no-cache")])
        assert (fresh.text, (await ask(app.url)).text) == ("answer 2", "answer 2")
        apart = await ask(app.url, fields=[("Cache-Control", "no-store")])
        assert (apart.text, (await ask(app.url)).text) == ("answer 3", "answer 2")
        told = (await admin(app, "POST", "/admin/purge", b'{"all": true, "dry_run": true}')).json()
        body = json.dumps({"tenant": next(iter(told["tenants"]))}).encode()
        assert await purge(app, body) == (200, 1)
        assert (await ask(app.url)).text == "answer 4"


async def test_epochs_purges_and_who_asked_for_them_reach_replicas(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_common(monkeypatch)
    log: list[bytes] = []
    settings = SETTINGS + "\nttl: {errors: 60s}"
    async with proxy(settings) as one, proxy(settings, log=log) as other:
        await ask(one.url)
        await epoch(one, model="m*", epoch="e")
        await until(lambda: other._handler.pipeline.rules.epochs == (("m*", "e"),))
        assert not (await ask(other.url)).is_hit
        upstream.will(error_reply(400))
        await ask(other.url, question("bad"))
        assert figure(other, "refusals") == 1
        await purge(one, b'{"model": "m*"}')
        await until(lambda: not figure(other, "refusals"))
        told = (await admin(other, "GET", "/admin/audit")).json()["audit"]
    assert [(record["action"], record["by"]) for record in told] == [
        ("purge", "127.0.0.1"),
        ("epoch", "127.0.0.1"),
    ]
    assert not any(b'"audit"' in line for line in log)


async def test_epochs_and_the_audit_list_outlive_a_restart(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_common(monkeypatch)
    async with proxy(SETTINGS) as app:
        await epoch(app, model="m*", epoch="e")
        await ask(app.url)
        await purge(app, b'{"tag": "none"}')
    async with proxy(SETTINGS) as app:
        await until(lambda: figure(app, "entries") == 1)
        assert (await ask(app.url)).is_hit
        listed = (await admin(app, "GET", "/admin/epochs")).json()["epochs"]
        told = (await admin(app, "GET", "/admin/audit")).json()["audit"]
        await epoch(app, model="m*", epoch="")
        assert not (await ask(app.url)).is_hit
    assert [one["epoch"] for one in listed] == ["e"]
    assert [record["action"] for record in told] == ["purge", "epoch"]
    assert upstream.calls == 2
