"""Is there a stored response that may be served? By exact key."""

from proxy.core.cache.outcome import Miss, MissReason, Outcome, judge
from proxy.core.classify import Lookup
from proxy.pipeline.acceptance import Acceptance
from proxy.ports import Store


def lookup(plan: Lookup, store: Store, acceptance: Acceptance, now: float) -> Outcome:
    """Look the exact key up and judge what is found.

    A caller whom the upstream refused last gets nothing, fallback included: the credential may
    have been revoked.
    """
    if acceptance.is_refused(plan.caller):
        return Miss(MissReason.CREDENTIAL)
    return judge(store.get(plan.key.exact), plan.directives, plan.policy, now)
