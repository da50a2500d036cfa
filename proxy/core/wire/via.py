"""Which proxies a request has passed, and whether it goes in a circle (RFC 9110 7.6.3)."""

MAX_HOPS = 32
"""No chain on purpose is as long: a request that has passed more goes in a circle of others."""


def hop_value(name: str) -> bytes:
    """What a proxy of this name adds to Via. Both sides of it speak HTTP/1.1."""
    return f"1.1 {name}".encode("ascii")


def is_circle(via: str | None, name: str) -> bool:
    """Whether a request with this Via (several fields as one list) was with `name` before."""
    if via is None:
        return False
    hops = via.split(",")
    return len(hops) > MAX_HOPS or any(name in hop.split() for hop in hops)
