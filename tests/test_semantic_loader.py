"""The semantic level comes while answers are served already, or it is told why it does not."""

import asyncio
import json
import sys
from functools import partial
from pathlib import Path

import pytest

from proxy.app import App
from proxy.config import Config
from proxy.semantic import models
from proxy.semantic_loader import semantic_rules
from tests.conftest import StartProxy
from tests.fakes.client import ask, call, question
from tests.fakes.semantic import NEAR, FakeLevel, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream
from tests.pipeline.level import ASKED, STORED
from tests.test_app import config
from tests.watch import figure, until


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
        await until(lambda: not app.semantic.is_loading)
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
        await until(lambda: not app.semantic.is_loading)
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
        await until(lambda: not app.semantic.is_loading)
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
        await until(lambda: not app.semantic.is_loading)
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


async def part(app: App) -> str:
    """What the listener tells of the level."""
    told: str = (await call(app.admin_url, "GET", "/readyz?verbose")).json()["parts"]["semantic"]
    return told


async def test_its_state_is_told_from_loading_to_ready(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with proxy(NEAR) as app:
        assert await part(app) == "loading"
        slow.may_end.set()
        await until(lambda: not app.semantic.is_loading)
        assert await part(app) == "ok"
    async with proxy() as app:
        assert await part(app) == "off"


async def test_the_rules_of_all_routes_decide_what_an_alias_is_worth(
    tmp_path: Path, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing_by_words(monkeypatch)

    async def prepare(settings: str) -> Config:
        return await asyncio.to_thread(config, tmp_path, upstream, settings)

    near = await prepare(NEAR)
    route = "routes: [{match: {model: m9}, semantic: {min_similarity: 0.99}}]"
    routed = await prepare(f"{NEAR}\n{route}")
    assert semantic_rules(routed)[0] == semantic_rules(near)[0]
    app = App(near)
    await app.start()
    try:
        await until(lambda: app.semantic.meaning is not None)
        assert app.semantic.meaning is not None
        before = app.semantic.meaning.judge
        app.apply(routed)
        assert before != app.semantic.meaning.judge != b""
        app.apply(near)
        assert app.semantic.meaning.judge == before
    finally:
        await app.stop()
