"""Sockets that listen, alone or with other processes on one address."""

import errno
import socket
import sys

from proxy.core.address import Address
from proxy.server.encode import STALL_SECONDS

BACKLOG = 1024
"""Connections that the system holds for us until we take them."""
STALL_MILLISECONDS = int(STALL_SECONDS * 1000)
EVERY = "*"
_NO_IPV6 = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}


def bound(
    address: Address, key: str, *, is_shared: bool = False, listens: bool = True
) -> socket.socket:
    """A socket that is bound to an address and listens, unless told otherwise.

    What is shared may be bound by several processes; those that listen share what comes in.
    Raises OSError, which names the configuration's `key`, where the address cannot be had.
    """
    try:
        if address.host != EVERY:
            return _bound(address, is_shared=is_shared, listens=listens)
        try:
            both = Address("::", address.port)
            return _bound(both, is_shared=is_shared, listens=listens, takes_ipv4=True)
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
            only = Address("0.0.0.0", address.port)  # noqa: S104 - it is what was asked for
            return _bound(only, is_shared=is_shared, listens=listens)
    except OSError as error:
        raise OSError(f"{key} {address}: {error.strerror}") from error


def _bound(
    address: Address, *, is_shared: bool, listens: bool, takes_ipv4: bool = False
) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if listener.family is socket.AF_INET6:
            # As create_server: the same port of IPv4 is another address.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not takes_ipv4))
        if sys.platform == "linux":
            # A closed connection whose client never takes the rest goes away by itself.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_MILLISECONDS)
        listener.bind((address.host, address.port))
        if listens:
            listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL of a socket's address."""
    host, port = listener.getsockname()[:2]
    return f"http://{Address(host, port)}"
