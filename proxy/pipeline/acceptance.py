"""Which callers the upstream refuses: they get no stored response (mission B5)."""

_REFUSALS = frozenset({401, 403})


class Acceptance:
    """The upstream's last word on each caller that it once accepted.

    Callers that were never accepted have nothing stored, so that made-up credentials take no room.
    """

    def __init__(self) -> None:
        self._accepted: dict[bytes, bool] = {}

    def is_refused(self, caller: bytes) -> bool:
        """Whether the upstream accepted this caller before, and refused the last request."""
        return self._accepted.get(caller) is False

    def learn(self, caller: bytes, status: int) -> None:
        """Take note of the status with which the upstream answered the caller."""
        if status in _REFUSALS:
            if caller in self._accepted:
                self._accepted[caller] = False
        elif 200 <= status < 300:
            self._accepted[caller] = True
