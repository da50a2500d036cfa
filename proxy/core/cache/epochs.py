"""The epochs that operators gave to models (mission E8).

What was stored before belongs to another epoch and is not found any longer; when the epoch is
taken back it is found again.
"""

from typing import TypeAlias

from proxy.core.cache.change import Renewed

MAX_EPOCHS = 256
"""Globs that may have one at a time; each is looked at for every request."""

Epochs: TypeAlias = tuple[Renewed, ...]
"""One for each glob, the last that was set at the end."""


def renew(epochs: Epochs, change: Renewed) -> Epochs:
    """The epochs after a change; the same where a later one of this glob is there already.

    Those that were taken back stay, so that an older one that comes late changes nothing. Beyond
    MAX_EPOCHS they go first, then those set longest ago.
    """
    known = next((one for one in epochs if one.model == change.model), None)
    if known is not None and (known.at, known.epoch) >= (change.at, change.epoch):
        return epochs
    kept = sorted(
        (*(one for one in epochs if one is not known), change), key=lambda one: (one.at, one.model)
    )
    while len(kept) > MAX_EPOCHS:
        kept.remove(next((one for one in kept if not one.epoch), kept[0]))
    return tuple(kept)


def in_force(epochs: Epochs) -> tuple[tuple[str, str], ...]:
    """Globs and epochs as Rules takes them: without what takes nothing back."""
    first = next((n for n, one in enumerate(epochs) if one.epoch), len(epochs))
    return tuple((one.model, one.epoch) for one in epochs[first:])
