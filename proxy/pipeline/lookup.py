"""Is there a stored response that may be served? By exact key; by what it was answered with."""

from proxy.core.cache.outcome import Hit, Miss, MissReason, Outcome, judge
from proxy.core.classify import Lookup
from proxy.core.exchange import Level
from proxy.core.meaning.comparable import rule
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Aliases
from proxy.ports import Semantic, Store


def lookup(
    plan: Lookup,
    store: Store,
    acceptance: Acceptance,
    aliases: Aliases,
    semantic: Semantic | None,
    now: float,
) -> Outcome:
    """Look the exact key up and judge what is found.

    A caller whom the upstream refused last gets nothing, fallback included: the credential may
    have been revoked.
    """
    if acceptance.is_refused(plan.caller):
        return Miss(MissReason.CREDENTIAL)
    stored = store.get(plan.key.exact)
    if stored is None and semantic is not None and not plan.directives.no_cache:
        hit = _alias(plan, store, aliases, semantic, now)
        if hit is not None:
            return hit
    return judge(stored, plan.directives, plan.policy, now)


def _alias(
    plan: Lookup, store: Store, aliases: Aliases, semantic: Semantic, now: float
) -> Hit | None:
    alias = aliases.get(plan.key.exact)
    rules = plan.policy.semantic
    # What a reload has excluded since is not served any longer.
    if alias is None or plan.uncompared is not None or rule(plan.text, rules) is not None:
        return None
    left = semantic.remaining(alias.target, plan, now)
    least = max(rules.min_similarity, plan.directives.threshold)
    stored = store.get(alias.target)
    if (
        stored is None
        or left <= 0
        or alias.similarity < least
        or semantic.is_wrong(alias.target, alias.asked)
    ):
        return None
    return Hit(stored, Level.ALIAS, alias.similarity, left)
