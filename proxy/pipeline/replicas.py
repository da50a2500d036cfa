"""What other replicas have stored, or are about to (mission C2, E6)."""

from collections.abc import Callable

from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.ports import Shared


class Replicas:
    """Asks for answers that are missing here, and keeps those that it gets."""

    def __init__(
        self, shared: Shared, *, admit: Callable[[StoredResponse], bool], patience: float
    ) -> None:
        """`admit` keeps an answer here, or says that it is not to be served.

        `patience` is how many seconds a request waits for the same call of another replica; 0 makes
        the call at once, beside the other.
        """
        self._shared = shared
        self._admit = admit
        self._patience = patience

    async def find(self, plan: Lookup) -> bool:
        """Whether the answer to a question is stored elsewhere, and so is here by now."""
        return self._take(plan, await self._shared.fetch(plan.key.exact))

    async def claim(self, plan: Lookup, newer_than: float) -> bool:
        """Whether another replica has the answer, or had it after a while, and so it is here.

        What was made at `newer_than` (wall time in seconds) or before does not do. False: the call
        is ours to make, and `release` is to be called at its end.
        """
        if not self._patience:
            return False
        stored = await self._shared.claim(plan.key.exact, self._patience)
        is_newer = stored is not None and stored.created > newer_than
        return is_newer and self._take(plan, stored)

    def release(self, plan: Lookup) -> None:
        """The call has ended."""
        if self._patience:
            self._shared.release(plan.key.exact)

    def _take(self, plan: Lookup, stored: StoredResponse | None) -> bool:
        # What comes back is not trusted: it must be the answer that was asked for.
        if stored is None or stored.key != plan.key.exact or stored.tenant != plan.tenant:
            return False
        return self._admit(stored)
