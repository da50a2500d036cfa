"""Store an answer once it is whole (design 3)."""

import asyncio
from collections.abc import Callable, Mapping

from proxy.core.cache.freshness import freshness_lifetime
from proxy.core.cache.storable import DoNotStore, Store, Verdict, storable
from proxy.core.cache.value import StoredResponse, entry_id
from proxy.core.classify import Lookup
from proxy.core.wire import headers
from proxy.pipeline.replay import THREAD_ABOVE_BYTES
from proxy.ports import Clock
from proxy.ports import Store as StorePort


class Recorder:
    """Judges finished answers and keeps those that may be kept."""

    def __init__(
        self,
        *,
        store: StorePort,
        clock: Clock,
        chance: Callable[[], float],
        max_bytes: int,
        on_verdict: Callable[[str], None],
    ) -> None:
        """`chance` gives numbers in [0, 1). `on_verdict` is told "stored" or why not."""
        self._store = store
        self._clock = clock
        self._chance = chance
        self.max_bytes = max_bytes
        self._on_verdict = on_verdict

    async def record(self, plan: Lookup, values: Mapping[bytes, bytes], body: bytes) -> bool:
        """Judge an answer that was received to its clean end; whether it was stored.

        `values` are its fields by name; its shape is the one that `plan` asked for.
        """
        if len(body) > THREAD_ABOVE_BYTES:
            verdict = await asyncio.to_thread(self._judge, plan, values, body)
        else:
            verdict = self._judge(plan, values, body)
        return self._keep(plan, values, verdict)

    def refuse(self, reason: DoNotStore) -> None:
        """Count an answer that its head already ruled out."""
        self._on_verdict(reason.reason)

    def _judge(self, plan: Lookup, values: Mapping[bytes, bytes], body: bytes) -> Verdict:
        coding = values.get(b"content-encoding")
        return storable(plan.operation, plan.shape, coding, body, max_bytes=self.max_bytes)

    def _keep(self, plan: Lookup, values: Mapping[bytes, bytes], verdict: Verdict) -> bool:
        if isinstance(verdict, DoNotStore):
            self.refuse(verdict)
            return False
        stored = self._stored_response(plan, values, verdict)
        is_kept = stored.ttl > 0 and self._store.put(stored)
        self._on_verdict("stored" if is_kept else "bounds")
        return is_kept

    def _stored_response(
        self, plan: Lookup, values: Mapping[bytes, bytes], verdict: Store
    ) -> StoredResponse:
        now = self._clock.now()
        ttl = freshness_lifetime(plan.policy, plan.directives.ttl, self._chance())
        fields = headers.stored(values)
        return StoredResponse(
            key=plan.key.exact,
            tenant=plan.tenant,
            operation=plan.operation.name,
            model=plan.model,
            namespace=plan.directives.namespace,
            tags=plan.directives.tags,
            shape=verdict.shape,
            body=verdict.body,
            head=headers.render(
                [
                    (b"content-type", values[b"content-type"]),
                    *fields,
                    (b"x-cache-entry", entry_id(plan.key.exact, now).encode()),
                ]
            ),
            stream_options=plan.stream_options,
            created=now,
            ttl=ttl,
            prompt_tokens=verdict.answer.prompt_tokens or 0,
            completion_tokens=verdict.answer.completion_tokens or 0,
        )
