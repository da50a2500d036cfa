"""URLs of proxies on the command line, and connections to them."""

import http.client
from urllib.parse import SplitResult, urlsplit

_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


def split(url: str) -> SplitResult | None:
    """The parts of a URL that can be connected to; None for any other text."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in _CONNECTIONS and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return None
    return parts if is_usable else None


def connection(parts: SplitResult, seconds: float) -> http.client.HTTPConnection:
    """A connection to the host of a URL, made at the first request; no wait is longer."""
    kind = _CONNECTIONS[parts.scheme]
    # Without a port, the library would take the end of an IPv6 address for one.
    return kind(parts.hostname or "", parts.port or kind.default_port, timeout=seconds)
