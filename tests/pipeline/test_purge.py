"""Purging while the store changes. What selectors mean is in core/cache and admin."""

import asyncio

import pytest

from proxy.core.cache.selector import Selector
from proxy.pipeline.purge import purge
from proxy.store.memory import MemoryStore
from tests.core.values import NOW, stored_response

COUNT = 5000


@pytest.fixture
def store() -> MemoryStore:
    memory = MemoryStore(max_bytes=1 << 30, max_entries=10**6, max_entry_bytes=1 << 20)
    for number in range(COUNT):
        memory.put(stored_response(key=b"%d" % number, model=f"m{number % 2}"))
    return memory


@pytest.mark.parametrize("soft", [False, True])
async def test_what_is_selected_goes_or_is_stale(store: MemoryStore, *, soft: bool) -> None:
    assert await purge(store, Selector(model="m1"), soft=soft) == COUNT // 2
    assert len(store) == (COUNT if soft else COUNT // 2)
    assert [stored.ttl for stored in store.scan() if stored.model == "m1"] == (
        [0.0] * (COUNT // 2) if soft else []
    )
    assert all(stored.ttl > 0 for stored in store.scan() if stored.model == "m0")


async def test_others_get_their_turn_and_what_is_stored_meanwhile_stays(
    store: MemoryStore,
) -> None:
    async with asyncio.TaskGroup() as group:
        purging = group.create_task(purge(store, Selector(), soft=False))
        await asyncio.sleep(0)
        assert not purging.done()
        replaced = stored_response(key=b"%d" % (COUNT - 1), model="new")
        store.put(replaced)
    assert purging.result() == COUNT - 1
    assert list(store.scan()) == [replaced]


async def test_what_was_asked_for_before_goes_though_it_came_after() -> None:
    store = MemoryStore(max_bytes=1 << 20, max_entries=10, max_entry_bytes=1 << 20)
    on_its_way = stored_response(key=b"1", created=NOW + 1, duration=2.0)
    later = stored_response(key=b"2", created=NOW + 1, duration=0.5)
    store.put(on_its_way)
    store.put(later)
    assert await purge(store, Selector(), soft=False, until=NOW) == 1
    assert list(store.scan()) == [later]
