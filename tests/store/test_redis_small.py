"""Verdicts, purges and epochs outlast the log."""

import pytest

from proxy.core.cache.change import Purged, Rejected, Renewed
from proxy.core.cache.selector import Selector
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.urls import Client
from proxy.store import redis_small
from proxy.store.redis_small import Small, SmallState
from tests.fakes.redis import RedisServer
from tests.store.changes import comparable, key, put

PAIRS = ((b"a" * 16, b"b" * 16),)
EACH: list[Small] = [
    Rejected(key(1), 1.0, PAIRS),
    Purged(Selector(model="m"), soft=True, at=2.0, by="me"),
    Renewed("m*", "2", 3.0),
]


async def write(link: RedisLink, state: SmallState, *changes: Small) -> None:
    """Write some."""

    async def work(client: Client) -> list[object]:
        return await ask_all(client, [state.command(change) for change in changes])

    await link.call(work, deadline=2)


async def read(link: RedisLink, prefix: str) -> list[Small]:
    """What a new process finds."""
    return await link.call(SmallState(prefix).load, deadline=2)


async def test_what_was_written_is_read_oldest_first(
    redis_link: RedisLink, redis_prefix: str
) -> None:
    assert await read(redis_link, redis_prefix) == []
    await write(redis_link, SmallState(redis_prefix), *reversed(EACH))
    assert await read(redis_link, redis_prefix) == EACH


async def test_the_later_of_two_about_the_same_stays(
    redis_link: RedisLink, redis_prefix: str
) -> None:
    later, earlier = Renewed("m", "2", 9.0), Renewed("m", "1", 5.0)
    purge = [Purged(Selector(tag="t"), soft=False, at=at) for at in (3.0, 4.0)]
    await write(redis_link, SmallState(redis_prefix), later, earlier, *purge)
    assert await read(redis_link, redis_prefix) == [purge[1], later]


async def test_over_the_bound_the_oldest_go(
    redis_link: RedisLink, redis_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(redis_small._MOST, Renewed, 20)
    state = SmallState(redis_prefix)
    changes = [Renewed(f"m{at}", "1", float(at)) for at in range(21)]
    for change in changes:
        state.note(change)
    assert state.known == changes[1:]
    await write(redis_link, state, *changes)
    assert await read(redis_link, redis_prefix) == changes[-18:]


@pytest.mark.parametrize("planted", [b"", b"0|", b"\x80\x04N.", b"nan|x", b"0|Rp\x09rest of it..."])
async def test_what_cannot_be_read_is_left_out_and_put_right(
    planted: bytes, redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await write(redis_link, SmallState(redis_prefix), *EACH)
    for name in ("rejected", "purged", "renewed"):
        for field in await redis_server.command("HKEYS", f"{redis_prefix}:{name}"):
            await redis_server.command("HSET", f"{redis_prefix}:{name}", field, planted)
    state = SmallState(redis_prefix)
    assert await redis_link.call(state.load, deadline=2) == []
    assert state.unreadable == 3
    await write(redis_link, state, *EACH)
    assert await read(redis_link, redis_prefix) == EACH


async def test_a_key_of_another_type_is_put_right(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    await redis_server.command("SET", f"{redis_prefix}:purged", "x")
    assert await read(redis_link, redis_prefix) == []
    await write(redis_link, SmallState(redis_prefix), *EACH)
    assert await read(redis_link, redis_prefix) == EACH


def test_an_answer_falls_under_the_purges_after_it() -> None:
    state = SmallState("p")
    hard = Purged(Selector(model="old"), soft=False, at=100.0)
    soft = Purged(Selector(tag="news"), soft=True, at=200.0)
    for change in (hard, soft, EACH[0]):
        state.note(change)
    state.note(Purged(Selector(model="old"), soft=False, at=50.0))  # it comes late
    assert state.after_purges(put(1, model="old", created=99.0)) is None
    kept = put(1, model="old", created=101.0)
    assert state.after_purges(kept) is kept
    stale = state.after_purges(put(1, model="new", tags=("news",), created=150.0))
    assert stale is not None
    assert comparable(stale) == comparable(
        put(1, model="new", tags=("news",), created=150.0, ttl=0.0)
    )
