"""A running webhook, and a client that asks as an API server does."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson

from proxy.clock import SystemClock
from proxy.core.address import Address
from proxy.k8s.settings import Settings
from proxy.k8s.tls import CertificateSource, ServedCertificate
from proxy.k8s.webhook import Webhook
from proxy.server.listening import bound
from proxy.tasks import Beat
from tests.fakes.lines import Lines
from tests.k8s.certificates import NAME, Issued
from tests.k8s.pods import SETTINGS

DEADLINE = 10.0


class OneCertificate:
    """A source (CertificateSource) that has one, once it is told to give it."""

    every = 60.0

    def __init__(self, issued: Issued) -> None:
        self._issued = issued
        self.may_give = asyncio.Event()
        self.given = asyncio.Event()

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Give it, and wait for ever."""
        await self.may_give.wait()
        await served.take(self._issued.certificate, self._issued.key)
        beat()
        self.given.set()
        await asyncio.Event().wait()


class DyingSource:
    """A source (CertificateSource) that has a mistake."""

    every = 60.0

    async def run(self, served: ServedCertificate, beat: Beat) -> None:
        """Die of it."""
        raise ValueError


class Running:
    """The webhook on free ports of the loopback."""

    def __init__(
        self,
        issued: Issued,
        settings: Settings = SETTINGS,
        *,
        source: CertificateSource | None = None,
    ) -> None:
        """`source` takes the place of one that has what was issued."""
        self.log = Lines()
        self.source = OneCertificate(issued)
        self.webhook = Webhook(settings, source or self.source, log=self.log, clock=SystemClock())
        self._client = issued.client()
        self.port = 0
        self.admin_port = 0

    async def __aenter__(self) -> Self:
        reviews = bound(Address("127.0.0.1", 0), "listen")
        admin = bound(Address("127.0.0.1", 0), "admin")
        self.port = reviews.getsockname()[1]
        self.admin_port = admin.getsockname()[1]
        await self.webhook.start(reviews, admin)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._client),
            timeout=aiohttp.ClientTimeout(DEADLINE),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()
        await self.webhook.stop()

    async def certified(self) -> None:
        """Let it have its certificate."""
        self.source.may_give.set()
        async with asyncio.timeout(DEADLINE):
            await self.source.given.wait()

    async def post(self, body: bytes, **fields: str) -> tuple[int, dict[str, Any]]:
        """Status and answer of a review."""
        async with self._session.post(
            f"https://127.0.0.1:{self.port}/mutate?timeout=5s",
            data=body,
            headers={"Content-Type": "application/json", **fields},
            server_hostname=NAME,
        ) as response:
            raw = await response.read()
            return response.status, orjson.loads(raw)

    async def admin(self, path: str) -> tuple[int, str]:
        """Status and text of the operator's listener."""
        async with self._session.get(f"http://127.0.0.1:{self.admin_port}{path}") as response:
            return response.status, await response.text()

    async def counted(self, result: str, reason: str) -> float:
        """How often that came of a review."""
        _, text = await self.admin("/metrics")
        name = f'reprise_injector_admissions_total{{reason="{reason}",result="{result}"}} '
        (line,) = (line for line in text.splitlines() if line.startswith(name))
        return float(line.removeprefix(name))

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection for bytes of any kind."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self._client, server_hostname=NAME
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


def untrusting() -> ssl.SSLContext:
    """A client that trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
