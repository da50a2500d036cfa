"""An address as it is told."""

import pytest

from proxy.core.address import Address


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (Address("127.0.0.1", 8080), "127.0.0.1:8080"),
        (Address("localhost", 0), "localhost:0"),
        (Address("::1", 80), "[::1]:80"),
        (Address("*", 80), "*:80"),
    ],
)
def test_an_ipv6_host_is_told_in_brackets(address: Address, told: str) -> None:
    assert str(address) == told
