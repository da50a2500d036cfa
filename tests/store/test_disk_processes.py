"""Several processes and one file: real ones, killed ones, and a damaged file between them."""

import asyncio
import fnmatch
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from proxy.clock import SystemClock
from proxy.core.cache.change import Put
from tests.contracts.journal import SLACK, WITHIN
from tests.store.journals import disk_journal, started

LASTS = 60.0
"""Seconds after which a test has failed."""


@asynccontextmanager
async def children(
    directory: Path, *counts: int
) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Processes with as many answers each, numbered on from thousands; they are ready."""
    running = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.store.disk_child"),
            *(str(directory), str(1000 * place), str(count)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for place, count in enumerate(counts)
    ]
    try:
        async with asyncio.timeout(LASTS):
            for child in running:
                assert await line(child) == ["ready"]
            yield running
    finally:
        for child in running:
            if child.returncode is None:
                child.kill()
            await child.wait()


async def line(child: asyncio.subprocess.Process) -> list[str]:
    """The words of the next line that a child prints; empty at its end."""
    assert child.stdout is not None
    return (await child.stdout.readline()).decode().split()


def nudge(child: asyncio.subprocess.Process) -> None:
    """Let it go on."""
    assert child.stdin is not None
    child.stdin.write(b"\n")


async def test_each_sees_what_the_others_change(tmp_path: Path) -> None:
    count = 150
    delays: list[float] = []

    async def hear_all(child: asyncio.subprocess.Process) -> set[int]:
        heard: set[int] = set()
        while len(heard) < 2 * count:
            words = await line(child)
            if words[0] == "heard":
                heard.add(int(words[1]))
                delays.append(float(words[2]))
        return heard

    async with children(tmp_path, count, count, count) as running:
        for child in running:
            nudge(child)
        heard = await asyncio.gather(*map(hear_all, running))
    everyone = {1000 * place + number for place in range(3) for number in range(count)}
    for place, numbers in enumerate(heard):
        assert numbers == {one for one in everyone if one // 1000 != place}
    assert median(delays) < WITHIN
    assert max(delays) < WITHIN + SLACK
    assert await numbers_kept(tmp_path) == everyone


async def test_a_killed_process_loses_at_most_the_last_second(tmp_path: Path) -> None:
    appended: dict[int, float] = {}
    async with children(tmp_path, 900) as (child,):
        nudge(child)
        while len(appended) < 300:
            words = await line(child)
            if words[0] == "appended":
                appended[int(words[1])] = float(words[2])
        killed_at = SystemClock().monotonic()
        child.kill()
        await child.wait()
    numbers = await numbers_kept(tmp_path)
    for number, at in appended.items():
        assert number in numbers or at > killed_at - WITHIN
    # What it had appended when it was killed and had not told is among them, maybe.
    assert numbers <= set(range(900))


async def test_of_two_that_find_a_damaged_file_one_sets_it_aside(tmp_path: Path) -> None:
    (tmp_path / "entries.sqlite").write_bytes(b"garbage" * 10_000)
    told: list[str] = []
    async with children(tmp_path, 20, 20) as running:
        for child in running:
            nudge(child)
        for child in running:
            heard = 0
            while heard < 20:
                heard += (await line(child))[0] == "heard"
        for child in running:
            nudge(child)
            while words := await line(child):
                if words[0] == "told":
                    told.append(" ".join(words[1:]))
    assert told == ["what was kept on disk is set aside"]
    assert len(fnmatch.filter(os.listdir(tmp_path), "entries.sqlite.*-damaged")) == 1
    assert await numbers_kept(tmp_path) == {*range(20), *range(1000, 1020)}


async def numbers_kept(directory: Path) -> set[int]:
    """The answers that a new process is given, by their numbers."""
    async with started(disk_journal(directory, clock=SystemClock())) as heard:
        puts = [change for change in heard.changes if isinstance(change, Put)]
    return {int.from_bytes(change.stored.key, "big") for change in puts}
