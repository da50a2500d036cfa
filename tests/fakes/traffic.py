"""Clients that ask many questions at once, and notice every failure and every wrong answer."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import h11

from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, connect, posting, question
from tests.fakes.upstream import Reply, Seen, json_reply, sse_reply

CLIENTS = 6
TENANTS = ("key-a", "key-b")
FAILURES = (OSError, TimeoutError, json.JSONDecodeError, AssertionError, h11.RemoteProtocolError)
KNOWN_QUESTIONS = 20
"""Questions that come again and again; every fourth one is new."""


def echo(seen: Seen) -> Reply:
    """Answers that name their question and whose it is."""
    body = seen.json()
    text = expected(body["messages"][-1]["content"], (seen.header("Authorization") or "")[7:])
    if body.get("stream"):
        return sse_reply(*chat_stream([text[:5], text[5:]]))
    return json_reply(chat_answer(text))


def expected(text: str, key: str) -> str:
    """What `echo` says."""
    return f"{key} asked: {text}"


@dataclass(slots=True)
class Experience:
    """What the clients saw."""

    requests: int = 0
    hits: int = 0
    failures: list[str] = field(default_factory=list)
    """Anything but a whole, right answer."""
    seconds: list[float] = field(default_factory=list)
    """Of each request."""

    def slowest(self) -> float:
        """Seconds of the request that took longest."""
        return max(self.seconds)


class Traffic:
    """Asks proxies in turn until it is stopped; over an upstream that answers by `echo`.

    async with Traffic([one.url, other.url]) as traffic:
        ...
    assert traffic.seen.failures == []
    """

    def __init__(self, urls: Sequence[str], *, clients: int = CLIENTS, pause: float = 0.01) -> None:
        """`pause` is how many seconds each client thinks between two questions."""
        self.seen = Experience()
        self._urls = urls
        self._clients = clients
        self._pause = pause
        self._tasks: list[asyncio.Task[None]] = []
        self._asked = 0

    async def __aenter__(self) -> "Traffic":
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._ask_on(number)) for number in range(self._clients)]
        return self

    async def __aexit__(self, *exception: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def asked(self, more: int, *, within: float = 60.0) -> None:
        """Wait until so many more questions were answered."""
        goal = self.seen.requests + more
        async with asyncio.timeout(within):
            while self.seen.requests < goal:  # noqa: ASYNC110 - clients tell nobody
                await asyncio.sleep(0.01)

    async def _ask_on(self, client: int) -> None:
        url, key = self._urls[client % len(self._urls)], TENANTS[client // 2 % len(TENANTS)]
        while True:
            self._asked += 1
            is_new = self._asked % 4 == 0
            text = f"new {self._asked}" if is_new else f"known {self._asked % KNOWN_QUESTIONS}"
            await self._ask(url, key, text, stream=self._asked % 3 == 0)
            await asyncio.sleep(self._pause)

    async def _ask(self, url: str, key: str, text: str, *, stream: bool) -> None:
        began = time.monotonic()
        try:
            async with connect(url) as connection:
                body = question(text, stream=stream)
                await connection.send("POST", CHAT, fields=posting(key), body=body)
                answer = await connection.answer()
            if answer.status != 200 or answer.text != expected(text, key):
                self.seen.failures.append(f"{text}: {answer.status} {answer.body[:200]!r}")
            self.seen.hits += answer.is_hit
        except FAILURES as error:
            self.seen.failures.append(f"{text}: {error!r}")
        self.seen.requests += 1
        self.seen.seconds.append(time.monotonic() - began)
