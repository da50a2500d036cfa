"""Closed sets of the parts are those of the code."""

from typing import get_args

from proxy.redis_link.errors import Reason
from proxy.reload import Trigger
from proxy.store.memory import MemoryStore
from proxy.telemetry import catalog_parts as parts
from proxy.telemetry.catalog import CATALOG


def test_the_reasons_of_redis_are_known() -> None:
    assert tuple(Reason) == parts.REDIS_REASONS


def test_the_bounds_of_memory_are_known() -> None:
    store = MemoryStore(max_bytes=1, max_entries=1, max_entry_bytes=1)
    assert CATALOG["reprise_evictions"].labels["reason"] == tuple(store.evictions)


def test_the_triggers_of_a_reload_are_known() -> None:
    assert parts.RELOADS.labels["trigger"] == get_args(Trigger)
