"""Every loop of a running app is killed, told of, counted and begun again (mission E9)."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from proxy.app import App
from proxy.config import Config, load
from proxy.telemetry.metrics import Metrics
from tests.conftest import StartProxy
from tests.fakes.client import ask, call
from tests.fakes.redis import RedisServer
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import DEADLINE, until

LOOPS = {
    *("watch-config", "watch-heartbeats", "watch-lag"),
    *("redis writer", "redis follower", "redis upkeep", "redis snapshots"),
}
"""There may be more; whatever there is, is killed."""


def events(log: list[bytes], name: str) -> list[dict[str, Any]]:
    """The log lines so far whose `event` is `name`."""
    return [line for line in map(json.loads, log) if line["event"] == name]


@contextlib.asynccontextmanager
async def running(
    settings: str, tmp_path: Path, upstream: ScriptedUpstream, log: list[bytes]
) -> AsyncIterator[App]:
    """An app with a file to watch, and with everything that has a loop."""
    file = tmp_path / "reprise.yaml"

    def configure() -> Config:
        file.write_text(settings)
        return load(
            file, upstream=upstream.url, listen="127.0.0.1:0", admin_listen="127.0.0.1:0", env={}
        )

    app = App(await asyncio.to_thread(configure), write=log.append, path=file)
    await app.start()
    try:
        yield app
    finally:
        await app.stop()


async def detail(app: App) -> dict[str, Any]:
    """What /readyz tells of the tasks."""
    answer = await call(app.admin_url, "GET", "/readyz?verbose")
    assert (answer.status, answer.json()["state"]) == (200, "ok")
    tasks: dict[str, Any] = answer.json()["tasks"]
    return tasks


async def metrics(app: App) -> list[str]:
    return (await call(app.admin_url, "GET", "/metrics")).body.decode().splitlines()


def work_of(name: str) -> set[asyncio.Task[Any]]:
    """What a loop runs in."""
    return {task for task in asyncio.all_tasks() if task.get_name() == name}


async def test_every_loop_that_is_killed_is_told_of_and_begun_again(
    tmp_path: Path,
    upstream: ScriptedUpstream,
    redis_server: RedisServer,
    redis_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proxy.tasks.FIRST_PAUSE", 0.01)
    settings = (
        "semantic: {enabled: false}\n"
        f"persist: {{disk: {{path: '{tmp_path}/disk'}}, "
        f"redis: {{url: '{redis_server.url}', prefix: {redis_prefix}}}}}\n"
    )
    log: list[bytes] = []
    async with running(settings, tmp_path, upstream, log) as app:
        async with asyncio.timeout(DEADLINE):
            while (await call(app.admin_url, "GET", "/readyz")).status != 200:
                pass
        names = sorted(await detail(app))
        assert set(names) >= LOOPS
        for name in names:
            (victim,) = work_of(name)
            victim.cancel()  # nobody but the keeper may end it, so this is a death
            await until(lambda victim=victim, name=name: work_of(name) - {victim})  # type: ignore[misc]  # mypy: a lambda's default
            died = [line for line in events(log, "background task died") if line["task"] == name]
            assert [line["level"] for line in died] == ["error"]
            assert f'reprise_task_deaths_total{{task="{name}"}} 1.0' in await metrics(app)
            assert (await ask(app.url)).status == 200
        told = await detail(app)
        assert {name: told[name]["deaths"] for name in names} == dict.fromkeys(names, 1)


async def test_a_loop_that_cannot_live_is_late_and_the_proxy_stays_ready(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.telemetry.lag.EVERY_SECONDS", 0.01)
    monkeypatch.setattr("proxy.telemetry.heartbeats.EVERY_SECONDS", 0.01)
    broken: list[OSError] = []

    def fail(metrics: Metrics, seconds: float) -> None:
        if broken:
            raise broken[0]

    monkeypatch.setattr(Metrics, "lag", fail)
    log: list[bytes] = []
    async with proxy(log=log) as app:
        broken.append(OSError("disk full"))
        await until(lambda: events(log, "background task died"))
        await until(lambda: events(log, "background task is late"))
        assert (await detail(app))["watch-lag"]["late"]
        assert (await call(app.admin_url, "GET", "/readyz")).body == b"ok\n"
        assert events(log, "background task died")[0]["error"] == "OSError"
        assert events(log, "background task is late")[0]["task"] == "watch-lag"
        broken.clear()
        await until(lambda: events(log, "background task is on time again"))
        assert not (await detail(app))["watch-lag"]["late"]
        assert len(events(log, "background task is late")) == 1
