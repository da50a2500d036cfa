"""The upstream's refusals that are repeated, in memory only (mission E6)."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from proxy.core.cache.freshness import made_at
from proxy.core.cache.refusal import Refusal, is_repeatable, serves
from proxy.core.cache.selector import Selector
from proxy.core.classify import Lookup
from proxy.core.model import Response

MAX_REFUSALS = 4096
MAX_BYTES = 8 << 20
_OVERHEAD_BYTES = 512


class Refusals:
    """By what makes requests identical: key, caller, shape, stream options, content coding.

    Bounded: those noted longest ago go first.
    """

    def __init__(self) -> None:
        self._refusals: OrderedDict[bytes, Refusal] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._refusals)

    def find(self, plan: Lookup, now: float) -> Refusal | None:
        """What may be repeated to this request."""
        refusal = self._refusals.get(plan.flight)
        if refusal is None or not serves(refusal, plan.directives, now):
            return None
        return refusal

    def note(
        self,
        plan: Lookup,
        response: Response,
        values: Mapping[bytes, bytes],
        body: bytes,
        *,
        began: float,
        ended: float,
        purges: Sequence[Selector],
    ) -> None:
        """Take note of an answer that is none, if it will be the same again.

        `response` has its head, `values` its fields by name; `purges` came while it was made.
        """
        self.discard(plan)
        ttl = plan.policy.error_ttl
        if ttl <= 0 or not is_repeatable(response.status, values, body):
            return
        refusal = Refusal(
            status=response.status,
            reason=response.reason,
            content_type=values[b"content-type"],
            body=body,
            created=made_at(values, began=began, ended=ended),
            ttl=ttl,
            key=plan.key.exact,
            tenant=plan.tenant,
            model=plan.model,
            namespace=plan.directives.namespace,
            tags=plan.directives.tags,
        )
        if any(selector.selects(refusal) for selector in purges):
            return
        self._refusals[plan.flight] = refusal
        self._bytes += _size(refusal)
        while len(self._refusals) > MAX_REFUSALS or self._bytes > MAX_BYTES:
            self._drop(next(iter(self._refusals)))

    def discard(self, plan: Lookup) -> None:
        """The upstream has said something else since."""
        if plan.flight in self._refusals:
            self._drop(plan.flight)

    def purge(self, selector: Selector) -> int:
        """Forget what a selector names; how many there were."""
        named = [name for name, one in self._refusals.items() if selector.selects(one)]
        for name in named:
            self._drop(name)
        return len(named)

    def _drop(self, name: bytes) -> None:
        self._bytes -= _size(self._refusals.pop(name))


def _size(refusal: Refusal) -> int:
    words = len(refusal.model) + len(refusal.namespace) + sum(map(len, refusal.tags))
    return _OVERHEAD_BYTES + len(refusal.body) + 4 * words
