"""A client's word on an answer that it was given: a wrong one goes, for good (mission D5)."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Protocol

import orjson

from proxy.core.cache.change import Rejected
from proxy.core.cache.entry_name import is_name, own_part, told_name, upstream_part
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import readable_tenants
from proxy.core.errors import BadRequest, NoSuchEntry
from proxy.core.exchange import Level
from proxy.core.meaning.comparable import compared_text
from proxy.core.meaning.negatives import Negatives
from proxy.core.model import Request, Response
from proxy.core.policy import Rules
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.chain import Chain
from proxy.pipeline.purge import AT_ONCE
from proxy.ports import Clock, Store

_FORM = 'send {"entry": "<x-cache-entry>", "verdict": "wrong" or "right", "question": "..."}'


class Verdict(StrEnum):
    """What is said of an answer."""

    WRONG = "wrong"
    RIGHT = "right"


class Opinion(NamedTuple):
    """What was said of which answer."""

    entry: str
    """Its public name."""
    verdict: Verdict
    question: str | None
    """The question that it was given for, where that was told."""


class Questions(Protocol):
    """What is known of the questions of entries (pipeline/meaning.py)."""

    def digest(self, key: bytes, text: str | None = None) -> bytes | None:
        """The digest of an entry's question, or of a text asked by whoever may have the entry."""


