"""The URL of an upstream: what may stand there, and its one notation."""

import re
from urllib.parse import urlsplit

HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)
PRINTABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_EXAMPLE = 'write such as "http://127.0.0.1:11434"'


class BadUpstreamUrl(ValueError):
    """No URL of an upstream, and what to write instead."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def normalized(text: str) -> str:
    """Scheme and host in small letters, no slash at the end. Raises BadUpstreamUrl."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadUpstreamUrl("is not a URL", _EXAMPLE) from error
    if parts.scheme not in ("http", "https"):
        raise BadUpstreamUrl("a URL begins with http:// or https://", _EXAMPLE)
    if parts.username is not None or parts.password is not None:
        raise BadUpstreamUrl("a URL carries no user name or password", "use api_key or headers")
    if "?" in text or "#" in text:
        raise BadUpstreamUrl("a URL carries no query and no fragment", _EXAMPLE)
    host = parts.hostname or ""
    bracketed = f"[{host}]" if ":" in host else host
    if not HOST.fullmatch(bracketed) or port == 0 or not PRINTABLE.fullmatch(text):
        raise BadUpstreamUrl("is not a URL", _EXAMPLE)
    if " " in text:
        raise BadUpstreamUrl("a URL has no spaces", "write %20")
    authority = bracketed if port is None else f"{bracketed}:{port}"
    return f"{parts.scheme}://{authority}{parts.path.rstrip('/')}"
