"""A real Prometheus scrapes a proxy under load, and every panel of the dashboard has data."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import unused_port

from proxy.app import App
from proxy.k8s.injection import OUTCOMES, result_of
from proxy.pipeline.chain import FEEDBACK_PATH
from proxy.telemetry.admissions import Admissions
from tests.conftest import StartProxy
from tests.fakes.client import ask, call, posting, question
from tests.fakes.redis import running_redis
from tests.fakes.semantic import NEAR, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream, error_reply
from tests.helm.expressions import RULES, panels
from tests.outside.helm.prometheus import PROMETHEUS
from tests.pipeline.level import ASKED, STORED
from tests.watch import figure, until

DEADLINE = 25.0
VALUES = {
    "$__rate_interval": "5s",
    "$__range": "20s",
    "$input_price": "2.5",
    "$output_price": "10",
}


@asynccontextmanager
async def prometheus(directory: Path, *targets: str) -> AsyncIterator[str]:
    """Its URL. It scrapes each second, and has our rules with every interval a second."""
    content = yaml.safe_load(RULES.read_text("utf-8"))
    for group in content["groups"]:
        group["interval"] = "1s"
    (directory / "rules.yaml").write_text(yaml.safe_dump(content))
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    job = {"job_name": "reprise", "static_configs": [{"targets": targets}]}
    settings = {"global": every, "rule_files": ["rules.yaml"], "scrape_configs": [job]}
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{unused_port()}"
    process = await asyncio.create_subprocess_exec(
        PROMETHEUS,
        f"--config.file={directory / 'prometheus.yaml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address={address}",
        "--enable-feature=exemplar-storage",
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://{address}"
    try:
        async with asyncio.timeout(DEADLINE):
            while not await is_ready(url):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def is_ready(url: str) -> bool:
    """Whether it listens, and has read what it has."""
    try:
        return (await call(url, "GET", "/-/ready")).status == 200
    except ConnectionError:
        return False


@asynccontextmanager
async def injector() -> AsyncIterator[str]:
    """The address of something that exposes what the injector does."""
    admissions = Admissions((result_of(one), one.value) for one in OUTCOMES)
    admissions.set_not_after(4e9)

    async def metrics(_request: web.Request) -> web.Response:
        admissions.count("injected", "native", 0.001)
        return web.Response(body=admissions.exposition())

    application = web.Application()
    application.router.add_get("/metrics", metrics)
    runner = web.AppRunner(application)
    await runner.setup()
    port = unused_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def load(app: App, upstream: ScriptedUpstream) -> None:
    """All that a dashboard could show, again and again."""
    await until(lambda: b"reprise_encoders_ready 1.0" in app.exposition())
    for number in count():
        key = f"key-{number}"
        for text in (STORED, STORED, f"{STORED} {number} times?", ASKED):
            await ask(app.url, question(text), key=key)
            figure(app, "entries")  # a look settles what waits to be stored
        answer = await ask(app.url, question(ASKED), key=key)
        told = {"entry": answer.header("x-cache-entry"), "question": ASKED, "verdict": "wrong"}
        said = json.dumps(told).encode()
        await call(app.url, "POST", FEEDBACK_PATH, fields=posting(key), body=said)
        upstream.will(error_reply(500))
        await ask(app.url, question(f"Is {number} a prime?"))
        hurried = (("Cache-Control", "only-if-cached"),)
        await ask(app.url, question(f"New: {number}"), fields=hurried)
        await asyncio.sleep(0.05)  # there is enough


async def shown(url: str, expression: str) -> int:
    """How many series a query has now."""
    for name, value in VALUES.items():
        expression = expression.replace(name, value)
    expression = re.sub(r'=~"\$[a-z]+"', '=~".*"', expression)
    if "reprise_redis_failures_total" in expression:
        # Redis is well here. The panel shows troubles only, but the series are there.
        expression = expression.removesuffix(" > 0")
    answer = await call(url, "GET", f"/api/v1/query?query={quote(expression)}")
    told = answer.json()
    assert told["status"] == "success", (expression, told)
    return len(told["data"]["result"])


async def test_every_panel_shows_something(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    comparing_by_words(monkeypatch)
    queries = {(one["title"], target["expr"]) for one in panels() for target in one["targets"]}
    async with running_redis() as server, injector() as pods:
        persist = (
            f"persist: {{disk: {{path: {tmp_path / 'data'}}}, "
            f"redis: {{url: '{server.url}', snapshot_every: 1s}}}}"
        )
        async with proxy(f"{NEAR}\n{persist}") as app, asyncio.TaskGroup() as group:
            working = group.create_task(load(app, upstream))
            address = app.admin_url.partition("://")[2]
            async with prometheus(tmp_path, address, pods) as url:
                try:
                    async with asyncio.timeout(DEADLINE):
                        while queries := {one for one in queries if not await shown(url, one[1])}:  # noqa: ASYNC110 - another process
                            await asyncio.sleep(0.5)
                except TimeoutError:
                    pytest.fail(f"no data for {sorted(queries)}")
                finally:
                    working.cancel()
