"""Take stored responses out (mission E8)."""

import asyncio
from collections import Counter
from typing import NamedTuple

from proxy.core.cache.selector import Selector
from proxy.core.cache.value import tenant_name
from proxy.ports import Store

AT_ONCE = 2000
"""Entries that are looked at before others get their turn."""


async def purge(
    store: Store, selector: Selector, *, soft: bool, until: float = float("inf")
) -> int:
    """Delete what the selector is about, or with `soft` make it stale; how many there were.

    What was stored after `until` (wall time in seconds) is left alone. What is stale may still
    serve as the fallback of a failing upstream.
    """
    count = 0
    for number, stored in enumerate(store.scan()):
        if number % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(0)
        if stored.created > until:
            continue
        if selector.selects(stored) and store.get(stored.key) is stored:
            count += 1
            if soft:
                stored.ttl = 0.0
            else:
                store.delete(stored.key)
    return count


class Survey(NamedTuple):
    """What a purge would take out."""

    models: Counter[str]
    tenants: Counter[str]
    """By their public names."""


async def survey(store: Store, selector: Selector) -> Survey:
    """Count what the selector is about; nothing is changed, nor counted as a use."""
    found = Survey(Counter(), Counter())
    for number, stored in enumerate(store.scan()):
        if number % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(0)
        if selector.selects(stored):
            found.models[stored.model] += 1
            found.tenants[tenant_name(stored.tenant)] += 1
    return found