class Feedback:
    """Takes opinions, and sees to it that a wrong answer is not given again."""

    def __init__(
        self,
        *,
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        clock: Clock,
        on_opinion: Callable[[Opinion, Level | None], None],
        on_rejected: Callable[[Rejected], None] = lambda rejected: None,
        chain: Chain | None = None,
    ) -> None:
        """`on_opinion` is told each one that was taken, and how the answer was found, if that is
        known; `on_rejected` what has gone for it.

        `chain` passes on those of clients.
        """
        self.questions: Questions | None = None
        """Set where answers are looked up by meaning."""
        self._store = store
        self._aliases = aliases
        self._negatives = negatives
        self._chain = chain
        self._clock = clock
        self._on_rejected = on_rejected
        self._on_opinion = on_opinion

    async def answer(self, request: Request, rules: Rules, secret: bytes) -> Response:
        """The response to a client's feedback; it may speak of what it may read.

        An upstream that is a cache too is told as well, also of what is not stored here any longer:
        then the answer is 202, for only the upstream knows. Raises BadRequest or NoSuchEntry.
        """
        opinion = read(request.body if request.method == "POST" else None)
        tenants = readable_tenants(request, rules, secret)
        stored = await self._find(opinion.entry)
        told: dict[str, object] = {"entry": opinion.entry, "verdict": opinion.verdict}
        is_ours = stored is not None and stored.tenant in tenants
        if (stored is None or is_ours) and self._pass_on(request, opinion, stored, rules):
            told["forwarded"] = True
        elif not is_ours:
            raise NoSuchEntry(f"There is no entry {opinion.entry!r} among yours.")
        if stored is not None:
            self._act(opinion, stored)
        body = orjson.dumps(told)
        head = b"Content-Type: application/json\r\n"
        status, reason = (200, b"OK") if is_ours else (202, b"Accepted")
        return Response(status, reason, head, body, len(body))

    def _pass_on(
        self, request: Request, opinion: Opinion, stored: StoredResponse | None, rules: Rules
    ) -> bool:
        """Tell the upstreams that may know the answer; whether there is any."""
        pools = self._chain.pools if self._chain is not None else ()
        if stored is not None:
            pools = tuple(pool for pool in pools if pool.name == rules.pool_for(stored.model).name)
            theirs = upstream_part(told_name(stored.head))
        else:
            # What was never stored here has the upstream's own name.
            theirs = upstream_part(opinion.entry) or opinion.entry
        if self._chain is None or not pools or not is_name(theirs):
            return False
        said: dict[str, object] = {"entry": theirs, "verdict": opinion.verdict}
        if opinion.question is not None:
            said["question"] = opinion.question
        self._chain.feedback(request, said, pools, rules.default)
        return True

    async def take(self, opinion: Opinion, may_speak: Callable[[StoredResponse], bool]) -> bool:
        """Act on an opinion; False where there is no such entry, or none of the speaker's.

        What is wrong goes, with all that was answered with it. The question told, or each that the
        entry was given for where none is told, is never again given the answer to this question.
        So does what was stored in conversations that went on from there.
        """
        stored = await self._find(opinion.entry)
        if stored is None or not may_speak(stored):
            return False
        self._act(opinion, stored)
        return True

    def _act(self, opinion: Opinion, stored: StoredResponse) -> None:
        level = self._level(stored.key, opinion.question)
        if opinion.verdict is Verdict.WRONG:
            self._take_back(stored, opinion.question)
        self._on_opinion(opinion, level)

    def _level(self, key: bytes, question: str | None) -> Level | None:
        """How the answer was found: for its own question, or for another one; None: who knows."""
        if self.questions is not None and question is not None:
            told = self.questions.digest(key, compared_text(question))
            own = self.questions.digest(key)
            if own is not None:
                return Level.EXACT if told == own else Level.SEMANTIC
        return None if self._aliases.has_target(key) else Level.EXACT

    def heard_elsewhere(self, rejected: Rejected) -> None:
        """Act on an opinion that another process has taken."""
        _, followers = self._aliases.pop_all(rejected.key)
        for one, other in rejected.pairs:
            self._negatives.add(one, other)
        there = self._store.peek(rejected.key)
        if there is not None and there.created <= rejected.at:
            self._store.delete(rejected.key)
        for follower in followers:
            self._store.delete(follower)

    def _take_back(self, stored: StoredResponse, question: str | None) -> None:
        key = stored.key
        aliases, followers = self._aliases.pop_all(key)
        pairs = self._pairs(key, {alias.asked for alias in aliases}, question)
        for own, digest in pairs:
            self._negatives.add(own, digest)
        self._on_rejected(Rejected(key, max(self._clock.now(), stored.created), pairs))
        for wrong in (key, *followers):
            self._store.delete(wrong)

    def _pairs(
        self, key: bytes, asked: set[bytes], question: str | None
    ) -> tuple[tuple[bytes, bytes], ...]:
        """The entry's question with each that its answer was wrong for."""
        own = self.questions.digest(key) if self.questions else None
        if self.questions is None or own is None:
            return ()
        told = self.questions.digest(key, compared_text(question)) if question else None
        if told is not None:
            # A mask may have changed it: then all that the entry was given for are meant.
            asked = {told} if told in asked else {told, *asked}
        return tuple((own, digest) for digest in sorted(asked) if digest != own)

    async def _find(self, entry: str) -> StoredResponse | None:
        """By our name of it, or by what an upstream that is a cache too calls it."""
        own = own_part(entry)
        theirs = f".{entry}" if self._chain is not None and self._chain.pools else ""
        for number, stored in enumerate(self._store.scan()):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            if stored.id == own or (theirs and told_name(stored.head).endswith(theirs)):
                # It may have gone while others had their turn.
                return stored if self._store.peek(stored.key) is stored else None
        return None


def read(body: object) -> Opinion:
    """An opinion from the body of a request. Raises BadRequest that says what would be right."""
    try:
        said = orjson.loads(body) if isinstance(body, bytes) else None
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        raise BadRequest(f"Feedback is a POST of a JSON object: {_FORM}.")
    entry, verdict, question = (said.get(name) for name in ("entry", "verdict", "question"))
    if not isinstance(entry, str) or verdict not in tuple(Verdict):
        raise BadRequest(f"entry or verdict is not as it should be: {_FORM}.")
    if question is not None and not isinstance(question, str):
        raise BadRequest(f"question must be text: {_FORM}.")
    return Opinion(entry, Verdict(verdict), question)
