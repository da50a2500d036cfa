"""The semantic level of pipeline/meaning.py over a real store, with the fake encoder and index."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from proxy.core.cache.change import Change
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.outcome import Match, NoMatch
from proxy.core.policy import Policy, SemanticRules
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.meaning import Recall
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from tests.core.values import stored_response
from tests.fakes.answers import chat_answer
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import FakeEncoder, FakeIndex, FakeLevel
from tests.pipeline.plans import plan

NEAR = SemanticRules(min_similarity=0.7, deadline=10.0, ttl=1000.0)
POLICY = Policy(ttl=1000.0, ttl_jitter=0.0, semantic=NEAR)
STORED = "What is the capital of Peru?"
ASKED = "Please, what is the capital of Peru?"
OTHER = "Who has painted the night watch?"


class Level:
    """What an application holds of it. Must be made on the event loop."""

    def __init__(
        self,
        *,
        max_entries: int = 1000,
        index: FakeIndex | None = None,
        recall: Recall | None = None,
    ) -> None:
        """`index` is one that is shared; what it finds is brought in by `recall`."""
        self.died: list[BaseException] = []
        self.clock = FakeClock()
        self.aliases = Aliases()
        self.negatives = Negatives()
        self.tasks = Tasks(lambda name, error: self.died.append(error))
        self.store = MemoryStore(
            max_bytes=1 << 30,
            max_entries=max_entries,
            max_entry_bytes=1 << 20,
            on_gone=lambda key: self.meaning.forget(key),
            on_evicted=lambda key: self.meaning.forget(key, is_evicted=True),
        )
        self.encoder = FakeEncoder()
        self.note: Callable[[Change], None] = lambda change: None
        """Is told what is learnt."""
        self.fake = FakeLevel(
            self.encoder,
            store=self.store,
            aliases=self.aliases,
            negatives=self.negatives,
            clock=self.clock,
            tasks=self.tasks,
            note=lambda change: self.note(change),
            recall=recall,
            index=index,
        )
        self.index = self.fake.index
        self.meaning = self.fake.meaning

    async def settled(self) -> None:
        """Wait until no task runs."""
        async with asyncio.timeout(10):
            while len(self.tasks):  # noqa: ASYNC110 - tasks tell nobody here
                await asyncio.sleep(0)
        assert self.died == []

    def put(self, asked: Lookup, text: str = "Lima.", **members: Any) -> StoredResponse:
        """Store an answer as pipeline/record.py does."""
        usual = {
            "key": asked.key.exact,
            "tenant": asked.tenant,
            "created": self.clock.now(),
            "ttl": asked.policy.ttl,
            "body": orjson.dumps(chat_answer(text)),
        }
        stored = stored_response(**(usual | members))
        assert self.store.put(stored)
        self.meaning.learn(asked, stored)
        return stored

    async def know(self, asked: Lookup, text: str = "Lima.", **members: Any) -> StoredResponse:
        """Store an answer, and wait until it can be found by meaning."""
        stored = self.put(asked, text, **members)
        await self.settled()
        return stored

    async def finds(self, asked: Lookup) -> bytes | None:
        """The key of the entry that serves; None where none does."""
        meant = await self.meaning.find(asked)
        await self.settled()
        return meant.key if isinstance(meant, Match) else None

    async def why(self, asked: Lookup) -> str:
        """Why nothing serves."""
        meant = await self.meaning.find(asked)
        assert isinstance(meant, NoMatch)
        return meant.reason

    def heard(self) -> list[Change]:
        """What is told from now on."""
        noted: list[Change] = []
        self.note = noted.append
        self.meaning.judge = b"judge"
        return noted


def follow_up(text: str, answer: str, level: Level, last: str = "How old is it?") -> Lookup:
    """The plan of a conversation that goes on after an answer."""
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": last},
    ]
    return near(messages=messages, threads=level.aliases)


def near(text: str = ASKED, *fields: tuple[str, str], **members: Any) -> Lookup:
    """A plan under which three words in common of four are enough."""
    return plan(text, *fields, **({"policy": POLICY} | members))
