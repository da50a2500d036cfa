"""Mixed traffic for hours: what is asked by whom, and whether every answer is right."""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector

from tests.bench.echo import FAILS, asked_in
from tests.bench.questions import LANGUAGES
from tests.bench.work import BLANKS

TENANTS = tuple(f"sk-soak-{number}" for number in range(6))
ADMIN_TOKEN = "soak"
CLIENTS = 24
LONG_QUESTIONS = 20_000
"""The larger ones are asked rarely, so that most of what is stored is never asked again."""
_TAGS = 40
_TIMEOUT = ClientTimeout(total=60)
_FAILURES = (ClientError, OSError, TimeoutError, ValueError, KeyError)
_TOLD_FAILURES = 20
_TASKS = 1025
_NOT_COMPARED = 1.5
"""A temperature above `semantic.max_temperature`."""
_OPINIONS = 0.02
"""How many rewordings are followed by somebody's word that the answer was wrong."""
_TAIL = 0.25
"""Of the popularity of questions: the smaller, the more are asked rarely."""
_PROSE = "My order came last week and something is missing in it, as I have told you on the phone. "


class Asked(NamedTuple):
    """A request of the mix."""

    kind: str
    key: str
    """The caller's."""
    text: str
    blanks: str = ""
    """Behind the text: so it has a key of its own."""
    is_compared: bool = True
    """By meaning."""
    is_stream: bool = False
    cache_control: str = ""

    def body(self) -> bytes:
        """The request's body."""
        return json.dumps(
            {
                "model": "soak-1",
                "messages": [{"role": "user", "content": self.text + self.blanks}],
                "temperature": 0.2 if self.is_compared else _NOT_COMPARED,
                "stream": self.is_stream,
            }
        ).encode()


@dataclass(slots=True)
class Seen:
    """What came of it."""

    requests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """By the detail of a hit, else by why the upstream was asked."""
    kinds: Counter[str] = field(default_factory=Counter)
    purges: int = 0
    opinions: int = 0
    failures: int = 0
    """Errors, broken and wrong answers, answers of another tenant."""
    told: list[str] = field(default_factory=list)
    """The first failures."""
    not_alike: int = 0
    """Answers that were found by meaning, to a question that means something else."""

    def fail(self, why: str) -> None:
        """Something went wrong."""
        self.failures += 1
        if len(self.told) < _TOLD_FAILURES:
            self.told.append(why)


