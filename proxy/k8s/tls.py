"""The certificate with which the webhook answers, changed while it serves."""

import asyncio
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cryptography import x509

from proxy.tasks import Beat


class BadCertificate(Exception):
    """A certificate that cannot be served; says why, and nothing of the key."""


class ServedCertificate:
    """What new connections are answered with. It begins empty: every handshake fails.

    Each certificate has a context of its own, chosen in the handshake. A context that another one
    is loaded into would keep the old one beside it where their keys are of different kinds, and
    show that to some clients.
    """

    def __init__(self, taken: Callable[[float], None]) -> None:
        """`taken` is told when a new certificate ends, in seconds of wall time."""
        self.context = _context()
        """For the listener; always the same."""
        self.context.sni_callback = self._choose
        self.not_after: float | None = None
        """Seconds of wall time; None while there is none."""
        self._taken = taken
        self._shown: ssl.SSLContext | None = None

    async def take(self, certificate: bytes, key: bytes) -> None:
        """From now on serve this chain (PEM, its own first) with this key (PEM).

        Connections that are open keep theirs. Raises BadCertificate, and changes nothing then.
        """
        self._shown, not_after = await asyncio.to_thread(_loaded, certificate, key)
        self.not_after = not_after
        self._taken(not_after)

    def _choose(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _from: ssl.SSLContext
    ) -> int | None:
        """Called in each handshake, also of a client that names no server."""
        if self._shown is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._shown
        return None


class CertificateSource(Protocol):
    """Where certificates come from."""

    every: float
    """Seconds within which it looks after them once."""

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Put the first one into `served`, and every later one, for ever; `beat` after each look.

        A loop of `Tasks.keep`: what it dies of is logged, and it is begun again.
        """


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _loaded(certificate: bytes, key: bytes) -> tuple[ssl.SSLContext, float]:
    """A context that shows a certificate, and when that ends."""
    context = _context()
    try:
        not_after = x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
        with tempfile.TemporaryDirectory(prefix="reprise-") as folder:  # for its owner alone
            pair = Path(folder, "pair.pem")  # OpenSSL takes a file only
            pair.write_bytes(key + b"\n" + certificate)
            # Without a password it would ask the terminal for that of an encrypted key.
            context.load_cert_chain(pair, password="")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "the certificate is not PEM"
        raise BadCertificate(f"certificate and key cannot be used: {reason}") from None
    return context, not_after
