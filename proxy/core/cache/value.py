"""What the cache holds."""

from dataclasses import dataclass

from proxy.core.model import Shape


@dataclass(slots=True, eq=False)
class StoredResponse:
    """An answer that was received whole and may be given again (RFC 9111 section 2).

    Everything but `derived` and `charged` is fixed once stored.
    """

    key: bytes
    """The exact key under which it is found."""
    tenant: bytes
    """The digest of whose it is."""
    operation: str
    model: str
    """The model asked for."""
    namespace: str
    tags: tuple[str, ...]
    shape: Shape
    """As received; `body` is that, byte for byte (content codings undone)."""
    body: bytes
    head: bytes
    """The stored field lines, rendered, without framing; Content-Type is the first."""
    stream_options: bytes
    """Canonical JSON of the stream options of the recorded request; empty where none."""
    created: float
    """Wall time in seconds at which the answer was complete."""
    ttl: float
    """Freshness lifetime in seconds, jitter included (RFC 9111 4.2.1)."""
    prompt_tokens: int
    completion_tokens: int
    duration: float
    """Seconds that the upstream took for it."""
    derived: dict[tuple[Shape, bool], bytes] | None = None
    """Bodies in other shapes (and with usage or not), made on demand; empty: cannot be made."""
    charged: int = 0
    """The bytes that the memory store has counted for it."""

    @property
    def asked(self) -> float:
        """Wall time in seconds at which it was asked for, at the latest.

        What was taken back between this and `created` was taken back while it was on its way.
        """
        return self.created - self.duration

    @property
    def id(self) -> str:
        """Its public name: tells this answer from an earlier one to the same question."""
        return entry_id(self.key, self.created)


def tenant_name(tenant: bytes) -> str:
    """A tenant's public name: the beginning of its digest."""
    return tenant[:6].hex()


def entry_id(key: bytes, created: float) -> str:
    """The public name of an answer: part of its key (not all: keys stay private), and its time."""
    return f"{key[:10].hex()}-{int(created * 1000):x}"