class Mix:
    """Draws what is asked next."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._wordings: list[tuple[str, str]] = []
        for language in LANGUAGES.values():
            stored = language.stored(_TASKS)
            self._wordings += [
                (text, language.reworded(number)) for number, text in enumerate(stored)
            ]
        self._meanings = {
            text: number for number, texts in enumerate(self._wordings) for text in texts
        }
        self._new = 0

    def meaning(self, text: str) -> int | str:
        """What a text means; alike for all wordings of one question."""
        return self._meanings.get(text, text)

    def next(self) -> Asked:
        """Another one."""
        chance = self._chance
        key = chance.choice(TENANTS)
        drawn = chance.random()
        if drawn < 0.55:
            return self._long(key)
        if drawn < 0.80:
            text, _ = self._wordings[self._popular(len(self._wordings))]
            return Asked("plain", key, text, is_stream=chance.random() < 0.3)
        if drawn < 0.90:
            _, text = self._wordings[self._popular(len(self._wordings))]
            blanks = f"{chance.randrange(64):b}".translate(BLANKS)
            return Asked("reworded", key, text, blanks=blanks)
        if drawn < 0.95:
            text = f"How do I file claim {self._another()}?"
            return Asked("new", key, text, is_stream=chance.random() < 0.5)
        return self._odd(key)

    def _long(self, key: str) -> Asked:
        number = self._popular(LONG_QUESTIONS)
        text = f"Ticket {number}: {_PROSE * (1 + number % 9)}Where is it?"
        is_stream = self._chance.random() < 0.3
        return Asked("long", key, text, is_compared=False, is_stream=is_stream)

    def _odd(self, key: str) -> Asked:
        asked = self._long(key)
        drawn = self._chance.random()
        if drawn < 0.2:
            return Asked("failing", key, FAILS, is_compared=False)
        if drawn < 0.4:
            return asked._replace(kind="not stored", cache_control="no-store")
        if drawn < 0.6:
            return asked._replace(kind="anew", cache_control="no-cache")
        text = f"{asked.text} I ask for the {self._another()}th time."
        return asked._replace(kind="leaving", text=text, is_stream=True)

    def _another(self) -> int:
        self._new += 1
        return self._new

    def _popular(self, count: int) -> int:
        """Small numbers are drawn more often."""
        return int(min(self._chance.paretovariate(_TAIL), 1e12)) % count


class Load:
    """Clients that ask a proxy at a rate, if it can keep up, until `stop`."""

    def __init__(self, port: int, admin_port: int, *, rate: float, seed: int = 1) -> None:
        """`rate` is in requests a second."""
        self.seen = Seen()
        self._url = f"http://127.0.0.1:{port}/v1/chat/completions"
        self._feedback_url = f"http://127.0.0.1:{port}/x-cache/feedback"
        self._purge_url = f"http://127.0.0.1:{admin_port}/admin/purge"
        self._pause = CLIENTS / rate
        self._mix = Mix(seed)
        self._chance = random.Random(seed + 1)
        self._is_stopped = False

    async def run(self) -> None:
        """Ask until `stop`."""
        async with (
            ClientSession(connector=TCPConnector(limit=0), timeout=_TIMEOUT) as session,
            asyncio.TaskGroup() as group,
        ):
            for number in range(CLIENTS):
                group.create_task(self._ask_on(session, number / CLIENTS * self._pause))

    def stop(self) -> None:
        """Ask nothing more."""
        self._is_stopped = True

    async def purge(self, session: ClientSession, *, soft: bool) -> None:
        """Take out what has one of the tags."""
        body = {"tag": f"t{self._chance.randrange(_TAGS)}", "soft": soft}
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        async with session.post(self._purge_url, json=body, headers=headers) as response:
            if response.status != 200:
                self.seen.fail(f"purge: {response.status}")
        self.seen.purges += 1

    async def _ask_on(self, session: ClientSession, begin: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + begin
        while not self._is_stopped:
            await asyncio.sleep(max(0.0, due - loop.time()))
            # Whoever is late does not hurry: what the proxy cannot do is not asked of it.
            due = max(due, loop.time() - self._pause) + self._chance.expovariate(1 / self._pause)
            asked = self._mix.next()
            self.seen.requests += 1
            self.seen.kinds[asked.kind] += 1
            try:
                await self._ask(session, asked)
            except _FAILURES as error:
                self.seen.fail(f"{asked.kind}: {error!r}")

    async def _ask(self, session: ClientSession, asked: Asked) -> None:
        headers = {
            "Authorization": f"Bearer {asked.key}",
            "Content-Type": "application/json",
            "x-cache-tags": f"t{self._chance.randrange(_TAGS)}",
        }
        if asked.cache_control:
            headers["Cache-Control"] = asked.cache_control
        async with session.post(self._url, data=asked.body(), headers=headers) as response:
            self.seen.outcomes[_outcome(response)] += 1
            if asked.kind == "leaving":
                await response.content.readany()
                response.close()
            elif asked.kind == "failing":
                if response.status != 500:
                    self.seen.fail(f"failing: {response.status}")
            else:
                self._judge(asked, response, await response.read())
        if asked.kind == "reworded" and self._chance.random() < _OPINIONS:
            await self._object(session, asked, response.headers.get("x-cache-entry"))

    def _judge(self, asked: Asked, response: ClientResponse, body: bytes) -> None:
        if response.status != 200:
            self.seen.fail(f"{asked.kind}: {response.status} {body[:200]!r}")
            return
        text = asked_in(_content(body, is_stream=asked.is_stream), asked.key)
        if text is None:
            self.seen.fail(f"{asked.kind}: not whole, or not his own: {body[:200]!r}")
        elif text == asked.text:
            return
        elif "x-cache-similarity" not in response.headers:
            self.seen.fail(f"{asked.kind}: the answer to another question: {text[:100]}")
        elif self._mix.meaning(text) != self._mix.meaning(asked.text):
            self.seen.not_alike += 1

    async def _object(self, session: ClientSession, asked: Asked, entry: str | None) -> None:
        """Call an answer wrong, at times; it may be gone already."""
        if entry is None:
            return
        body = {"entry": entry, "verdict": "wrong", "question": asked.text}
        headers = {"Authorization": f"Bearer {asked.key}"}
        async with session.post(self._feedback_url, json=body, headers=headers) as response:
            if response.status not in (200, 404):
                self.seen.fail(f"feedback: {response.status}")
        self.seen.opinions += 1


def _outcome(response: ClientResponse) -> str:
    for part in response.headers.get("Cache-Status", "").split("; "):
        if part.startswith(("detail=", "fwd=")):
            return part.partition("=")[2]
    return "none"


def _content(body: bytes, *, is_stream: bool) -> str:
    """What an answer says. Raises ValueError or KeyError where it is none."""
    if not is_stream:
        return str(json.loads(body)["choices"][0]["message"]["content"])
    *events, done, rest = body.decode().split("\n\n")
    if done != "data: [DONE]" or rest:
        raise ValueError("a stream that was cut off")
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events]
    return "".join(delta.get("content") or "" for delta in deltas)
