"""The certificate that is served, by real handshakes."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
from trustme import KeyType

from proxy.k8s.tls import BadCertificate, ServedCertificate
from tests.k8s.certificates import Issued, issued, served_serial


@pytest.fixture
def told() -> list[float]:
    return []


@pytest.fixture
def served(told: list[float]) -> ServedCertificate:
    return ServedCertificate(told.append)


@pytest.fixture
async def port(served: ServedCertificate) -> AsyncIterator[int]:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=served.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture(scope="module")
def one() -> Issued:
    return issued()


async def test_without_a_certificate_every_handshake_fails(
    served: ServedCertificate, port: int, one: Issued
) -> None:
    assert served.not_after is None
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await served_serial(port, one)


async def test_the_next_handshake_shows_the_new_one_whatever_its_key(
    served: ServedCertificate, port: int, one: Issued, told: list[float]
) -> None:
    other = issued(KeyType.RSA)
    for each in (one, other):
        await served.take(each.certificate, each.key)
        assert await served_serial(port, each) == each.serial
    assert told == [one.not_after, other.not_after]
    assert served.not_after == other.not_after


async def test_what_cannot_be_used_changes_nothing(
    served: ServedCertificate, port: int, one: Issued, told: list[float]
) -> None:
    await served.take(one.certificate, one.key)
    other = issued()
    for certificate, key in (
        (other.certificate, one.key),
        (b"", b""),
        (one.certificate, b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n"),
    ):
        with pytest.raises(BadCertificate) as caught:
            await served.take(certificate, key)
        assert "secret" not in str(caught.value)
        assert await served_serial(port, one) == one.serial
    assert told == [one.not_after]


async def test_a_client_that_names_no_server_is_shown_the_same(
    served: ServedCertificate, port: int, one: Issued
) -> None:
    await served.take(one.certificate, one.key)
    trusting = one.client()
    trusting.check_hostname = False
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname="")
    writer.close()
