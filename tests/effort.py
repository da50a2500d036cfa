"""How much work something is: processor time as a ratio, never as seconds.

The time of a whole process or of a wall clock tells of the machine and of other threads; that of
one thread, without garbage collection and the best of a few, tells of the code.
"""

import gc
import time
from collections.abc import Callable

ROUNDS = 5
"""So often both are measured before the answer is no."""
LARGER = 8
"""Work that grows with its size takes eight times as long for this; with the square, 64 times."""
BOUND = 24
"""Between the two, and far from both."""


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether `work` of eight times the size takes about eight times as long.

    `size` is a small one whose time can still be measured: a millisecond is enough.
    """
    return is_cheaper(lambda: work(LARGER * size), BOUND, lambda: work(size))


def is_cheaper(work: Callable[[], object], times: float, other: Callable[[], object]) -> bool:
    """Whether `work` takes less than so many times what the other takes."""
    mine = others = float("inf")
    for _ in range(ROUNDS):
        mine, others = min(mine, _seconds(work)), min(others, _seconds(other))
        if mine < times * others:
            return True
    return False


def _seconds(work: Callable[[], object]) -> float:
    """Of the processor, in this thread."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time()
        work()
        return time.thread_time() - started
    finally:
        if was_enabled:
            gc.enable()
