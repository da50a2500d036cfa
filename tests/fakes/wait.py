"""Waiting for what gives no event: the kernel, a garbage collector, another process."""

import asyncio
from collections.abc import Callable

DEADLINE = 10.0


async def until(condition: Callable[[], object], *, within: float = DEADLINE) -> None:
    """Let the event loop run until the condition holds; fails after `within` seconds."""
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.002)
