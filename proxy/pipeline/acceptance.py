"""Which callers the upstream refuses: they get no stored response (mission B5)."""

from collections import OrderedDict
from collections.abc import Callable

from proxy.core.cache.change import Barred
from proxy.ports import Clock

_REFUSALS = frozenset({401, 403})
MAX_CALLERS = 65536


class Acceptance:
    """The upstream's last word on each caller that it once accepted, up to MAX_CALLERS.

    Callers that were never accepted have nothing stored, so that made-up credentials take no room
    where the upstream checks them. Where it checks none, the callers heard of longest ago go.
    """

    def __init__(self, clock: Clock, note: Callable[[Barred], None] = lambda barred: None) -> None:
        """`note` is told whom the upstream refuses from now on, and whom no longer."""
        self.has_past = False
        """There may be answers of callers that were accepted elsewhere, or before this process."""
        self._accepted: OrderedDict[bytes, bool] = OrderedDict()
        self._has_forgotten = False
        self._barred: dict[bytes, float] = {}
        """When those who are refused were, wall time in seconds."""
        self._clock = clock
        self._tell = note

    def is_refused(self, caller: bytes) -> bool:
        """Whether the upstream accepted this caller before, and refused the last request.

        Whoever is not known may have been refused and forgotten: in doubt, yes.
        """
        return not self._accepted.get(caller, not self._has_forgotten)

    def learn(self, caller: bytes, status: int) -> None:
        """Take note of the status with which the upstream answered the caller."""
        if status in _REFUSALS:
            if caller in self._accepted or self._has_forgotten or self.has_past:
                self._judge(caller, is_accepted=False)
        elif 200 <= status < 300:
            self._judge(caller, is_accepted=True)

    def take_in(self, barred: Barred) -> None:
        """Take note of what another process, or this one before a restart, was told."""
        if barred.is_refused:
            if self._barred.get(barred.caller, barred.at) <= barred.at:
                self._barred[barred.caller] = barred.at
                self._note(barred.caller, is_accepted=False)
        elif self._barred.get(barred.caller, barred.at + 1) <= barred.at:
            del self._barred[barred.caller]
            self._note(barred.caller, is_accepted=True)

    def barred(self) -> list[Barred]:
        """All that are refused now, for others to take in."""
        return [Barred(caller, is_refused=True, at=at) for caller, at in self._barred.items()]

    def _judge(self, caller: bytes, *, is_accepted: bool) -> None:
        was_refused = caller in self._barred
        if is_accepted is was_refused:
            now = self._clock.now()
            if is_accepted:
                del self._barred[caller]
            else:
                self._barred[caller] = now
            self._tell(Barred(caller, is_refused=not is_accepted, at=now))
        self._note(caller, is_accepted=is_accepted)

    def _note(self, caller: bytes, *, is_accepted: bool) -> None:
        self._accepted[caller] = is_accepted
        self._accepted.move_to_end(caller)
        if len(self._accepted) > MAX_CALLERS:
            oldest, _ = self._accepted.popitem(last=False)
            self._barred.pop(oldest, None)
            self._has_forgotten = True
