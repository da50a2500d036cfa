"""A proxy without a network: the pipeline that serves, before an upstream that is told what to say.

Commands that measure ask it, so that what they measure is what serves.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import orjson

from proxy.clock import SystemClock
from proxy.config import Config
from proxy.core.cache.budget import Budget
from proxy.core.exchange import Exchange
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.model import Fields, Request
from proxy.core.policy import Policy, Route, Rules
from proxy.core.wire.operation import Operation, discover
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.background import Background
from proxy.pipeline.feedback import Feedback
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.pipeline import Pipeline
from proxy.pipeline.record import Recorder
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.turns import Turns
from proxy.ports import UpstreamReply, UpstreamRequest, Wire
from proxy.semantic_level import SemanticLevel, make_gate
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry.log import Log

PATH = "/v1/chat/completions"
_ANSWER = b"x-rehearsed-answer"
_PATIENCE_SECONDS = 60.0
"""In place of the deadline, for a busy machine shall not change what is measured."""


@contextlib.asynccontextmanager
async def rehearsing(config: Config, log: Log) -> AsyncIterator["Rehearsal"]:
    """A rehearsal with every encoder that is configured, for as long as the block lasts.

    Raises ModelError where one is missing, VerifierError or OSError.
    """
    gate = await asyncio.to_thread(make_gate, config.static.verifier)
    operations = await asyncio.to_thread(discover)
    rehearsal = Rehearsal(config, gate, operations, log)
    try:
        await rehearsal.level.load_all()
        yield rehearsal
    finally:
        await rehearsal.close()


class Asked(NamedTuple):
    """What came of one question."""

    exchange: Exchange
    answer: str


class Rehearsal:
    """One cache, of which any number of questions can be asked."""

    def __init__(
        self, config: Config, gate: Gate, operations: Sequence[Operation], log: Log
    ) -> None:
        """Must be made on the event loop; see `rehearsing`."""
        clock = SystemClock()
        dynamic = config.dynamic
        self._died: list[BaseException] = []
        self._tasks = Tasks(lambda name, error: self._died.append(error))
        self._store = MemoryStore(
            max_bytes=1 << 40,
            max_entries=1 << 40,
            max_entry_bytes=dynamic.memory_max_entry_bytes,
            on_gone=lambda key: self.level.meaning.forget(key),
        )
        aliases, negatives = Aliases(), Negatives()
        self.level = SemanticLevel(
            encoders=config.static.encoders,
            gate=gate,
            scan_below=config.static.scan_below,
            store=self._store,
            aliases=aliases,
            negatives=negatives,
            clock=clock,
            tasks=self._tasks,
            log=log,
        )
        self._recorder = Recorder(
            store=self._store,
            clock=clock,
            chance=lambda: 0.5,
            max_bytes=dynamic.memory_max_entry_bytes,
            on_verdict=lambda verdict: None,
            on_stored=self.level.meaning.learn,
            tasks=self._tasks,
        )
        acceptance, refusals, upstream = Acceptance(clock), Refusals(), _Told()
        turns = Turns(yield_above=0, max_concurrent=1)
        fetcher = Fetcher(
            upstream=upstream,
            recorder=self._recorder,
            acceptance=acceptance,
            refusals=refusals,
            turns=turns,
            tasks=self._tasks,
            clock=clock,
        )
        background = Background(
            turns=turns,
            budget=Budget(per_minute=0, tokens_per_hour=0),
            fetcher=fetcher,
            store=self._store,
            tasks=self._tasks,
            clock=clock,
            on_result=lambda kind, result, tokens: None,
        )
        self._pipeline = Pipeline(
            rules=_patient(config.rules(1)),
            operations=operations,
            secret=secrets.token_bytes(32),
            store=self._store,
            aliases=aliases,
            semantic=self.level.meaning,
            acceptance=acceptance,
            fetcher=fetcher,
            recorder=self._recorder,
            refusals=refusals,
            feedback=Feedback(
                store=self._store,
                aliases=aliases,
                negatives=negatives,
                clock=clock,
                on_opinion=lambda opinion, level: None,
            ),
            turns=turns,
            background=background,
            ahead=Ahead(background=background, store=self._store, clock=clock),
            keeps_requests=False,
            upstream=upstream,
            clock=clock,
            hop="rehearsal",
        )
        self._clock = clock

    async def close(self) -> None:
        """End the threads."""
        await self._tasks.drain(0.0)
        await self.level.close()

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], answer: str, *, namespace: str = ""
    ) -> Asked:
        """Ask a conversation's last message; `answer` is what the upstream says if it is asked."""
        body = orjson.dumps({"model": "rehearsed", "temperature": 0, "messages": messages})
        told = orjson.dumps(answer).decode()
        values = {"Content-Type": "application/json", "x-cache-namespace": namespace}
        fields = tuple((name.encode(), value.encode()) for name, value in values.items() if value)
        request = Request(
            method="POST",
            target=PATH,
            path=PATH,
            fields=(*fields, (_ANSWER, told.encode())),
            header=_look_up({name.lower(): value for name, value in values.items() if value}),
            body=body,
            length=len(body),
        )
        exchange = Exchange(self._clock.monotonic(), "POST", PATH)
        response = await self._pipeline.handle(request, exchange)
        content = response.body
        if not isinstance(content, bytes):
            content = b"".join([piece async for piece in content])
        await asyncio.sleep(0)  # the flight has ended
        self._recorder.flush()
        await asyncio.sleep(0)  # the conversation can go on from an alias
        if self._died:
            raise self._died[0]
        return Asked(exchange, orjson.loads(content)["choices"][0]["message"]["content"])


class _Told:
    """The upstream: it answers with what the request's own field tells it."""

    async def send(self, request: UpstreamRequest) -> UpstreamReply:
        """Answer at once."""
        told = next(value for name, value in request.fields if name == _ANSWER)
        message = {"role": "assistant", "content": orjson.loads(told)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return _Reply(orjson.dumps({"object": "chat.completion", "choices": [choice]}))

    async def dial(self, url: str, deadlines: object) -> Wire:
        """No raw connection is asked for."""
        raise NotImplementedError


class _Reply:
    """Its answer, which has arrived already."""

    status = 200
    reason = "OK"

    def __init__(self, body: bytes) -> None:
        self.fields: Fields = (
            (b"Content-Type", b"application/json"),
            (b"Content-Length", str(len(body)).encode()),
        )
        self.body = _Whole(body)


class _Whole:
    """A live body in one piece."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    @property
    def at_end(self) -> bool:
        return not self._body

    def ready(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._body:
            raise StopAsyncIteration
        return self.ready()

    async def aclose(self) -> None:
        self._body = b""


def _look_up(values: Mapping[str, str]) -> Callable[[str], str | None]:
    return lambda name: values.get(name.lower())


def _patient(rules: Rules) -> Rules:
    def patient(policy: Policy) -> Policy:
        return replace(policy, semantic=replace(policy.semantic, deadline=_PATIENCE_SECONDS))

    routes = tuple(Route(route.match, patient(route.policy)) for route in rules.routes)
    return replace(rules, default=patient(rules.default), routes=routes)
