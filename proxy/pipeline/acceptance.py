"""Which callers the upstream refuses: they get no stored response (mission B5)."""

from collections import OrderedDict

_REFUSALS = frozenset({401, 403})
MAX_CALLERS = 65536


class Acceptance:
    """The upstream's last word on each caller that it once accepted, up to MAX_CALLERS.

    Callers that were never accepted have nothing stored, so that made-up credentials take no room
    where the upstream checks them. Where it checks none, the callers heard of longest ago go.
    """

    def __init__(self) -> None:
        self._accepted: OrderedDict[bytes, bool] = OrderedDict()
        self._has_forgotten = False

    def is_refused(self, caller: bytes) -> bool:
        """Whether the upstream accepted this caller before, and refused the last request.

        Whoever is not known may have been refused and forgotten: in doubt, yes.
        """
        return not self._accepted.get(caller, not self._has_forgotten)

    def learn(self, caller: bytes, status: int) -> None:
        """Take note of the status with which the upstream answered the caller."""
        if status in _REFUSALS:
            if caller in self._accepted or self._has_forgotten:
                self._note(caller, is_accepted=False)
        elif 200 <= status < 300:
            self._note(caller, is_accepted=True)

    def _note(self, caller: bytes, *, is_accepted: bool) -> None:
        self._accepted[caller] = is_accepted
        self._accepted.move_to_end(caller)
        if len(self._accepted) > MAX_CALLERS:
            self._accepted.popitem(last=False)
            self._has_forgotten = True
