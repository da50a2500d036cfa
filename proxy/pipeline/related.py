"""After a hit, the question that usually follows is asked before the user does (mission E2)."""

from collections.abc import Callable

from proxy.core.cache.followers import Follower, Followers
from proxy.core.cache.freshness import age
from proxy.core.classify import Lookup, Plan
from proxy.core.exchange import Asked, Exchange
from proxy.core.model import Request
from proxy.core.trace import Trace
from proxy.pipeline.background import Background, Kind, Wanted
from proxy.ports import Clock, Store

BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 256
"""What an answer is expected to take before it is known."""


class Related:
    """Learns from finished exchanges, off every client's path, and asks by itself."""

    def __init__(
        self,
        *,
        plan: Callable[[Request], Plan],
        background: Background,
        store: Store,
        clock: Clock,
    ) -> None:
        """`plan` classifies a request by the rules of now."""
        self._plan = plan
        self._background = background
        self._store = store
        self._clock = clock
        self._followers = Followers()

    @property
    def followers(self) -> Followers:
        """What was learnt."""
        return self._followers

    def note(self, exchange: Exchange) -> None:
        """Learn from an exchange whose request was kept; after a hit, ask what follows."""
        asked, key = exchange.asked, exchange.entry or exchange.missed
        if asked is None or not key or not isinstance(asked.request.body, bytes):
            return
        now = self._clock.monotonic()
        question = Follower(key, asked.request.target, asked.request.body)
        self._followers.note(asked.group, asked.caller, question, now)
        if exchange.level is None:
            return
        for follower in self._followers.likely(asked.group, key, now):
            if self._ask(asked, key, follower, exchange.trace):
                return

    def _ask(self, asked: Asked, key: bytes, follower: Follower, cause: Trace | None) -> bool:
        """Ask a follower in the name of the caller of now; False where there is no need."""
        if self._is_there(follower.key):  # for a question that means the same, perhaps
            return False
        if self._background.is_asking(follower.key):
            return True
        request = asked.request._replace(
            target=follower.target,
            path=follower.target.partition("?")[0],
            body=follower.body,
            length=len(follower.body),
        )
        plan = self._plan(request)
        # A reload may have changed what belongs together since: nothing leaves its tenant.
        if not isinstance(plan, Lookup) or plan.key.scope + plan.key.settings != asked.group:
            return False
        is_of_use = plan.policy.stores and not plan.directives.only_if_cached
        if not is_of_use or self._is_there(plan.key.exact):
            return False
        stale = self._store.peek(plan.key.exact)
        wanted = Wanted(
            Kind.RELATED,
            request,
            plan,
            len(follower.body) // BYTES_PER_TOKEN + ANSWER_TOKENS,
            float("-inf") if stale is None else stale.created,
            lambda: not (self._is_there(plan.key.exact) or self._is_there(follower.key)),
            cause,
        )
        self._background.ask(
            wanted, lambda: self._followers.discourage(asked.group, key, follower.key)
        )
        return True

    def _is_there(self, key: bytes) -> bool:
        stored = self._store.peek(key)
        return stored is not None and age(stored, self._clock.now()) < stored.ttl
