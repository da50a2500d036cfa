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
    """What new connections are answered with. It begins empty: every handshake fails."""

    def __init__(self, taken: Callable[[float], None]) -> None:
        """`taken` is told when a new certificate ends, in seconds of wall time."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.not_after: float | None = None
        """Seconds of wall time; None while there is none."""
        self._taken = taken

    async def take(self, certificate: bytes, key: bytes) -> None:
        """From now on serve this chain (PEM, its own first) with this key (PEM).

        Connections that are open keep theirs. Raises BadCertificate, and changes nothing then.
        """
        folder, not_after = await asyncio.to_thread(_checked, certificate, key)
        try:
            # On the event loop, which makes no handshake meanwhile.
            _load(self.context, Path(folder.name))
        finally:
            await asyncio.to_thread(folder.cleanup)
        self.not_after = not_after
        self._taken(not_after)


class CertificateSource(Protocol):
    """Where certificates come from."""

    every: float
    """Seconds within which it looks after them once."""

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Put the first one into `served`, and every later one, for ever; `beat` after each look.

        A loop of `Tasks.keep`: what it dies of is logged, and it is begun again.
        """


def _checked(certificate: bytes, key: bytes) -> tuple[tempfile.TemporaryDirectory[str], float]:
    """A directory with both files, for OpenSSL takes files only, and the end of the first."""
    folder = tempfile.TemporaryDirectory(prefix="reprise-tls-")
    place = Path(folder.name)
    try:
        (place / "tls.crt").write_bytes(certificate)
        (place / "tls.key").write_bytes(key)
        # A context into which half of a pair was loaded serves nothing: try it on another.
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), place)
        leaf = x509.load_pem_x509_certificate(certificate)
    except (ssl.SSLError, ValueError) as error:
        folder.cleanup()
        reason = getattr(error, "reason", None) or "is not PEM"
        raise BadCertificate(f"certificate and key cannot be used: {reason}") from None
    except BaseException:
        folder.cleanup()
        raise
    return folder, leaf.not_valid_after_utc.timestamp()


def _load(context: ssl.SSLContext, place: Path) -> None:
    # Without a password OpenSSL would ask the terminal for that of an encrypted key.
    context.load_cert_chain(place / "tls.crt", place / "tls.key", password="")
