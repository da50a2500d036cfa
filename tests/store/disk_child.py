"""A process that keeps changes in a directory: `python -m tests.store.disk_child DIR FIRST COUNT`.

It prints `ready` and waits for a line; then appends an answer every few milliseconds, printing the
number and the monotonic time of each, and `late SECONDS` and `heard N` for what it is given.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from proxy.clock import SystemClock
from proxy.core.cache.change import Change, Put
from tests.store.changes import put
from tests.store.journals import Lines, disk_journal

_EVERY = 0.005


def say(*words: object) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(directory: Path, first: int, count: int) -> None:
    """Be that process, until it is told to end."""
    clock, log = SystemClock(), Lines()

    async def take_in(changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change, Put):
                number = int.from_bytes(change.stored.key, "big")
                say("heard", number, clock.now() - change.stored.created)

    journal = disk_journal(directory, clock=clock, log=log)
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    await journal.start(take_in)
    for number in range(first, first + count):
        journal.append(put(number, created=clock.now(), ttl=3600.0))
        say("appended", number, clock.monotonic())
        await asyncio.sleep(_EVERY)
    await asyncio.to_thread(sys.stdin.readline)
    await journal.close()
    for event in log.events:
        say("told", event)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
