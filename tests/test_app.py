"""What the composition root joins."""

import asyncio
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from proxy.app import App
from proxy.config import Config, load
from proxy.pipeline.record import Recorder
from proxy.semantic import models
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import ask, call, question
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import NEAR, FakeLevel, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream, json_reply
from tests.pipeline.level import ASKED, STORED
from tests.watch import figure, until


async def test_models_go_to_the_upstream_that_names_them(proxy: StartProxy) -> None:
    async with ScriptedUpstream() as small, ScriptedUpstream() as rest:
        settings = (
            f"upstreams:\n  - {{url: '{small.url}', models: ['tiny-*', mini]}}\n"
            f"  - {{url: '{rest.url}'}}\n"
        )
        async with proxy(settings, upstream=None) as app:
            for model in ("tiny-1", "mini", "minor", "大模型"):
                await ask(app.url, question(model=model))
            await ask(app.url, question(model="tiny-2"), path="/v1/rerank")
            await ask(app.url, b"no json")
    assert [seen.json()["model"] for seen in small.requests] == ["tiny-1", "mini", "tiny-2"]
    assert rest.calls == 3


async def test_a_route_overrides_what_it_names(proxy: StartProxy) -> None:
    settings = (
        "routes:\n"
        "  - {match: {model: 'never-*'}, bypass: {models: ['*']}}\n"
        "  - {match: {header: {x-app: batch}}, policy: {epoch: other}}\n"
    )
    async with proxy(settings) as app:
        never = question(model="never-1")
        assert [(await ask(app.url, never)).is_hit for _ in range(2)] == [False, False]
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
        batch = [("x-app", "batch")]
        assert [(await ask(app.url, fields=batch)).is_hit for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [("max_entries: 5", 5), ("max_bytes: 8KiB", 8), ("max_entries: 100", 20)],
)
async def test_memory_is_bounded_and_the_least_used_goes_first(
    proxy: StartProxy, bounds: str, kept: int
) -> None:
    async with proxy(f"memory: {{{bounds}}}") as app:
        for number in range(20):
            await ask(app.url, question(f"Q{number}"))
            assert figure(app, "entries") > 0  # a look settles what waits to be stored
            await ask(app.url, question("Q0"))
        assert figure(app, "entries") <= kept
        assert figure(app, "store_bytes") <= 8192 or kept != 8
        assert figure(app, "evictions_total") == 20 - figure(app, "entries")
        assert (await ask(app.url, question("Q0"))).is_hit
        assert (await ask(app.url, question("Q19"))).is_hit
        assert (await ask(app.url, question("Q1"))).is_hit == (kept == 20)


async def test_figures_are_at_rest_when_nothing_happens(proxy: StartProxy) -> None:
    async with proxy() as app:
        await ask(app.url)
        for name in ("in_flight_requests", "flights"):
            assert figure(app, name) == 0
        assert figure(app, "entries") == 1


def config(tmp_path: Path, upstream: ScriptedUpstream, settings: str) -> Config:
    file = tmp_path / "reprise.yaml"
    file.write_text(settings)
    loaded = load(
        file, upstream=upstream.url, listen="127.0.0.1:0", admin_listen="127.0.0.1:0", env={}
    )
    return replace(loaded, static=replace(loaded.static, disk_enabled=False))


