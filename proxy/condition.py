"""How the application is: whether it is ready, what is broken, and the figures of /metrics."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proxy.core.meaning.negatives import Negatives
from proxy.persistence import Persistence
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.fetch import Fetcher
from proxy.pipeline.refusals import Refusals
from proxy.pipeline.related import Related
from proxy.pipeline.turns import Turns
from proxy.semantic_loader import SemanticLoader
from proxy.server.connection import Server
from proxy.server.encode import Encoder
from proxy.server.handler import Handler
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from proxy.telemetry import heartbeats
from proxy.telemetry.described import Figures
from proxy.telemetry.tracing import Tracer


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Looks at the parts of an application, and tells."""

    has_started: Callable[[], bool]
    """Whether requests are taken."""
    encoder: Encoder
    persistence: Persistence
    semantic: SemanticLoader
    tasks: Tasks
    memory: MemoryStore
    handler: Handler
    fetcher: Fetcher
    server: Server
    refusals: Refusals
    turns: Turns
    related: Related
    aliases: Aliases
    negatives: Negatives
    wants_traces: bool = False
    tracer: Tracer | None = None
    """None where no traces are wanted, or what makes them is not installed."""

    def state(self) -> str:
        """ "ok" where requests are taken, else why it is not ready."""
        if self.encoder.is_draining:
            return "draining"
        if not self.has_started():
            return "starting"
        is_loading = self.semantic.is_starting or self.persistence.is_loading
        return "loading" if is_loading else "ok"

    def detail(self) -> dict[str, Any]:
        """How background tasks and parts are doing."""
        now = asyncio.get_running_loop().time()
        return {
            "tasks": heartbeats.detail(self.tasks.heartbeats, now=now),
            "parts": self._parts(),
        }

    def _parts(self) -> dict[str, str]:
        """What may be broken while requests are served: "ok", "off", or what is wrong."""
        parts = {"semantic": self.semantic.state(), **self.persistence.states()}
        if self.wants_traces:
            parts["tracing"] = "missing" if self.tracer is None else self.tracer.state
        return parts

    def figures(self) -> Figures:
        """What is as it is now, as against what is counted."""
        return {
            "entries": len(self.memory),
            "store_bytes": self.memory.size_bytes,
            "evictions": dict(self.memory.evictions),
            "in_flight_requests": self.handler.in_flight,
            "flights": len(self.fetcher.flights),
            "connections": len(self.server.connections),
            "background_tasks": len(self.tasks),
            "refusals": len(self.refusals),
            "background_requests_waiting": len(self.turns),
            "related_pairs": self.related.followers.pairs,
            "related_bytes": self.related.followers.size_bytes,
            "aliases": len(self.aliases),
            "negative_pairs": len(self.negatives),
            **self.semantic.figures(),
            **self.persistence.figures(),
            **(self.tracer.figures() if self.tracer is not None else {}),
        }
