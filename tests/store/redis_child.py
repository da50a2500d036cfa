"""A replica as a process of its own, which writes snapshots without pause until it is killed.

python -m tests.store.redis_child URL PREFIX COUNT
"""

import asyncio
import os
import signal
import sys

from proxy.store import redis_snapshot
from proxy.store.redis_log import BEGIN, position_text
from tests.contracts.journal import lasting, recent
from tests.store.redis_replicas import replica


async def main(url: str, prefix: str, count: int) -> None:
    """Hold so many answers, and write."""
    async with replica(url, prefix) as one:
        for number in range(count):
            one._hold(recent(number))
            one._hold(lasting(number))
        journal = one.journal
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
            os.write(1, b"%d\n" % os.getpid())


if __name__ == "__main__":
    # What one that was killed had sent may take a lease after the test has removed the last one.
    redis_snapshot.LEASE_SECONDS = 1.0
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if os.fork() == 0:
            asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
            os._exit(0)  # the lines are for the other one
