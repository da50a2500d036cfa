"""Exporting the most valuable entries, and importing what another proxy has exported."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

from aiohttp import web

from proxy.admin.answer import error_answer, json_answer
from proxy.admin.invalidation import actor
from proxy.core.cache.change import Change, Put
from proxy.core.cache.value import StoredResponse
from proxy.ports import Clock, Store
from proxy.store.exported import END, ExportFlaw, ExportReader, Head, begin, frame
from proxy.telemetry.audit import Audit
from proxy.telemetry.tally import MAX_KEYS, By, Tally

Json: TypeAlias = dict[str, Any]

BATCH = 32
"""Changes that are written or taken in before others get their turn."""


class Sets:
    """The routes for exported sets."""

    def __init__(
        self,
        *,
        store: Store,
        tally: Tally,
        companions: Callable[[Sequence[bytes]], Awaitable[Sequence[Change]]],
        beginning: Callable[[], Iterable[Change]],
        take: Callable[[Sequence[Change]], Awaitable[int]],
        settle: Callable[[], None],
        upstreams: Callable[[], Sequence[str]],
        secret: Callable[[], bytes],
        audit: Audit,
        clock: Clock,
    ) -> None:
        """`companions` gives what belongs to the entries of some keys, `beginning` what comes
        before all of them. `take` takes changes in and tells how many entries were stored.
        """
        self._store = store
        self._tally = tally
        self._companions = companions
        self._beginning = beginning
        self._take = take
        self._settle = settle
        self._upstreams = upstreams
        self._secret = secret
        self._audit = audit
        self._clock = clock

    async def export(self, request: web.Request) -> web.StreamResponse:
        """The entries that are given most, else the newest, as a stream."""
        text = request.query.get("top", "")
        if text and not (text.isascii() and text.isdigit() and len(text) < 10):
            return error_answer(400, "top must be a whole number.")
        self._settle()
        chosen = await self._most_valuable(int(text) if text else None)
        head = Head(len(chosen), self._digest(), tuple(self._upstreams()), self._clock.now())
        response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        await response.prepare(request)
        await response.write(begin(head) + b"".join(map(frame, self._beginning())))
        entries = iter(chosen)
        while batch := list(islice(entries, BATCH)):
            keys = [stored.key for stored in batch]
            changes = [*map(Put, batch), *await self._companions(keys)]
            await response.write(b"".join(map(frame, changes)))
            await asyncio.sleep(0)  # a fast reader never lets `write` wait
        await response.write(END)
        await response.write_eof()
        self._audit.note("export", actor(request), {"count": len(chosen)})
        return response

    async def _most_valuable(self, top: int | None) -> list[StoredResponse]:
        entries, now = self._store.scan(), self._clock.now()
        hits = {given.key: given.hits for given in self._tally.top(By.HITS, MAX_KEYS)}

        def choose() -> list[StoredResponse]:
            fresh = [stored for stored in entries if stored.created + stored.ttl > now]
            fresh.sort(key=lambda stored: (hits.get(stored.key, 0), stored.created), reverse=True)
            return fresh[:top]

        return await asyncio.to_thread(choose)

    async def take_in(self, request: web.Request) -> web.Response:
        """Take an exported set in, as it arrives. What came before a flaw stays."""
        reader = ExportReader(request.content)
        count, stored, flaw = 0, 0, ""
        batch: list[Change] = []
        warnings: list[str] = []
        try:
            head = await reader.head()
            if not hmac.compare_digest(head.secret, self._digest()):
                return error_answer(400, f"Nothing was imported: {_OTHERS_KEYS}.")
            warnings += self._doubts(head)
            async for change in reader.changes():
                batch.append(change)
                count += isinstance(change, Put)
                if len(batch) >= BATCH:
                    stored += await self._take(batch)
                    batch = []
                    await asyncio.sleep(0)
        except ExportFlaw as error:
            flaw = str(error)
        stored += await self._take(batch)
        told: Json = {"imported": stored, "left_out": count - stored, "warnings": warnings}
        self._audit.note("import", actor(request), {"count": stored})
        if flaw:
            kept = "The set is not whole, what came before was taken in"
            message = f"{kept if count else 'Nothing was imported'}: {flaw}."
            return json_answer({**told, "error": {"message": message}}, 400)
        return json_answer(told)

    def _digest(self) -> str:
        """Of the tenancy's secret: all keys are made with it."""
        return hmac.digest(self._secret(), b"exported set", "sha256")[:16].hex()

    def _doubts(self, head: Head) -> list[str]:
        missing = sorted(set(head.upstreams) - set(self._upstreams()))
        if not missing:
            return []
        return [
            f"answers of the upstream {name!r} are not found here: no upstream has that name; "
            "give it to the one that they are for (upstreams[].name)"
            for name in missing
        ]


_OTHERS_KEYS = (
    "it was exported under another tenancy.secret, with which its keys are made; "
    "set tenancy.secret to the same value on both"
)
