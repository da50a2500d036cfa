"""What `make demo` runs, as a user runs it."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

ENDS_WITHIN = 90.0


async def start(*arguments: str) -> asyncio.subprocess.Process:
    """The command, with its output kept."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "proxy",
        "demo",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_every_repeat_is_a_hit_and_nothing_stays_behind() -> None:
    process = await start("--json")
    async with asyncio.timeout(ENDS_WITHIN):
        stdout, stderr = await process.communicate()
    assert process.returncode == 0, stderr.decode()
    told = json.loads(stdout.splitlines()[-1])
    assert told["failures"] == []
    assert told["asked"] >= 6
    assert told["hits"] == told["repeats"] >= 10
    assert told["median_repeat_seconds"] < told["median_first_seconds"] / 5
    assert "exact" in stderr.decode()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads children from /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_what_it_started_ends_with_it(number: signal.Signals) -> None:
    process = await start()
    assert process.stdout is not None
    async with asyncio.timeout(ENDS_WITHIN):
        line = await process.stdout.readline()
        assert b"llama.cpp listens on" in line
        children = _children(process.pid)
        assert len(children) == 2
        process.send_signal(number)
        await process.communicate()
    assert process.returncode == 128 + number
    assert not [child for child in children if _is_alive(child)]


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
