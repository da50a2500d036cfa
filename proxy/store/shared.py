"""The answers that all replicas have in common, in Redis; fulfils the Shared port."""

import asyncio
from collections import Counter
from typing import Any, Protocol, TypeAlias

from proxy.core.cache.value import StoredResponse
from proxy.redis_link.errors import LinkDown
from proxy.redis_link.link import RedisLink
from proxy.redis_link.scripts import Command, send
from proxy.store.codec import Unreadable
from proxy.store.redis_keys import EntryKeys, read_entry
from proxy.store.redis_leases import IDLE_SECONDS, LEASE_SECONDS, Leases
from proxy.tasks import Tasks

POLL_SECONDS = 0.1
"""Who waits for another replica's answer looks so often whether that one still lives."""
INLINE_BYTES = 256 * 1024
"""What is longer is read in a thread."""
_COUNTED = (
    *("fetches", "fetches_spared", "hits", "unreadable"),
    *("claims", "waits", "waits_served", "waits_over"),
)

Answer: TypeAlias = StoredResponse | int | None
"""To a claim: a fresh answer, or the token of a lease that was taken; HELD, GONE; None: no word."""
HELD = 0
GONE = -1


class Known(Protocol):
    """The keys that are in Redis (core/cache/bloom.py)."""

    def complete(self) -> bool:
        """Whether a key that is not known is surely absent."""

    def __contains__(self, key: bytes, /) -> bool: ...


class SharedEntries:
    """Asks Redis for answers, and for who gets one that is missing."""

    def __init__(
        self,
        link: RedisLink,
        *,
        keys: EntryKeys,
        leases: Leases,
        known: Known,
        deadline: float,
        tasks: Tasks,
    ) -> None:
        """`deadline` is what one question may take, in seconds."""
        self._link = link
        self._keys = keys
        self._leases = leases
        self._known = known
        self._deadline = deadline
        self._tasks = tasks
        self._waiting: dict[bytes, set[asyncio.Event]] = {}
        self._counts: Counter[str] = Counter()

    def start(self) -> None:
        """Keep the leases alive, by a loop that ends with the tasks."""
        self._tasks.keep(
            lambda beat: self._leases.run(beat, self._link, self._keys),
            "redis leases",
            every=IDLE_SECONDS,
        )

    async def fetch(self, key: bytes) -> StoredResponse | None:
        """What is stored under an exact key, stale or not; None where that is not known in time."""
        if self._known.complete() and key not in self._known:
            self._counts["fetches_spared"] += 1
            return None
        self._counts["fetches"] += 1
        value = await self._ask(("GET", self._keys.answer(key)))
        stored = await self._read(value, key) if isinstance(value, bytes) else None
        self._counts["hits"] += stored is not None
        return stored

    async def claim(self, key: bytes, patience: float) -> StoredResponse | None:
        """Another replica's answer, there or within `patience` seconds; None: call the upstream."""
        self._counts["claims"] += 1
        if self._leases.join(key):
            return None
        answer = await self._claim(key, take=True)
        if answer == HELD and patience > 0:
            self._counts["waits"] += 1
            answer = await self._wait(key, patience)
            self._counts["waits_served"] += isinstance(answer, StoredResponse)
        return answer if isinstance(answer, StoredResponse) else None

    def release(self, key: bytes) -> None:
        """The call has ended; the lease is given up soon, or with the answer that is written."""
        self._leases.end(key)

    def arrived(self, key: bytes) -> None:
        """Another replica has stored an answer: who waits for it looks at once."""
        for event in self._waiting.get(key, ()):
            event.set()

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {
            "redis_leases": len(self._leases),
            **{f"redis_{name}": self._counts[name] for name in _COUNTED},
        }

    async def _wait(self, key: bytes, patience: float) -> Answer:
        event = asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        try:
            async with asyncio.timeout(patience):
                return await self._look(key, event)
        except TimeoutError:
            self._counts["waits_over"] += 1
            return None
        finally:
            waiting = self._waiting[key]
            waiting.discard(event)
            if not waiting:
                del self._waiting[key]

    async def _look(self, key: bytes, event: asyncio.Event) -> Answer:
        """Look again and again until the lease is gone, then try once to have it oneself."""
        while True:
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await event.wait()
            except TimeoutError:
                pass  # nobody has told; it may be so all the same
            event.clear()
            answer = await self._claim(key, take=False)
            if answer == GONE:
                return await self._claim(key, take=True)
            if answer is None and not self._link.is_open:
                continue  # late this once
            if answer != HELD:
                return answer

    async def _claim(self, key: bytes, *, take: bool) -> Answer:
        answer = await self._ask(self._keys.claim(key, LEASE_SECONDS, take=take), writes=take)
        if isinstance(answer, bytes):
            return await self._read(answer, key)
        if not isinstance(answer, int):
            return None
        if answer > HELD:
            self._leases.take(key, answer)
        return answer

    async def _ask(self, command: Command, *, writes: bool = False) -> Any:
        try:
            return await self._link.call(
                lambda client: send(client, command), deadline=self._deadline, writes=writes
            )
        except LinkDown:
            return None

    async def _read(self, value: bytes, key: bytes) -> StoredResponse | None:
        try:
            if len(value) > INLINE_BYTES:
                entry = await asyncio.to_thread(read_entry, value, key)
            else:
                entry = read_entry(value, key)
        except Unreadable:
            self._counts["unreadable"] += 1
            return None
        return entry.stored if entry is not None else None
