"""Entries that another replica has stored, brought in from a real Redis; what is planted is not."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from proxy.core.cache.change import Change, Learnt, Put
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import send
from proxy.store import recall as recall_module
from proxy.store.codec import encode
from proxy.store.recall import SETTLE_SECONDS, Recall
from proxy.store.redis_keys import EntryKeys
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.core.values import stored_response
from tests.fakes.clock import FakeClock
from tests.fakes.redis import RedisServer

DEADLINE = 5.0
DAY = 86_400.0


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


class Stage:
    """A Redis, what was put there, and what was brought in from it."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        # Redis has a clock of its own: this one is ahead, so that nothing has expired there.
        self.clock = FakeClock(4_000_000_000.0)
        self.tasks = Tasks(lambda name, error: None)
        self.link = RedisLink(
            server.url,
            max_connections=4,
            deadline=DEADLINE,
            prefix="test",
            clock=self.clock,
            tasks=self.tasks,
            log=StructLog(lambda line: None, form="json", level="error", wall=lambda: 0.0),
        )
        self.keys = EntryKeys("test", keep_stale=0.0)
        self.taken: list[Change] = []
        self.recall = Recall(
            self.link, self.keys, self.take_in, clock=self.clock, deadline=DEADLINE
        )

    async def take_in(self, changes: Sequence[Change]) -> None:
        self.taken += changes

    @property
    def told(self) -> list[bytes]:
        """What was taken in, so that it can be compared."""
        return [encode(change) for change in self.taken]

    def entry(self, number: int) -> tuple[Put, Learnt]:
        now = self.clock.now()
        stored = stored_response(key=key(number), created=now, ttl=DAY)
        digests = dict.fromkeys(("scope", "settings", "history"), bytes(32))
        learnt = Learnt(
            key(number),
            **digests,
            text="Q?",
            until=now + DAY,
            encoder="e",
            vector=bytes(64),
        )
        return Put(stored), learnt

    async def store(self, put: Put | None, learnt: Learnt | None) -> None:
        now = self.clock.now()
        if put is not None:
            command = self.keys.put(put, now)
            await self.link.call(lambda client: send(client, command), deadline=DEADLINE)
        if learnt is not None:
            await self.plant(self.keys.meaning(learnt.key), encode(learnt))

    async def plant(self, name: str, value: bytes) -> None:
        await self.server.command("SET", name, value)

    async def gone(self, *numbers: int) -> list[bytes]:
        return await self.recall([key(number) for number in numbers])

    async def gone_for_good(self, *numbers: int) -> list[bytes]:
        assert await self.gone(*numbers) == []
        self.clock.advance(SETTLE_SECONDS + 1)
        return await self.gone(*numbers)


@pytest.fixture(scope="module")
def running() -> Iterator[RedisServer]:
    server = RedisServer()
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


@asynccontextmanager
async def stage_at(server: RedisServer) -> AsyncIterator[Stage]:
    stage = Stage(server)
    try:
        yield stage
    finally:
        await stage.link.close()


@pytest.fixture
async def stage(running: RedisServer) -> AsyncIterator[Stage]:
    await running.command("FLUSHALL")
    async with stage_at(running) as stage:
        yield stage


async def test_what_others_have_stored_is_brought_in(stage: Stage) -> None:
    entries = [stage.entry(number) for number in (1, 2)]
    for put, learnt in entries:
        await stage.store(put, learnt)
    assert await stage.gone(1, 2) == []
    assert stage.told == [encode(one) for one in (*entries[0], *entries[1])]


@pytest.mark.parametrize("left", ["answer", "meaning", "nothing", "deleted", "expired"])
async def test_what_is_not_there_is_gone_after_a_while(stage: Stage, left: str) -> None:
    put, learnt = stage.entry(1)
    if left == "expired":
        learnt = replace(learnt, until=stage.clock.now() - 1)
    await stage.store(
        put if left not in {"meaning", "nothing"} else None,
        learnt if left not in {"answer", "nothing"} else None,
    )
    if left == "deleted":
        command = stage.keys.delete(key(1), stage.clock.now() + 1)
        await stage.link.call(lambda client: send(client, command), deadline=DEADLINE)
    assert await stage.gone_for_good(1) == [key(1)]
    assert stage.taken == []


async def test_what_comes_after_its_vector_is_not_gone(stage: Stage) -> None:
    assert await stage.gone(1) == []
    await stage.store(*stage.entry(1))
    stage.clock.advance(SETTLE_SECONDS + 1)
    assert await stage.gone(1) == []
    assert len(stage.taken) == 2


@pytest.mark.parametrize("what", ["other answer", "other meaning", "kind", "damage", "pickle"])
async def test_what_was_planted_is_not_brought_in(stage: Stage, what: str) -> None:
    put, learnt = stage.entry(1)
    await stage.store(put, learnt)
    answer, meaning = stage.keys.answer(key(1)), stage.keys.meaning(key(1))
    if what == "other answer":
        await stage.store(stage.entry(2)[0], None)
        await stage.plant(answer, await stage.server.command("GET", stage.keys.answer(key(2))))
    elif what == "other meaning":
        await stage.plant(meaning, encode(stage.entry(2)[1]))
    elif what == "kind":
        await stage.plant(meaning, encode(put))
    elif what == "damage":
        await stage.plant(meaning, encode(learnt)[:-1] + b"x")
    else:
        await stage.plant(answer, b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    assert await stage.gone(1) == []
    assert stage.taken == []
    assert stage.recall.unreadable == 1


async def test_large_answers_are_read_in_a_thread(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "INLINE_BYTES", 10)
    put, learnt = stage.entry(1)
    await stage.store(put, learnt)
    assert await stage.gone(1) == []
    assert stage.told == [encode(put), encode(learnt)]


async def test_what_is_missed_is_remembered_within_bounds(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "_MAX_MISSING", 2)
    assert await stage.gone(1, 2, 3) == []
    assert len(stage.recall._missing) == 2


async def test_while_redis_is_gone_nothing_is() -> None:
    server = RedisServer()
    async with stage_at(server) as stage:
        assert await stage.gone(1) == []
        stage.clock.advance(SETTLE_SECONDS + 1)
        assert await stage.gone(1) == []
    assert stage.taken == []
