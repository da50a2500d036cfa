"""What is asked most in a log: equal questions counted, rewordings put together (mission E1)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proxy.cli.warm_input import Entry, Place
from proxy.config import Config
from proxy.core.classify import Bypass, classify
from proxy.core.model import Request
from proxy.core.wire.operation import discover
from proxy.rehearsal import rehearsing
from proxy.telemetry.log import Event

_SECRET = b"reprise warm"
"""Keys of this command are compared with each other only."""


@dataclass(slots=True, eq=False)
class Question:
    """One question, or a group of rewordings of it; the most frequent wording stands for all."""

    key: bytes
    """Its exact key, which needs not be the proxy's."""
    place: Place
    """Where it stands first."""
    count: int
    history: bytes
    """The partition in which it is compared."""
    text: str
    """What is compared by meaning; empty where nothing is."""
    wordings: int = 1


class Survey:
    """Counts requests by their exact keys, as the proxy makes them."""

    def __init__(self, config: Config, fields: Sequence[tuple[str, str]]) -> None:
        """`fields` are the header fields with which all are asked."""
        self._rules = config.rules(1)
        self._operations = discover()
        self._fields = (("Content-Type", "application/json"), *fields)
        self._questions: dict[bytes, Question] = {}
        self.requests = 0
        self.left_alone: Counter[str] = Counter()
        """Requests that the cache has nothing to do with, by the reason."""

    def add(self, entry: Entry, place: Place) -> None:
        """Count one."""
        self.requests += 1
        plan = classify(self._request(entry), self._rules, self._operations, _SECRET)
        if isinstance(plan, Bypass):
            self.left_alone[str(plan.reason)] += 1
            return
        key = plan.key
        question = self._questions.get(key.exact)
        if question is None:
            text = plan.text if plan.policy.semantic.enabled else ""
            self._questions[key.exact] = Question(key.exact, place, 1, key.history, text)
        else:
            question.count += 1

    def most_frequent(self) -> list[Question]:
        """All questions; of equally frequent ones, those that come first stand first."""
        return by_count(self._questions.values())

    def _request(self, entry: Entry) -> Request:
        body = orjson.dumps(entry.body)
        values = {name.lower(): value for name, value in self._fields}
        return Request(
            method="POST",
            target=entry.target,
            path=entry.target.partition("?")[0],
            fields=tuple(
                (name.encode(), value.encode("utf-8", "surrogateescape"))
                for name, value in self._fields
            ),
            header=lambda name: values.get(name.lower()),
            body=body,
            length=len(body),
        )


def by_count(questions: Iterable[Question]) -> list[Question]:
    """The most frequent first."""
    return sorted(questions, key=lambda question: -question.count)


def together(
    questions: Sequence[Question], config: Config, track: Callable[[Sequence[Any]], Iterable[Any]]
) -> list[Question]:
    """One question for each group of rewordings: those that the gate which serves lets serve.

    `questions` come most frequent first, `track` shows how far it is. Raises ModelError,
    VerifierError or OSError where there is nothing to compare with.
    """
    return asyncio.run(_together(questions, config, track))


async def _together(
    questions: Sequence[Question], config: Config, track: Callable[[Sequence[Any]], Iterable[Any]]
) -> list[Question]:
    heads: list[Question] = []
    async with rehearsing(config, _Quiet()) as rehearsal:
        for question in track(questions):
            number = len(heads)
            if question.text:
                messages = [{"role": "user", "content": question.text}]
                namespace = question.history.hex()
                asked = await rehearsal.ask(messages, str(number), namespace=namespace)
                number = int(asked.answer)
            if number == len(heads):
                heads.append(question)
            else:
                heads[number].count += question.count
                heads[number].wordings += question.wordings
    return by_count(heads)


class _Quiet:
    """A log that nobody reads: what is wrong is told by exceptions."""

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Write nothing."""
