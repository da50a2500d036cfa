"""Replicas without a server: what several apps of one test have in common.

def test_...(proxy: StartProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    common = in_common(monkeypatch)
    async with proxy() as one, proxy() as other:
        ...
"""

from typing import Any

import pytest

from proxy.core.cache.change import Change, Put
from proxy.core.cache.value import StoredResponse
from proxy.pipeline.ledger import Ledger
from tests.fakes.journal import FakeJournal, FakePlace
from tests.fakes.shared import SharedEntries

SECRET = b"of all replicas"


class Common:
    """The journals' place, and the shared entries."""

    def __init__(self) -> None:
        self.place = FakePlace()
        self.shared = SharedEntries()


class _Journal(FakeJournal):
    """Keeps what it is told in the shared entries too."""

    def __init__(self, common: Common) -> None:
        super().__init__(common.place)
        self._shared = common.shared

    def append(self, change: Change) -> None:
        if isinstance(change, Put):
            self._shared.entries[change.stored.key] = change.stored
        super().append(change)


class FakePersistence:
    """Takes the place of proxy.persistence.Persistence."""

    def __init__(self, common: Common, ledger: Ledger) -> None:
        self.shared = common.shared
        self.secret = SECRET
        self.is_loading = False
        self._ledger = ledger
        self._journal = _Journal(common)
        ledger.keep_in([self._journal])

    async def open(self) -> None:
        """There is nothing to connect to."""

    async def start(self) -> None:
        """Take in what is there."""
        await self._journal.start(self._ledger.taking_in(self._journal))

    async def close(self) -> None:
        """End."""
        await self._journal.close()

    def states(self) -> dict[str, str]:
        """All is well."""
        return {}

    def figures(self) -> dict[str, float]:
        """There are none."""
        return {}


def in_common(monkeypatch: pytest.MonkeyPatch) -> Common:
    """Let every proxy that starts from now on be a replica of the others."""
    common = Common()

    def persistence(static: object, *, ledger: Ledger, **others: Any) -> FakePersistence:
        return FakePersistence(common, ledger)

    monkeypatch.setattr("proxy.app.Persistence", persistence)
    return common


def stored_under(common: Common) -> list[StoredResponse]:
    """All that is shared."""
    return list(common.shared.entries.values())
