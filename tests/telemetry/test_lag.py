"""How late the event loop is."""

import asyncio

import pytest

from proxy.telemetry.lag import EVERY_SECONDS, watch_lag
from tests.fakes.clock import FakeClock


async def test_it_tells_by_how_much_each_timer_came_late() -> None:
    clock = FakeClock()
    late = [0.0, 0.25, 2.0]
    lags: list[float] = []
    beats: list[int] = []

    async def sleep(seconds: float) -> None:
        assert seconds == EVERY_SECONDS
        if len(lags) == len(late):
            raise asyncio.CancelledError
        clock.advance(seconds + late[len(lags)])

    with pytest.raises(asyncio.CancelledError):
        await watch_lag(sleep, clock.monotonic, lags.append, lambda: beats.append(len(lags)))
    assert (lags, beats) == (late, [1, 2, 3])


async def test_a_timer_that_came_early_is_not_late() -> None:
    clock = FakeClock()
    lags: list[float] = []

    async def sleep(seconds: float) -> None:
        if lags:
            raise asyncio.CancelledError
        clock.advance(seconds / 2)

    with pytest.raises(asyncio.CancelledError):
        await watch_lag(sleep, clock.monotonic, lags.append, lambda: None)
    assert lags == [0.0]
