"""docs/metrics.md is what the code says, and has all that a running proxy exposes."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as as_openmetrics
from prometheus_client.parser import text_string_to_metric_families as as_text

from proxy.core.meaning.uncompared import Uncompared
from proxy.k8s.injection import OUTCOMES, result_of
from proxy.telemetry.admissions import Admissions
from proxy.telemetry.catalog import CATALOG
from proxy.telemetry.catalog_injector import INJECTOR
from proxy.telemetry.described import Named
from proxy.telemetry.exposition import OPENMETRICS
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask, call, question
from tests.fakes.process import ProxyProcess
from tests.fakes.redis import running_redis
from tests.fakes.semantic import NEAR, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream
from tests.metrics_reference import PATH, document
from tests.watch import DEADLINE, figure, until

LAZY = "{model: all-minilm-l6-v2, scripts: [latin, other], load: lazy, threads: 1}"


def check(text: str) -> set[str]:
    """The names of all families; each is as the catalogue says."""
    found = set()
    for family in as_text(text):
        described = CATALOG[family.name]
        assert (family.type, family.documentation) == (described.kind, described.meaning)
        for sample in family.samples:
            labels = {name: sample.labels[name] for name in sample.labels if name != "le"}
            assert labels.keys() - {"worker"} == described.labels.keys(), family.name
            for name in described.labels:
                values = described.labels[name]
                assert isinstance(values, Named) or labels[name] in values, (family.name, labels)
        found.add(family.name)
    return found


def test_the_page_is_current() -> None:
    assert PATH.read_text("utf-8") == document(), "run python -m tests.metrics_reference"


async def test_all_that_a_proxy_exposes_is_described(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = comparing_by_words(monkeypatch)
    async with running_redis() as server:
        persist = f"persist: {{disk: {{path: {tmp_path}}}, redis: {{url: '{server.url}'}}}}"
        tracing = "tracing: {endpoint: 'http://127.0.0.1:9'}"
        async with proxy(f"{NEAR}\n{persist}\n{tracing}") as app:
            await until(lambda: b"reprise_encoders " in app.exposition())
            for text in ("How do I boil an egg at home?", "How do I boil an egg at home now?"):
                await ask(app.url, question(text))
                figure(app, "entries")  # a look settles what waits to be stored
                await ask(app.url, question(text))
            encoder.refusal = Uncompared.BUSY
            await ask(app.url, question("Something else?"))
            await until(lambda: figure(app, "redis_written_total"))
            text = app.exposition().decode()
            list(as_openmetrics(app.metrics.exposed(OPENMETRICS).body.decode()))  # type: ignore[no-untyped-call]  # it has no types
    left = {name.removeprefix("reprise_") for name in CATALOG.keys() - check(text)}
    injector = {described.family.removeprefix("reprise_") for described in INJECTOR}
    assert left == injector | {
        *("vectors_shared", "vectors_waiting", "vectors_left_out", "workers", "worker_restarts"),
    }


def test_all_that_the_injector_exposes_is_described() -> None:
    admissions = Admissions((result_of(one), one.value) for one in OUTCOMES)
    admissions.count("skipped", "windows", 0.1)
    found = check(admissions.exposition().decode())
    assert found == {described.family for described in INJECTOR}


async def test_all_that_several_workers_expose_is_described(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    async with running_redis() as server:
        settings = tmp_path / "reprise.yaml"
        settings.write_text(
            f"version: 1\nworkers: 2\nlisten: 127.0.0.1:0\nadmin: {{listen: 127.0.0.1:0}}\n"
            f"upstream: {upstream.url}\nsemantic: {{index: redis, encoders: [{LAZY}]}}\n"
            f"persist: {{disk: {{path: {tmp_path / 'data'}}}, redis: {{url: '{server.url}'}}}}\n"
        )
        async with ProxyProcess("serve", "--config", str(settings)) as process:
            await process.ready()
            assert not (await ask(process.url, question("Why?"))).is_hit
            names = {f"reprise_{name}" for name in ("vectors_shared", "workers", "entries")}
            async with asyncio.timeout(DEADLINE):
                while not names <= check((await scrape(process)).body.decode()):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.05)


async def scrape(process: ProxyProcess) -> Answer:
    return await call(process.admin_url, "GET", "/metrics")
