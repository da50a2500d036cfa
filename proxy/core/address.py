"""Where a listener listens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """Where a listener listens; an IPv6 host stands without its brackets."""

    host: str
    """`*` is every interface, of IPv4 and IPv6, whichever of them there is."""
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
