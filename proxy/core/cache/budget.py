"""How much the proxy may ask of its own accord: calls a minute, tokens an hour (mission E2, E5)."""

from collections import deque

MINUTE_SECONDS = 60.0
HOUR_SECONDS = 3600.0
PARTS = 60
"""Of an hour: tokens are counted together by minute, so that they take no room."""


class Budget:
    """Sliding windows. All times are seconds of one clock that never runs backwards."""

    def __init__(self, *, per_minute: int, tokens_per_hour: int) -> None:
        self.per_minute = per_minute
        self.tokens_per_hour = tokens_per_hour
        self._calls: deque[float] = deque()
        self._spent: deque[list[float]] = deque()  # pairs: the minute's number, tokens

    def spent(self, now: float) -> int:
        """Tokens of the last hour, those included that calls under way are expected to take."""
        oldest = now // MINUTE_SECONDS - PARTS
        while self._spent and self._spent[0][0] <= oldest:
            self._spent.popleft()
        return int(sum(tokens for _, tokens in self._spent))

    def take(self, now: float, tokens: int) -> bool:
        """Begin a call that is expected to take so many tokens; False where that is too much."""
        while self._calls and self._calls[0] <= now - MINUTE_SECONDS:
            self._calls.popleft()
        if len(self._calls) >= self.per_minute or self.spent(now) + tokens > self.tokens_per_hour:
            return False
        self._calls.append(now)
        self.correct(now, tokens)
        return True

    def correct(self, now: float, tokens: int) -> None:
        """Count so many tokens more than was expected, or less."""
        minute = now // MINUTE_SECONDS
        if not self._spent or self._spent[-1][0] != minute:
            self._spent.append([minute, 0.0])
        self._spent[-1][1] += tokens
