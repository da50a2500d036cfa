"""The deadlines of an exchange, on a loop whose time the test moves."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from proxy.core.errors import UpstreamTimeout
from proxy.core.policy import Deadlines
from proxy.upstream.watchdog import Watchdog, Watchdogs


class TimerLoop:
    """Only timers, and only when the test lets time pass."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[asyncio.TimerHandle] = []

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def call_later(self, delay: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        when = self.now + delay
        timer = asyncio.TimerHandle(when, callback, (), cast(asyncio.AbstractEventLoop, self))
        self.timers.append(timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self.timers.remove(handle)

    def advance(self, seconds: float) -> None:
        """Let time pass; timers fire in order."""
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.when() <= end]:
            timer = min(due, key=asyncio.TimerHandle.when)
            self.timers.remove(timer)
            self.now = timer.when()
            timer._run()
        self.now = end


@pytest.fixture
def loop() -> TimerLoop:
    return TimerLoop()


@pytest.fixture
def failures() -> list[BaseException]:
    return []


def watch(
    loop: TimerLoop,
    failures: list[BaseException],
    *,
    first_byte: float | None = None,
    between_bytes: float | None = None,
    total: float | None = None,
) -> Watchdog:
    deadlines = Deadlines(first_byte=first_byte, between_bytes=between_bytes, total=total)
    watchdogs = Watchdogs(cast(asyncio.AbstractEventLoop, loop))
    watchdog = Watchdog(watchdogs, deadlines)
    watchdog.start(failures.append)
    return watchdog


def test_without_deadlines_there_is_no_timer(
    loop: TimerLoop, failures: list[BaseException]
) -> None:
    watchdog = watch(loop, failures)
    watchdog.head_arrived(failures.append)
    watchdog.wait_begins()
    assert loop.timers == []


def test_the_first_byte_must_come_in_time(loop: TimerLoop, failures: list[BaseException]) -> None:
    watch(loop, failures, first_byte=10, between_bytes=1)
    loop.advance(9.9)
    assert failures == []
    loop.advance(0.2)
    assert [type(failure) for failure in failures] == [UpstreamTimeout]


def test_time_between_bytes_counts_only_while_somebody_waits(
    loop: TimerLoop, failures: list[BaseException]
) -> None:
    watchdog = watch(loop, failures, first_byte=10, between_bytes=2)
    watchdog.head_arrived(failures.append)
    loop.advance(100)
    for _ in range(5):
        watchdog.wait_begins()
        loop.advance(1.9)
        watchdog.wait_ends()
        loop.advance(50)
    assert failures == []
    watchdog.wait_begins()
    loop.advance(2.1)
    assert len(failures) == 1


@pytest.mark.parametrize("is_waiting", [False, True])
def test_the_total_counts_always(
    loop: TimerLoop, failures: list[BaseException], *, is_waiting: bool
) -> None:
    watchdog = watch(loop, failures, first_byte=10, between_bytes=30, total=60)
    watchdog.head_arrived(failures.append)
    if is_waiting:
        loop.advance(50)
        watchdog.wait_begins()
        loop.advance(9.9)
    else:
        loop.advance(59.9)
    assert failures == []
    loop.advance(0.2)
    assert len(failures) == 1


@pytest.mark.parametrize("first_byte", [1, 100])
def test_a_head_ends_the_wait_for_the_first_byte(
    loop: TimerLoop, failures: list[BaseException], first_byte: float
) -> None:
    watchdog = watch(loop, failures, first_byte=first_byte)
    watchdog.head_arrived(failures.append)
    watchdog.wait_begins()
    loop.advance(1000)
    assert failures == []


def test_nothing_fails_after_the_end(loop: TimerLoop, failures: list[BaseException]) -> None:
    watchdog = watch(loop, failures, first_byte=1, between_bytes=1, total=1)
    watchdog.stop()
    watchdog.stop()
    loop.advance(1000)
    assert failures == []
    assert loop.timers == []


def test_a_whole_exchange_needs_few_timers(loop: TimerLoop, failures: list[BaseException]) -> None:
    watchdog = watch(loop, failures, first_byte=600, between_bytes=300, total=3600)
    watchdog.head_arrived(failures.append)
    for _ in range(1000):
        watchdog.wait_begins()
        loop.advance(0.02)
        watchdog.wait_ends()
    assert len(loop.timers) == 1


def test_the_wait_for_the_first_byte_begins_when_the_request_was_sent(
    loop: TimerLoop, failures: list[BaseException]
) -> None:
    watchdog = watch(loop, failures, first_byte=10)
    watchdog.sending()
    loop.advance(1000)
    assert failures == []
    watchdog.wait_for_first_byte()
    loop.advance(9)
    assert failures == []
    loop.advance(2)
    assert len(failures) == 1
