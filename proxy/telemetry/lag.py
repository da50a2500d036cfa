"""How late the event loop is: what blocks it shows here."""

from collections.abc import Awaitable, Callable

from proxy.tasks import Beat

EVERY_SECONDS = 0.5


async def watch_lag(
    sleep: Callable[[float], Awaitable[object]],
    monotonic: Callable[[], float],
    observe: Callable[[float], None],
    beat: Beat,
) -> None:
    """Ask for a timer again and again, and tell by how many seconds it came late. Never ends."""
    while True:
        before = monotonic()
        await sleep(EVERY_SECONDS)
        observe(max(0.0, monotonic() - before - EVERY_SECONDS))
        beat()
