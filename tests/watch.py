"""Looking at a running app from outside, and waiting for what gives no event."""

import asyncio
from collections.abc import Callable

from proxy.app import App

DEADLINE = 30.0
"""Seconds after which a wait has failed."""


async def until(condition: Callable[[], object], *, within: float = DEADLINE) -> None:
    """Let the event loop run until the condition holds; fails after `within` seconds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - nothing tells of what is waited for here
            await asyncio.sleep(0.002)


def figure(app: App, name: str) -> float:
    """A metric as a scrape sees it, the sum over its labels; `name` without the prefix."""
    lines = app.exposition().decode().splitlines()
    found = [line for line in lines if line.startswith((f"reprise_{name} ", f"reprise_{name}{{"))]
    if not found:
        raise AssertionError(name)
    return sum(float(line.rpartition(" ")[2]) for line in found)


def is_idle(app: App) -> Callable[[], bool]:
    """Whether nothing of any request is left."""
    return lambda: not (figure(app, "in_flight_requests") or figure(app, "flights"))
