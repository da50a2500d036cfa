"""What `make demo` runs, as a user runs it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from proxy.cli.main import main

ENDS_WITHIN = 90.0


@pytest.fixture
def _own_signal_handlers() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("_own_signal_handlers")
def test_every_repeat_is_answered_without_the_model() -> None:
    result = CliRunner().invoke(main, ["demo", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["failures"] == []
    assert told["asked"] >= 6
    assert told["hits"] == told["repeats"] >= 10
    assert told["median_repeat_seconds"] < told["median_first_seconds"] / 5
    assert "exact" in result.stderr
    assert (told["reworded_hits"], told["look_alikes_refused"]) == (2, 2)


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="reads /proc"
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_what_it_started_ends_with_it(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "proxy", "demo"), stdout=asyncio.subprocess.PIPE
    )
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
