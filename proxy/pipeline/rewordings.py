"""What was answered by meaning becomes an alias: its words are found by their key from then on.

With the digest of the answer the conversation may go on as the other's (core/cache/thread.py).
"""

import asyncio
from collections.abc import Callable

import orjson

from proxy.core.cache.change import Aliased, Change
from proxy.core.cache.thread import answer_digest
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.meaning.gate import Candidate
from proxy.core.meaning.negatives import text_digest
from proxy.core.model import Shape
from proxy.core.wire import sse
from proxy.core.wire.operation import Operation
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.replay import THREAD_ABOVE_BYTES
from proxy.ports import Clock, Store
from proxy.tasks import Tasks


class Rewordings:
    """Makes aliases, and ends those that a new answer replaces."""

    def __init__(
        self,
        *,
        store: Store,
        aliases: Aliases,
        judge: Callable[[], bytes],
        clock: Clock,
        tasks: Tasks,
        note: Callable[[Change], None] | None,
    ) -> None:
        """`judge` is the digest of what decides by meaning now. `note` is told of every alias."""
        self._store = store
        self._aliases = aliases
        self._judge = judge
        self._clock = clock
        self._tasks = tasks
        self._note = note

    def answered(self, plan: Lookup, candidate: Candidate) -> None:
        """A repeat need not be compared again, and the conversation may go on as the other's."""
        stored = self._store.get(candidate.key)
        if stored is None or candidate.key == plan.key.exact:
            return
        asked = text_digest(plan.key.scope, plan.text)
        alias = Alias(candidate.key, candidate.similarity, asked, b"")
        self._put(plan, alias)
        self._tasks.spawn(self._note_answer(plan, stored, alias), "thread")

    def replace(self, plan: Lookup) -> None:
        """An answer of its own takes the place of the one that was given by meaning."""
        alias = self._aliases.pop(plan.key.exact)
        if alias is not None and plan.directives.no_cache:
            # The client would not have what was stored: its fresh answer takes the place of both.
            self._store.delete(alias.target)

    async def _note_answer(self, plan: Lookup, stored: StoredResponse, alias: Alias) -> None:
        if len(stored.body) > THREAD_ABOVE_BYTES:
            text = await asyncio.to_thread(_spoken, stored, plan.operation)
        else:
            text = _spoken(stored, plan.operation)
        # Unless feedback has taken it back meanwhile.
        if text and self._aliases.get(plan.key.exact) is alias:
            self._put(plan, alias._replace(answer=answer_digest(text)))

    def _put(self, plan: Lookup, alias: Alias) -> None:
        key = plan.key.exact
        self._aliases.put(key, alias)
        if self._note is not None:
            self._note(Aliased(key, *alias, judge=self._judge(), at=self._clock.now()))


def _spoken(stored: StoredResponse, operation: Operation) -> str | None:
    """The text of a stored answer; None where it is more, or other, than text."""
    body: bytes | None = stored.body
    if stored.shape is Shape.SSE:
        body = operation.to_document(sse.split(stored.body)[0])
    document = orjson.loads(body) if body else {}
    try:
        message = document["choices"][0]["message"]
        text = None if message.get("tool_calls") else message["content"]
    except (LookupError, TypeError, AttributeError):
        return None
    return text if isinstance(text, str) else None
