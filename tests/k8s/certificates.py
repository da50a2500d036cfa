"""Certificates for tests of the webhook, and handshakes that show which one is served."""

import asyncio
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime

import trustme
from cryptography import x509

NAME = "reprise-injector.reprise.svc"
_ENDS = datetime(2031, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate of an authority of its own."""

    certificate: bytes
    key: bytes
    authority: trustme.CA

    @property
    def not_after(self) -> float:
        """When it ends, in seconds of wall time."""
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc.timestamp()

    @property
    def serial(self) -> int:
        """What tells it from others."""
        return x509.load_pem_x509_certificate(self.certificate).serial_number

    def client(self) -> ssl.SSLContext:
        """A client's side that trusts its authority alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        return context


def issued(kind: trustme.KeyType = trustme.KeyType.ECDSA) -> Issued:
    """A new one, with a key of a kind."""
    authority = trustme.CA(key_type=kind)
    leaf = authority.issue_cert(NAME, not_after=_ENDS, key_type=kind)
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return Issued(chain, leaf.private_key_pem.bytes(), authority)


async def served_serial(port: int, trusted: Issued) -> int:
    """Make a handshake; the serial number that is shown. Raises ssl.SSLError where it fails."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=trusted.client(), server_hostname=NAME
    )
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(shown).serial_number
    finally:
        writer.close()
