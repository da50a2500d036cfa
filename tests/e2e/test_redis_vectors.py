"""Two proxies that search the vector sets of one Redis (C5): found, isolated, doing without."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proxy.app import App
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask, question
from tests.fakes.models import prepared_models
from tests.fakes.redis import RedisServer, running_redis
from tests.fakes.redis import until as redis_until
from tests.watch import figure, until

STORED, REWORDED = "What is the capital city of Peru?", "Which city is the capital of Peru?"
AGAIN = "What city is the capital of Peru?"


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))


@asynccontextmanager
async def replicas(proxy: StartProxy, server: RedisServer) -> AsyncIterator[tuple[App, App]]:
    """Two, with encoders loaded."""
    settings = f"""
semantic: {{index: redis, deadline: 10s}}
memory: {{max_entries: 3}}
persist: {{disk: {{enabled: false}}, redis: {{url: "{server.url}", deadline: 5s}}}}
"""
    async with proxy(settings) as one, proxy(settings) as other:
        await until(lambda: not (one.semantic.is_loading or other.semantic.is_loading), within=60.0)
        yield one, other


async def asked(app: App, text: str, *, key: str = "one") -> Answer:
    return await ask(app.url, question(text), key=key)


async def stored(app: App, text: str, server: RedisServer) -> None:
    """Let a proxy learn an answer, and wait until Redis has it, its question, and its vector."""

    async def is_there() -> bool:
        names = [await server.command("KEYS", f"*:{kind}") for kind in ("e", "m", "p:*")]
        return all(names)

    await asked(app, text)
    await redis_until(is_there)


async def test_what_one_has_stored_the_other_finds_by_meaning(proxy: StartProxy) -> None:
    async with running_redis() as server, replicas(proxy, server) as (one, other):
        await stored(one, STORED, server)
        found = await asked(other, REWORDED)
        assert "detail=semantic" in found.cache
        assert not (await asked(other, REWORDED, key="two")).is_hit


async def test_what_memory_has_no_room_for_is_brought_in_again(proxy: StartProxy) -> None:
    async with running_redis() as server, replicas(proxy, server) as (one, other):
        await stored(one, STORED, server)
        for number in range(4):
            await asked(other, f"{number}?")
        await until(lambda: figure(other, "evictions_total") >= 1)
        found = await asked(other, REWORDED)
        assert "detail=semantic" in found.cache


async def test_without_redis_a_question_is_a_miss(proxy: StartProxy) -> None:
    async with running_redis() as server, replicas(proxy, server) as (one, other):
        await stored(one, STORED, server)
        await server.kill()
        answer = await asked(other, AGAIN)
        assert answer.status == 200
        assert not answer.is_hit
