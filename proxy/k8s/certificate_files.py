"""Certificates from mounted files: a Secret of one's own, or one that cert-manager keeps."""

import asyncio
from pathlib import Path

from proxy.k8s.tls import BadCertificate, ServedCertificate
from proxy.tasks import Beat
from proxy.telemetry.log import Log

LOOKS_EVERY = 5.0
MOST_READS = 5
"""In one look, until two in a row are alike."""


class CertificateFiles:
    """Serves what two files hold, and looks whether they have changed.

    By content, for Kubernetes swaps a symbolic link above them.
    """

    def __init__(
        self, certificate: Path, key: Path, *, log: Log, every: float = LOOKS_EVERY
    ) -> None:
        """`every` is in seconds."""
        self.every = every
        self._certificate = certificate
        self._key = key
        self._log = log

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Serve them for ever. What cannot be used is told once, and the last good one stays."""
        seen: object = None
        while True:
            found = await asyncio.to_thread(self._read)
            if found != seen:
                seen = found
                await self._take(found, served)
            beat()
            await asyncio.sleep(self.every)

    def _read(self) -> tuple[bytes, bytes] | str:
        """Both, or why not."""
        found: tuple[bytes, bytes] | str = ""
        for _ in range(MOST_READS):
            before, found = found, self._read_once()
            if found == before:
                break  # else they were swapped meanwhile, maybe between the two
        return found

    def _read_once(self) -> tuple[bytes, bytes] | str:
        try:
            return self._certificate.read_bytes(), self._key.read_bytes()
        except OSError as error:
            return f"{error.filename}: {error.strerror}"

    async def _take(self, found: tuple[bytes, bytes] | str, served: ServedCertificate) -> None:
        if isinstance(found, str):
            self._log.emit("error", "certificate not taken", {"reason": found})
            return
        try:
            await served.take(*found)
        except BadCertificate as error:
            self._log.emit("error", "certificate not taken", {"reason": str(error)})
        else:
            self._log.emit("info", "certificate taken", {"not_after": served.not_after})
