"""Whose turn it is at the upstream."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from proxy.core.errors import BackgroundBusy
from proxy.pipeline import turns as module
from proxy.pipeline.turns import Turns


async def settle() -> None:
    """Let everything happen that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def waiter(turns: Turns, begun: list[str], name: str) -> Callable[[], Coroutine[Any, Any, None]]:
    async def wait() -> None:
        await turns.take()
        begun.append(name)

    return wait


async def test_a_free_upstream_is_taken_at_once() -> None:
    turns = Turns(yield_above=0, max_concurrent=2)
    await turns.take()
    await turns.take()
    assert len(turns) == 0


async def test_none_begins_while_clients_are_under_way_and_then_in_order() -> None:
    turns, begun = Turns(yield_above=0, max_concurrent=1), list[str]()
    turns.client_began()
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(waiter(turns, begun, name)())
        await settle()
        assert (begun, len(turns)) == ([], 3)
        turns.client_ended()
        await settle()
        assert begun == ["a"]
        turns.client_began()
        turns.give_back()
        await settle()
        assert begun == ["a"]
        turns.client_ended()
        await settle()
        assert begun == ["a", "b"]
        turns.give_back()
    assert begun == ["a", "b", "c"]


async def test_as_many_clients_as_are_allowed_do_not_hold_it_back() -> None:
    turns = Turns(yield_above=1, max_concurrent=1)
    turns.client_began()
    await turns.take()


async def test_wider_bounds_let_those_begin_that_wait() -> None:
    turns, begun = Turns(yield_above=0, max_concurrent=1), list[str]()
    await turns.take()
    async with asyncio.TaskGroup() as group:
        group.create_task(waiter(turns, begun, "a")())
        await settle()
        turns.bound(yield_above=0, max_concurrent=2)
    assert begun == ["a"]


async def test_who_has_gone_takes_no_turn() -> None:
    turns, begun = Turns(yield_above=0, max_concurrent=1), list[str]()
    await turns.take()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(waiter(turns, begun, "a")())
        second = group.create_task(waiter(turns, begun, "b")())
        third = group.create_task(waiter(turns, begun, "c")())
        await settle()
        first.cancel()
        turns.give_back()  # a is still in the queue
        await settle()
        assert begun == ["b"]
        turns.give_back()
        third.cancel()  # its turn came in the same moment
        await settle()
    assert begun == ["b"]
    assert second.done()
    await turns.take()
    assert len(turns) == 0


async def test_the_queue_and_the_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 1)
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    turns = Turns(yield_above=0, max_concurrent=1)
    turns.client_began()
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(_refused(turns))
        await settle()
        assert "ask again" in await _refused(turns)
        assert len(turns) == 1
    assert "busy" in waits.result()
    assert len(turns) == 0
    turns.client_ended()
    await turns.take()


async def _refused(turns: Turns) -> str:
    with pytest.raises(BackgroundBusy) as refused:
        await turns.take()
    return refused.value.message


async def test_at_the_end_nobody_waits_any_longer() -> None:
    turns = Turns(yield_above=0, max_concurrent=1)
    turns.client_began()
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(_refused(turns)) for _ in range(2)]
        await settle()
        turns.close()
    assert all("about to end" in one.result() for one in waits)
    turns.client_ended()
    assert "about to end" in await _refused(turns)
