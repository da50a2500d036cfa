"""A cache that is filled before it is asked: the real command, the real proxy, a real model."""

import asyncio
import json
from pathlib import Path

from tests.conftest import Serve
from tests.e2e.test_llama import COLOURS, STREAM, SUM, WEEK
from tests.fakes.client import ask
from tests.fakes.process import ProxyProcess


async def test_users_find_what_a_log_of_yesterday_asked(
    serve: Serve, llama: str, tmp_path: Path
) -> None:
    log = tmp_path / "yesterday.jsonl"
    asked = [WEEK, SUM | STREAM, WEEK, COLOURS, WEEK, SUM]
    log.write_text("".join(json.dumps({"request": body}) + "\n" for body in asked))
    environment = {"XDG_STATE_HOME": str(tmp_path), "OPENAI_API_KEY": "key-a"}
    async with serve("--upstream", llama) as process:
        options = ("--exact-only", "--top", "2", "--max-tokens", "2000", "--json")
        command = ("warm", str(log), "--proxy", process.url, *options)
        warming = ProxyProcess(*command, environment=environment)
        await warming.start()
        assert await warming.wait() == 0, warming.stderr
        await warming.stop()
        found = json.loads(warming.stdout.splitlines()[-1])
        assert (found["asked"], found["stored"], found["remaining"]) == (2, 2, 0)
        assert 20 < found["tokens"] < 2000
        answers = await asyncio.gather(
            ask(process.url, WEEK),
            ask(process.url, WEEK | STREAM),
            ask(process.url, SUM | STREAM),
        )
        assert all(answer.is_hit for answer in answers)
        assert "fwd=miss" in (await ask(process.url, COLOURS)).cache
