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
    """A metric without labels, as a scrape sees it; `name` without the prefix."""
    for line in app.exposition().decode().splitlines():
        if line.startswith(f"reprise_{name} "):
            return float(line.split()[1])
    raise AssertionError(name)


def is_idle(app: App) -> Callable[[], bool]:
    """Whether nothing of any request is left."""
    return lambda: not (figure(app, "in_flight_requests") or figure(app, "flights"))
