"""Puts together what outlasts the process: the journals that the configuration names (design 8)."""

import secrets
from collections.abc import Callable

from proxy.config import Static
from proxy.pipeline.ledger import Ledger
from proxy.ports import Clock, Journal, Shared
from proxy.tasks import Tasks
from proxy.telemetry.log import Log


class Persistence:
    """The journals of one application, and what it shares with others."""

    def __init__(
        self,
        static: Static,
        *,
        ledger: Ledger,
        max_entries: int,
        on_secret: Callable[[bytes], None],
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        """Must be made on the event loop; blocks while it looks at the disk.

        `on_secret` is told the secret that replicas have in common, where that is another one.
        """
        self.journals: list[Journal] = []
        """The nearest first."""
        self.shared: Shared | None = None
        self.secret = static.secret.encode() or secrets.token_bytes(32)
        """The key of the digests of credentials."""
        self.is_loading = False
        """What was kept on this machine is still being taken in."""

    async def start(self) -> None:
        """Take in what was kept, and follow what others change."""

    async def close(self) -> None:
        """Keep what waits, and end."""

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {}
