"""Store an answer once it is whole (design 3)."""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxy.core.cache.entry_name import joined
from proxy.core.cache.freshness import freshness_lifetime, made_at
from proxy.core.cache.selector import Selector
from proxy.core.cache.storable import DoNotStore, Store, Verdict, storable
from proxy.core.cache.value import StoredResponse, entry_id
from proxy.core.classify import Lookup
from proxy.core.wire import headers
from proxy.pipeline.replay import THREAD_ABOVE_BYTES
from proxy.ports import Clock
from proxy.ports import Store as StorePort
from proxy.tasks import Tasks

JUDGED_AT_ONCE_BYTES = 16 * 1024
BATCH_BYTES = 8 << 20
BATCH_SECONDS = 0.02
SLICE_SECONDS = 0.001
"""How long recording keeps the event loop at a time."""


@dataclass(slots=True, eq=False)
class Recording:
    """An answer that was received to its clean end and waits to be judged."""

    plan: Lookup
    values: Mapping[bytes, bytes]
    """Its fields by name; its shape is the one that `plan` asked for."""
    body: bytes
    began: float
    ended: float
    """Wall time in seconds at which it was asked for, and at which it was whole."""
    purges: Sequence[Selector]
    """What was purged meanwhile."""
    on_done: Callable[[bool], None]
    """Told whether it was stored."""
    verdict: Verdict | None = None
    """What it was judged already."""


class Recorder:
    """Judges finished answers and keeps those that may be kept.

    Not at once, but many at a time: judging takes its time, and the next request may be waiting
    already. Whoever asks for one that waits has it judged first.
    """

    def __init__(
        self,
        *,
        store: StorePort,
        clock: Clock,
        chance: Callable[[], float],
        max_bytes: int,
        on_verdict: Callable[[str], None],
        on_stored: Callable[[Lookup, StoredResponse], None],
        tasks: Tasks,
    ) -> None:
        """`chance` gives numbers in [0, 1).

        `on_verdict` is told "stored" or why not, `on_stored` what is stored and for which question.
        """
        self._store = store
        self._clock = clock
        self._chance = chance
        self.max_bytes = max_bytes
        self._on_verdict = on_verdict
        self._on_stored = on_stored
        self._tasks = tasks
        self._waiting: OrderedDict[bytes, Recording] = OrderedDict()
        self._waiting_bytes = 0
        self._is_working = False

    def add(self, recording: Recording) -> None:
        """Judge it within BATCH_SECONDS."""
        self.settle(recording.plan.key.exact)
        self._waiting[recording.plan.key.exact] = recording
        self._waiting_bytes += len(recording.body)
        while self._waiting_bytes > BATCH_BYTES:
            self._next()
        if not self._is_working:
            self._is_working = True
            self._tasks.spawn(self._work(), "record")

    def will_store(self, recording: Recording) -> bool | None:
        """Judge a small JSON answer now, so that its head can tell; None for any other."""
        if len(recording.body) > JUDGED_AT_ONCE_BYTES:
            return None
        verdict = recording.verdict = self._judge(recording)
        plan = recording.plan
        lifetime = freshness_lifetime(plan.policy, plan.directives.ttl, 0.5)
        made = made_at(recording.values, began=recording.began, ended=recording.ended)
        return isinstance(verdict, Store) and lifetime > recording.ended - made

    def record(self, recording: Recording) -> None:
        """Judge it now, or, if it is large, in a thread from now on."""
        if len(recording.body) > THREAD_ABOVE_BYTES:
            self._tasks.spawn(self._record_large(recording), "record")
            return
        verdict = recording.verdict
        try:
            verdict = verdict or self._judge(recording)
        finally:
            self._keep(recording, verdict)

    def settle(self, key: bytes) -> None:
        """Judge now what waits under an exact key: somebody asks for it."""
        recording = self._waiting.pop(key, None)
        if recording is not None:
            self._waiting_bytes -= len(recording.body)
            self.record(recording)

    def flush(self) -> None:
        """Judge all that wait."""
        while self._waiting:
            self._next()

    async def _work(self) -> None:
        try:
            await asyncio.sleep(BATCH_SECONDS)
            while self._waiting:
                end = self._clock.monotonic() + SLICE_SECONDS
                while self._waiting and self._clock.monotonic() < end:
                    self._next()
                await asyncio.sleep(0)
        finally:
            # Should it die of a mistake, the next answer brings another, which goes on from there.
            self._is_working = False

    def _next(self) -> None:
        self.settle(next(iter(self._waiting)))

    async def _record_large(self, recording: Recording) -> None:
        verdict = None
        try:
            verdict = await asyncio.to_thread(self._judge, recording)
        finally:
            self._keep(recording, verdict)

    def refuse(self, reason: DoNotStore) -> None:
        """Count an answer that its head already ruled out."""
        self._on_verdict(reason.reason)

    def _judge(self, recording: Recording) -> Verdict:
        plan = recording.plan
        coding = recording.values.get(b"content-encoding")
        return storable(
            plan.operation,
            plan.shape,
            coding,
            recording.body,
            max_bytes=self.max_bytes,
            items=plan.items,
        )

    def _keep(self, recording: Recording, verdict: Verdict | None) -> None:
        # Whatever happens here or before, nobody shall wait for this answer any longer.
        is_kept = False
        try:
            if isinstance(verdict, DoNotStore):
                self.refuse(verdict)
            elif verdict is not None:
                stored = self._stored_response(recording, verdict)
                refusal = self._refusal(recording, stored)
                is_kept = refusal is None and self._store.put(stored)
                self._on_verdict("stored" if is_kept else refusal or "bounds")
                if is_kept:
                    self._on_stored(recording.plan, stored)
        finally:
            recording.on_done(is_kept)

    def _refusal(self, recording: Recording, stored: StoredResponse) -> str | None:
        """Why an answer that may be stored is not."""
        if stored.ttl <= recording.ended - stored.created:
            return "ttl"
        # Asked for before somebody else's answer came: that one is fresher, if it came by no-cache.
        there = self._store.get(stored.key)
        if there is not None and there.created > recording.began:
            return "overtaken"
        if any(selector.selects(stored) for selector in recording.purges):
            return "purged"
        return None

    def _stored_response(self, recording: Recording, verdict: Store) -> StoredResponse:
        plan, values, ended = recording.plan, recording.values, recording.ended
        created = made_at(values, began=recording.began, ended=ended)
        name = entry_id(plan.key.exact, created).encode()
        if plan.pool.is_reprise:
            name = joined(name, values.get(b"x-cache-entry"))
        ttl = freshness_lifetime(plan.policy, plan.directives.ttl, self._chance())
        fields = headers.stored(values)
        return StoredResponse(
            key=plan.key.exact,
            tenant=plan.tenant,
            operation=plan.operation.name,
            model=sys.intern(plan.model),  # few models, many answers
            namespace=plan.directives.namespace,
            tags=plan.directives.tags,
            shape=verdict.shape,
            body=verdict.body,
            head=headers.render(
                [
                    (b"content-type", values[b"content-type"]),
                    *fields,
                    (b"x-cache-entry", name),
                ]
            ),
            stream_options=plan.stream_options,
            created=created,
            ttl=ttl,
            prompt_tokens=verdict.answer.prompt_tokens or 0,
            completion_tokens=verdict.answer.completion_tokens or 0,
            duration=max(0.0, ended - recording.began),
        )
