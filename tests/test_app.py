"""What the composition root joins."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from proxy.app import App
from proxy.config import Config, load
from proxy.pipeline.record import Recorder
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import ask, question
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import NEAR, comparing_by_words
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