async def test_a_reload_takes_over_every_bound(
    tmp_path: Path, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async def prepare(settings: str) -> Config:
        return await asyncio.to_thread(config, tmp_path, upstream, settings)

    before = await prepare("ttl: {exact: 100s, jitter: 0}\nsemantic: {enabled: false}")
    after = await prepare(
        "ttl: {exact: 50s, jitter: 0, stale_if_error: 0s}\nlog: {level: warning}\n"
        "memory: {max_entries: 2, max_entry_bytes: 2KiB}\nlimits: {max_body_bytes: 4KiB}\n"
        "semantic: {enabled: false}"
    )
    log: list[bytes] = []
    app = App(before, write=log.append, load=lambda: after, clock=clock)
    await app.start()
    try:
        for number in range(4):
            await ask(app.url, question(f"Q{number}"))
        clock.advance(40)
        assert (await app.reloader.reload("admin")).applied
        assert figure(app, "entries") == 2
        assert (await ask(app.url, question("Q3"))).cache == "reprise; hit; ttl=10; detail=exact"
        log.clear()
        clock.advance(20)
        assert not (await ask(app.url, question("Q3"))).is_hit
        upstream.will(json_reply(chat_answer("x" * 3000)))
        for _ in range(2):
            assert not (await ask(app.url, question("large"))).is_hit
            await until(lambda: not figure(app, "flights"))
            upstream.will(json_reply(chat_answer("x" * 3000)))
        assert (await ask(app.url, question("x" * 5000))).status == 413
        assert log == []
    finally:
        await app.stop()


@pytest.mark.parametrize(("stream", "task"), [(False, "flight"), (True, "record")])
async def test_a_background_task_that_dies_is_told_of_and_harms_nobody(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,
    task: str,
) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise RuntimeError("a mistake")

    body = question(stream=stream)
    log: list[bytes] = []
    async with proxy(log=log) as app:
        with monkeypatch.context() as patch:
            patch.setattr(Recorder, "_judge", fail)
            assert (await ask(app.url, body)).text == "answer 1"
            await until(lambda: b"background task died" in b"".join(log))
        died = f'reprise_task_errors_total{{task="{task}"}} 1.0'
        assert died.encode() in app.exposition()
        assert (await ask(app.url, body)).text == "answer 2"
        assert figure(app, "flights") == 0


class Slow:
    """A level whose encoders load until they are told to be there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end = asyncio.Event()
        may_end = self.may_end

        class Level(FakeLevel):
            async def loaded(self) -> None:
                await may_end.wait()

        self.encoder = comparing_by_words(monkeypatch)
        monkeypatch.setattr(
            sys.modules["proxy.semantic_level"], "SemanticLevel", partial(Level, self.encoder)
        )


async def readiness(app: App) -> int:
    return (await call(app.admin_url, "GET", "/readyz")).status


async def test_readiness_waits_for_the_encoders_and_exact_answers_do_not(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with proxy(NEAR) as app:
        assert await readiness(app) == 503
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
        assert await readiness(app) == 503
        slow.may_end.set()
        await until(lambda: not app._is_loading)
        assert await readiness(app) == 200


async def test_a_proxy_may_be_stopped_while_it_loads(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    Slow(monkeypatch)
    log: list[bytes] = []
    async with asyncio.timeout(10), proxy(NEAR, log=log) as app:
        await ask(app.url)
    assert b"background task died" not in b"".join(log)


async def test_models_that_are_missing_leave_exact_answers_and_are_told_of(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(tmp_path / "nothing"))
    monkeypatch.setattr(models, "PACKAGED", {})
    log: list[bytes] = []
    async with proxy("semantic: {}", log=log) as app:
        await until(lambda: not app._is_loading)
        assert await readiness(app) == 200
        assert figure(app, "encoders_ready") == 0
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
        await until(lambda: b'"meaning"' in b"".join(log))
    lines = [json.loads(line) for line in log]
    assert [line["level"] for line in lines if line["event"] == "encoder missing"] == ["error"]
    assert [line["meaning"] for line in lines if "meaning" in line] == ["encoder-missing"]


async def test_a_verifier_that_cannot_be_read_leaves_exact_answers_and_is_told_of(
    proxy: StartProxy, tmp_path: Path
) -> None:
    log: list[bytes] = []
    async with proxy(f"semantic: {{verifier: {tmp_path}/none.json}}", log=log) as app:
        await until(lambda: not app._is_loading)
        assert await readiness(app) == 200
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
    (told,) = (json.loads(line) for line in log if b"nothing is compared by meaning" in line)
    assert told["level"] == "error"
    assert "none.json" in told["why"]


async def test_a_proxy_without_the_libraries_is_ready_and_serves_exact_answers(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "proxy.semantic_level", None)  # importing it fails
    log: list[bytes] = []
    async with proxy("semantic: {}", log=log) as app:
        await until(lambda: not app._is_loading)
        assert await readiness(app) == 200
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
    (died,) = (json.loads(line) for line in log if b"background task died" in line)
    assert died["task"] == "load-semantic"


async def test_a_reload_that_turns_meaning_on_loads_it(
    tmp_path: Path, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)

    async def prepare(settings: str) -> Config:
        return await asyncio.to_thread(config, tmp_path, upstream, settings)

    off = await prepare("semantic: {enabled: false, min_similarity: 0.7}")
    on = await prepare(NEAR)
    wanted = [on]
    app = App(off, load=lambda: wanted[0])
    await app.start()
    try:
        await ask(app.url, question(STORED))
        assert b"reprise_encoders" not in app.exposition()
        assert (await app.reloader.reload("admin")).applied
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        await ask(app.url, question(f"{STORED}!"))
        assert figure(app, "semantic_entries") == 1
        assert "detail=semantic" in (await ask(app.url, question(ASKED))).cache
        wanted[0] = off
        assert (await app.reloader.reload("admin")).applied
        assert not (await ask(app.url, question(ASKED))).is_hit
    finally:
        await app.stop()


async def test_a_proxy_that_compares_nothing_loads_nothing(proxy: StartProxy) -> None:
    for settings in ("semantic: {enabled: false}", "semantic: {encoders: []}"):
        async with proxy(settings) as app:
            assert await readiness(app) == 200
            assert b"reprise_encoders" not in app.exposition()


async def test_what_is_evicted_is_not_found_by_meaning(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)
    async with proxy(f"{NEAR}\nmemory: {{max_entries: 2}}") as app:
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        for text in (STORED, "Where do penguins live?", "Who has painted the night watch?"):
            await ask(app.url, question(text))
            assert figure(app, "semantic_entries") <= 2
        assert not (await ask(app.url, question(ASKED))).is_hit
        assert figure(app, "semantic_entries") == figure(app, "entries") == 2
