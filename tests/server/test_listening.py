"""Sockets that listen."""

import socket
import sys

import pytest

from proxy.core.address import Address
from proxy.server.listening import STALL_MILLISECONDS, bound, url_of

ANY = Address("127.0.0.1", 0)


def test_the_system_chooses_a_port_and_the_url_tells_it() -> None:
    with bound(ANY, "listen") as listener:
        host, port = listener.getsockname()
        assert port > 0
        assert url_of(listener) == f"http://{host}:{port}"
        socket.create_connection((host, port)).close()


def test_an_address_that_is_taken_is_told_with_its_key() -> None:
    with bound(ANY, "listen") as theirs:
        address = Address(*theirs.getsockname())
        with pytest.raises(OSError, match=f"^admin.listen {address}: Address already in use$"):
            bound(address, "admin.listen")


def test_what_is_shared_may_be_bound_again() -> None:
    with bound(ANY, "listen", is_shared=True, listens=False) as held:
        address = Address(*held.getsockname())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(held.getsockname())
        with bound(address, "listen", is_shared=True) as one:
            assert url_of(one) == url_of(held)
            socket.create_connection(held.getsockname()).close()


def test_an_address_of_ipv6_leaves_that_of_ipv4_to_others() -> None:
    try:
        ours = bound(Address("::", 0), "listen")
    except OSError:
        pytest.skip("no IPv6 address")
    with ours:
        port = ours.getsockname()[1]
        assert url_of(ours) == f"http://[::]:{port}"
        with bound(Address("0.0.0.0", port), "listen"):
            pass


def test_every_interface_is_one_address_of_both_families() -> None:
    with bound(Address("*", 0), "listen") as ours:
        port = ours.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        if ours.family is socket.AF_INET6:
            socket.create_connection(("::1", port)).close()
        with pytest.raises(OSError, match=f"^listen \\*:{port}: Address already in use$"):
            bound(Address("*", port), "listen")


def test_every_interface_is_those_of_ipv4_where_there_is_no_ipv6(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "AF_INET6", socket.AF_APPLETALK)  # a family the system lacks
    with bound(Address("*", 0), "listen") as ours:
        assert ours.family is socket.AF_INET
        socket.create_connection(ours.getsockname()).close()


@pytest.mark.skipif(sys.platform != "linux", reason="only there it can be told")
def test_a_closed_connection_that_is_not_taken_ends_by_itself() -> None:
    with bound(ANY, "listen") as listener:
        told = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert told == STALL_MILLISECONDS
