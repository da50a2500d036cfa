"""The calls to the Kubernetes API, against a server that answers in its way."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from proxy.clock import SystemClock
from proxy.k8s.cluster import (
    FIELD_MANAGER,
    MAX_BYTES,
    Conflict,
    Forbidden,
    NoCluster,
    NotFound,
    Refused,
    Unreachable,
    cluster_around,
    decoded,
    encoded,
)
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import CONFIGURATIONS, Asked, FakeCluster

ENTRIES = {"tls.crt": b"one", "tls.key": b"two"}


@pytest.fixture
async def api(tmp_path: Path, clock: FakeClock) -> AsyncIterator[FakeCluster]:
    async with FakeCluster(tmp_path / "account", clock=clock) as server:
        yield server


async def test_a_secret_is_created_read_and_replaced(api: FakeCluster) -> None:
    cluster = api.client()
    with pytest.raises(NotFound, match='get secrets "tls" in namespace "reprise"'):
        await cluster.secret("reprise", "tls")
    new = {
        "metadata": {"name": "tls"},
        "type": "kubernetes.io/tls",
        "data": {name: encoded(value) for name, value in ENTRIES.items()},
    }
    created = await cluster.create_secret("reprise", "tls", new)
    assert await cluster.secret("reprise", "tls") == created
    assert api.entries("tls") == ENTRIES
    changed = await cluster.update_secret(
        "reprise", "tls", created | {"data": created["data"] | {"tls.key": encoded(b"three")}}
    )
    assert api.entries("tls") == ENTRIES | {"tls.key": b"three"}
    assert changed["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]
    assert api.managers == {FIELD_MANAGER}


async def test_who_is_second_is_told(api: FakeCluster) -> None:
    cluster = api.client()
    api.set_entries("tls", ENTRIES)
    read = await cluster.secret("reprise", "tls")
    with pytest.raises(Conflict, match="already exists"):
        await cluster.create_secret(
            "reprise", "tls", {"metadata": {"name": "tls"}, "data": read["data"]}
        )
    api.set_entries("tls", ENTRIES | {"other": b""})
    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.update_secret("reprise", "tls", read)
    api.configure("injector", "one")
    configuration = await cluster.webhook_configuration("injector")
    api.set_bundle("injector", b"another")
    with pytest.raises(Conflict):
        await cluster.patch_webhook_configuration(
            "injector",
            {"metadata": {"resourceVersion": configuration["metadata"]["resourceVersion"]}},
        )


async def test_a_patch_is_merged_by_the_names_of_webhooks(api: FakeCluster) -> None:
    api.configure("injector", "one", "two")
    before = api.configurations["injector"]
    patched = await api.client().patch_webhook_configuration(
        "injector", {"webhooks": [{"name": "two", "clientConfig": {"caBundle": encoded(b"ca")}}]}
    )
    assert api.bundles("injector") == [b"", b"ca"]
    assert [webhook["sideEffects"] for webhook in patched["webhooks"]] == ["None", "None"]
    assert patched["webhooks"][0] == before["webhooks"][0]
    assert api.calls == [Asked("patch", CONFIGURATIONS, "injector")]


@pytest.mark.parametrize("verb", ["get", "create", "update"])
async def test_a_missing_right_is_named(api: FakeCluster, verb: str) -> None:
    api.forbidden = {(verb, "secrets")}
    cluster = api.client()
    calls = {
        "get": lambda: cluster.secret("reprise", "tls"),
        "create": lambda: cluster.create_secret("reprise", "tls", {}),
        "update": lambda: cluster.update_secret("reprise", "tls", {}),
    }
    with pytest.raises(Forbidden) as caught:
        await calls[verb]()
    told = f'the service account may not {verb} secrets "tls" in namespace "reprise"'
    assert str(caught.value) == told


async def test_what_is_invalid_is_refused_with_the_servers_words(api: FakeCluster) -> None:
    api.configure("injector", "one")
    with pytest.raises(Refused, match="sideEffects: Required value"):
        await api.client().patch_webhook_configuration(
            "injector", {"metadata": {}, "webhooks": [{"name": "no such", "clientConfig": {}}]}
        )


async def test_names_stay_within_their_part_of_the_path(api: FakeCluster) -> None:
    with pytest.raises(NotFound):
        await api.client().secret("reprise", "../../pods")
    assert api.calls == [Asked("get", "secrets", "../../pods")]


async def test_the_token_is_read_anew_for_each_call(api: FakeCluster) -> None:
    cluster = api.client()
    api.set_entries("tls", ENTRIES)
    await cluster.secret("reprise", "tls")
    api.token = "token-2"
    with pytest.raises(Unreachable, match="token"):
        await cluster.secret("reprise", "tls")
    await asyncio.to_thread((api.account / "token").write_text, "token-2\n")
    await cluster.secret("reprise", "tls")


async def test_a_server_by_another_authority_is_sent_no_token(api: FakeCluster) -> None:
    await asyncio.to_thread(trustme.CA().cert_pem.write_to_path, api.account / "ca.crt")
    with pytest.raises(Unreachable, match="certificate"):
        await api.client().secret("reprise", "tls")
    assert not api.calls


async def test_without_an_account_nothing_is_asked(api: FakeCluster) -> None:
    await asyncio.to_thread(shutil.rmtree, api.account)
    with pytest.raises(Unreachable, match="token"):
        await api.client().secret("reprise", "tls")


async def test_nobody_there_is_out_of_reach(api: FakeCluster) -> None:
    await api.stop()
    with pytest.raises(Unreachable, match="takes no connection"):
        await api.client().secret("reprise", "tls")


async def test_a_slow_answer_is_none(api: FakeCluster) -> None:
    api.before = lambda _: asyncio.Event().wait()
    with pytest.raises(Unreachable, match="in time"):
        await api.client(deadline=0.1).secret("reprise", "tls")


async def test_an_answer_that_is_cut_is_none(api: FakeCluster) -> None:
    api.is_cut = True
    with pytest.raises(Unreachable, match="broke off"):
        await api.client().secret("reprise", "tls")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (web.Response(status=503, text="no leader"), "status 503"),
        (web.Response(status=429), "status 429"),
        (web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"}), "status 302"),
        (web.Response(text="<html>"), "no object"),
        (web.json_response(["no object"]), "no object"),
        (web.Response(body=b" " * (MAX_BYTES + 1)), "too long"),
    ],
)
async def test_an_answer_that_is_not_the_api_servers_is_none(
    api: FakeCluster, answer: web.Response, told: str
) -> None:
    api.answer_with = answer
    with pytest.raises(Unreachable, match=told):
        await api.client().secret("reprise", "tls")


async def test_a_refusal_without_a_status_is_one_all_the_same(api: FakeCluster) -> None:
    api.answer_with = web.Response(status=409, text="<html>")
    with pytest.raises(Conflict, match="409"):
        await api.client().secret("reprise", "tls")


async def test_the_servers_clock_is_known_from_its_answers(
    api: FakeCluster, clock: FakeClock
) -> None:
    ahead = FakeClock(clock.now() + 500)
    cluster = api.client(clock=ahead)
    assert cluster.skew == 0
    with pytest.raises(NotFound):
        await cluster.secret("reprise", "tls")
    assert cluster.skew == pytest.approx(-500, abs=1)


@pytest.mark.parametrize("date", ["", "rubbish", "Mon, 99 Foo 2026 00:00:00 GMT"])
async def test_a_date_that_is_none_is_not_believed(api: FakeCluster, date: str) -> None:
    api.tells_time = False
    api.answer_with = web.json_response({}, headers={"Date": date})
    cluster = api.client()
    await cluster.secret("reprise", "tls")
    assert cluster.skew == 0


@pytest.mark.parametrize(
    ("host", "url"), [("10.0.0.1", "10.0.0.1:6443"), ("fd00::1", "[fd00::1]:6443")]
)
def test_the_environment_of_a_pod_says_where_it_is(tmp_path: Path, host: str, url: str) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443"}
    cluster = cluster_around(environment, account=tmp_path, clock=SystemClock())
    assert cluster.origin == f"https://{url}"


@pytest.mark.parametrize(
    "environment",
    [{}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1"}],
)
def test_elsewhere_there_is_no_cluster(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(NoCluster, match="KUBERNETES_SERVICE_HOST"):
        cluster_around(environment, account=tmp_path, clock=SystemClock())


async def test_an_ipv6_address_is_called(tmp_path: Path, clock: FakeClock) -> None:
    async with FakeCluster(tmp_path / "account", clock=clock, host="::1") as api:
        cluster = cluster_around(api.environment, account=api.account, clock=clock)
        with pytest.raises(NotFound):
            await cluster.secret("reprise", "tls")


@pytest.mark.parametrize("value", [None, 7, "%", "====", "ä"])
def test_what_is_no_base64_is_empty(value: object) -> None:
    assert decoded(value) == b""
    assert decoded(encoded(b"\x00")) == b"\x00"
