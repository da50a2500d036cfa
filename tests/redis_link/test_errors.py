"""What the library raises, as reasons; what Redis answers is in test_link.py."""

import ssl

import pytest
from redis import exceptions

from proxy.redis_link.errors import Reason, reason_of


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (exceptions.TimeoutError("Timeout reading"), Reason.TIMEOUT),
        (TimeoutError(), Reason.TIMEOUT),
        (exceptions.ConnectionError("Connection closed by server."), Reason.CLOSED),
        (exceptions.ConnectionError("Error 111 connecting to a:1. refused."), Reason.REFUSED),
        (exceptions.ConnectionError("No master found for 'main'"), Reason.CLUSTER),
        (exceptions.ConnectionError("The previous master is now a slave"), Reason.READONLY),
        (exceptions.RedisClusterException("cannot be connected"), Reason.CLUSTER),
        (exceptions.SlotNotCoveredError("Slot not covered"), Reason.CLUSTER),
        (exceptions.ClusterError("TTL exhausted."), Reason.CLUSTER),
        (exceptions.MovedError("1 127.0.0.1:7000"), Reason.CLUSTER),
        (exceptions.InvalidResponse("Protocol Error"), Reason.PROTOCOL),
        (exceptions.DataError("Invalid input"), Reason.PROTOCOL),
        (exceptions.NoPermissionError("no permissions"), Reason.DENIED),
        (exceptions.ResponseError("ERR something else"), Reason.ERROR),
        (ConnectionResetError(), Reason.CLOSED),
        (ssl.SSLError("handshake"), Reason.CLOSED),
        (RuntimeError("the handler is closed"), Reason.CLOSED),
    ],
)
def test_the_reason_for_an_error(error: BaseException, reason: Reason) -> None:
    assert reason_of(error) is reason
