"""A replica as a process of its own, which writes snapshots without pause until it is killed.

python -m tests.store.redis_child URL PREFIX COUNT
"""

import asyncio
import os
import signal
import sys

from proxy.store.redis_log import BEGIN, position_text
from tests.contracts.journal import lasting, recent
from tests.store.redis_replicas import replica


async def main(url: str, prefix: str, count: int) -> None:
    """Hold so many answers, and write."""
    async with replica(url, prefix) as one:
        for number in range(count):
            one._hold(recent(number))
            one._hold(lasting(number))
        journal, is_first = one.journal, True
        parent = os.getppid()
        while os.getppid() == parent:
            token = await journal._snapshots.claim()
            if token is None:
                await asyncio.sleep(0.01)
                continue
            await journal._snapshots.write(
                token,
                journal._snapshot_writer._scan.answers(),
                one.everything(),
                position=position_text(journal._follower.position or BEGIN),
                now=0.0,
            )
            await journal._snapshots.give_up(token)
            print("first" if is_first else "next", os.getpid(), flush=True)  # noqa: T201
            is_first = False


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if os.fork() == 0:
            asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
