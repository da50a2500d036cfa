"""`reprise inject serve` as real processes that keep their certificate with one API server."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from proxy.clock import SystemClock
from tests.fakes.client import call
from tests.fakes.cluster import FakeCluster
from tests.fakes.process import ProxyProcess
from tests.k8s.handshakes import shown, verifier
from tests.k8s.replicas import NAMES, PLACE
from tests.k8s.reviews import of_1_36

LISTEN = ("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
OWN = (
    *("--namespace", PLACE.namespace, "--tls-secret", PLACE.secret),
    *("--tls-service", PLACE.service, "--tls-webhook", PLACE.configuration),
)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeCluster]:
    async with FakeCluster(tmp_path / "account", clock=SystemClock()) as server:
        server.configure(PLACE.configuration, "by-namespace", "by-pod")
        yield server


def injector(api: FakeCluster) -> ProxyProcess:
    account = ("--service-account", str(api.account))
    return ProxyProcess(
        "inject", "serve", *LISTEN, *OWN, *account, environment=dict(api.environment)
    )


async def reviewed(process: ProxyProcess, api: FakeCluster) -> bytes:
    """Have it review a pod, as the API server does; the certificate that it shows, in DER."""
    [bundle, _] = api.bundles(PLACE.configuration)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=verifier(bundle))) as session,
        session.post(
            f"{process.url}/mutate?timeout=5s", json=of_1_36(), server_hostname=NAMES[0]
        ) as response,
    ):
        assert (await response.json())["response"]["allowed"]
    return await shown(int(process.url.rpartition(":")[2]), bundle, NAMES[0])


async def test_two_that_begin_at_once_serve_one_certificate_that_the_api_server_trusts(
    api: FakeCluster,
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        both = [injector(api), injector(api)]
        for process in both:
            await process.start()
            stack.push_async_callback(process.stop)
        for process in both:
            await process.listening()
            await process.ready()
        kept = ssl.PEM_cert_to_DER_cert(api.entries(PLACE.secret)["tls.crt"].decode())
        for process in both:
            assert await reviewed(process, api) == kept
            metrics = (await call(process.admin_url, "GET", "/metrics")).body.decode()
            told = await process.logged("certificate taken")
            name = "reprise_injector_certificate_not_after_timestamp_seconds"
            [line] = [line for line in metrics.splitlines() if line.startswith(f"{name} ")]
            assert float(line.split()[1]) == told["not_after"]
    assert [process.returncode for process in both] == [0, 0]
    # All lines are read when they have ended.
    assert [len(process.events("certificate taken")) for process in both] == [1, 1]
    assert sum(len(process.events("certificate written")) for process in both) == 1


async def test_it_waits_for_its_rights_and_names_the_one_that_is_missing(api: FakeCluster) -> None:
    api.forbidden = {("create", "secrets")}
    async with injector(api) as process:
        told = await process.logged("certificate upkeep is hindered")
        assert 'may not create secrets "injector-tls" in namespace "reprise"' in told["reason"]
        assert (await call(process.admin_url, "GET", "/readyz")).status == 503
        api.forbidden = set()
        await process.ready()
        await reviewed(process, api)


async def test_outside_of_a_pod_it_says_what_is_missing() -> None:
    process = ProxyProcess("inject", "serve", *LISTEN, *OWN)
    await process.start()
    assert await process.wait() == 2
    assert "KUBERNETES_SERVICE_HOST" in process.stderr
    await process.stop()
