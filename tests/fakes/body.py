"""A live body for tests that never read it."""

from typing import Self


class SilentBody:
    """Fulfils proxy.core.model.LiveBody; it is at its end."""

    at_end = True

    def ready(self) -> bytes:
        """Nothing has arrived."""
        return b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """There is no more."""
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing to cut."""
