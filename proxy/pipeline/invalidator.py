"""Answers are taken out by a selector, or left behind by an epoch; the audit list says by whom."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from proxy.core.cache.change import Purged, Renewed
from proxy.core.cache.epochs import Epochs, renew
from proxy.core.cache.selector import Selector
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.purge import Survey, survey
from proxy.pipeline.record import Recorder
from proxy.pipeline.refusals import Refusals
from proxy.ports import Clock, Store
from proxy.telemetry.audit import Audit


class Invalidator:
    """Purges and renews, as is asked for here and as others have done."""

    def __init__(
        self,
        *,
        store: Store,
        recorder: Recorder,
        fetcher: Fetcher,
        refusals: Refusals,
        ledger: Ledger,
        audit: Audit,
        clock: Clock,
        on_epochs: Callable[[], None],
    ) -> None:
        """`on_epochs` is told that `epochs` are others."""
        self.epochs: Epochs = ()
        """Those of models, as they were set."""
        self._store = store
        self._recorder = recorder
        self._fetcher = fetcher
        self._refusals = refusals
        self._ledger = ledger
        self._audit = audit
        self._clock = clock
        self._on_epochs = on_epochs

    async def purge(self, selector: Selector, soft: bool, by: str = "") -> int:
        """Take out what a selector names, of answers on their way too; how many were stored.

        `by` is who asked for it.
        """
        count = self._take_out(selector)
        count += await self._ledger.purge(selector, soft=soft, by=by)
        self._audit.note("purge", by, _told(selector, soft=soft) | {"count": count})
        return count

    async def survey(self, selector: Selector) -> Survey:
        """What a purge would take out; nothing is changed."""
        self._recorder.flush()
        return await survey(self._store, selector)

    def renew(self, model: str, epoch: str, by: str) -> None:
        """Give models another epoch, or with an empty one none; `by` is who asked for it."""
        # Later than all before, whatever the clock of whoever set them says.
        at = max([self._clock.now(), *(one.at + 1e-6 for one in self.epochs)])
        change = Renewed(model, epoch, at, by)
        self._take(change)
        self._ledger.note(change)
        self._audit.note("epoch", by, {"model": model, "epoch": epoch})

    def purged_elsewhere(self, purged: Purged) -> None:
        """Take out what others have purged; the ledger does so with the store."""
        self._take_out(purged.selector)
        told = _told(purged.selector, soft=purged.soft)
        self._audit.keep(purged.at, "purge", purged.by, told)

    def renewed_elsewhere(self, change: Renewed) -> None:
        """Take over an epoch that others have set."""
        self._take(change)
        told = {"model": change.model, "epoch": change.epoch}
        self._audit.keep(change.at, "epoch", change.by, told)

    def _take(self, change: Renewed) -> None:
        epochs = renew(self.epochs, change)
        if epochs is not self.epochs:
            self.epochs = epochs
            self._on_epochs()

    def _take_out(self, selector: Selector) -> int:
        """Take out of all but the store; how many refusals there were."""
        self._recorder.flush()
        self._fetcher.purged(selector)
        return self._refusals.purge(selector)


def _told(selector: Selector, *, soft: bool) -> dict[str, Any]:
    """What the audit list tells of a purge."""
    chosen = {name: value for name, value in asdict(selector).items() if value}
    return {"selector": chosen, "soft": soft}
