"""Answers that are asked for again and again are fetched anew before they expire (mission E5)."""

from collections import OrderedDict

from proxy.core.cache.freshness import is_ending
from proxy.core.cache.outcome import Hit, Stale
from proxy.core.classify import Lookup
from proxy.core.exchange import Level
from proxy.core.model import Request
from proxy.core.trace import Trace
from proxy.pipeline.background import Background, Kind, Wanted
from proxy.ports import Clock, Store

MAX_COUNTED = 4096
"""Answers near their end that are watched at once."""
TIMES = 2
"""So often must one be asked for near its end."""


class Ahead:
    """Watches hits in the last part of their lifetime."""

    def __init__(self, *, background: Background, store: Store, clock: Clock) -> None:
        self._background = background
        self._store = store
        self._clock = clock
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def note(
        self, request: Request, plan: Lookup, found: Hit | Stale, cause: Trace | None = None
    ) -> None:
        """An answer was served that is perhaps near its end; `cause` is the trace of that."""
        stored = found.stored
        if isinstance(found, Hit) and found.level is not Level.EXACT:
            return  # it was stored for another question, which nobody has asked now
        if not (plan.policy.stores and is_ending(stored, plan.policy, self._clock.now())):
            return
        count = self._counts.pop(stored.key, 0) + 1
        if count < TIMES:
            self._counts[stored.key] = count
            if len(self._counts) > MAX_COUNTED:
                self._counts.popitem(last=False)
            return

        def is_wanted() -> bool:
            there = self._store.peek(stored.key)
            return there is stored and stored.ttl > 0  # not purged, not fetched anew meanwhile

        tokens = stored.prompt_tokens + stored.completion_tokens
        self._background.ask(
            Wanted(Kind.REFRESH, request, plan, tokens, stored.created, is_wanted, cause)
        )
