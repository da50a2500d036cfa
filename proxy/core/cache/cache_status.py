"""The fields by which a response tells what the cache did (RFC 9211, RFC 9111 5.1)."""

from proxy.core.exchange import Exchange

CACHE_NAME = "reprise"


def cache_status(exchange: Exchange) -> bytes:
    """Field lines for the head of a response: Cache-Status, and Age where it was stored."""
    if exchange.level is not None:
        return (
            f"Cache-Status: {CACHE_NAME}; hit; ttl={exchange.ttl}; detail={exchange.level}\r\n"
            f"Age: {exchange.age}\r\n"
        ).encode()
    parts = [f"{CACHE_NAME}; fwd={exchange.fwd}; fwd-status={exchange.fwd_status}"]
    if exchange.stored:
        parts.append("stored")
    if exchange.collapsed:
        parts.append("collapsed")
    if exchange.detail:
        parts.append(f"detail={exchange.detail}")
    return f"Cache-Status: {'; '.join(parts)}\r\n".encode()
