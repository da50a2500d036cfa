"""Injectors that keep their certificate with one API server, each with a listener."""

import asyncio
import contextlib
import ssl
from pathlib import Path
from typing import Self

from proxy.k8s.certificates import service_names
from proxy.k8s.rotation import Place, Rotator
from proxy.k8s.tls import ServedCertificate
from proxy.k8s.trust import SETTLE_SECONDS
from proxy.ports import Clock
from proxy.tasks import Tasks
from tests.fakes.cluster import FakeCluster
from tests.fakes.lines import Lines
from tests.k8s.handshakes import shown
from tests.watch import DEADLINE, until

PLACE = Place(
    namespace="reprise", service="injector", secret="injector-tls", configuration="injector"
)
NAMES = service_names(PLACE.service, PLACE.namespace)
EVERY = 0.05


class Replica:
    """One injector, as far as its certificate goes."""

    def __init__(
        self, api: FakeCluster, *, clock: Clock | None = None, account: Path | None = None
    ) -> None:
        """`clock` is its own, if that differs from the API server's; so is `account`."""
        self.log = Lines()
        self.taken: list[float] = []
        self.looks = 0
        self.served = ServedCertificate(self.taken.append)
        self._api = api
        cluster = api.client(clock=clock, account=account)
        self._rotator = Rotator(cluster, PLACE, clock=clock or api.clock, log=self.log, every=EVERY)
        self._died: list[str] = []
        self._tasks = Tasks(lambda name, error: self._died.append(f"{name}: {error!r}"))
        self._server: asyncio.Server | None = None
        self._open = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._end, "127.0.0.1", 0, ssl=self.served.context
        )
        self._tasks.keep(lambda _: self._rotator.run(self.served, self._beat), "rotator", every=1.0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.drain(0)
        assert self._server is not None
        self._server.close()
        await until(lambda: not self._open)
        assert not self._died

    async def _end(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self._open -= 1

    def _beat(self) -> None:
        self.looks += 1

    async def looked(self, times: int = 2) -> None:
        """Until it has found all in order again, with a whole look from now on."""
        before = self.looks
        await until(lambda: self.looks >= before + times)

    async def handshake(self, *, late: float = 0.0, checks_time: bool = True) -> bytes:
        """Connect as the API server does, by the bundle that it holds now; what is shown, in DER.

        Or by that which it held `late` seconds ago. Raises OSError, of which ssl.SSLError is one.
        """
        assert self._server is not None
        bundle = self._api.late_bundle(PLACE.configuration, late)
        port = self._server.sockets[0].getsockname()[1]
        return await shown(port, bundle, NAMES[0], checks_time=checks_time)

    async def shows(self, chain: bytes) -> bool:
        """Whether that is the chain it serves."""
        return await self.handshake() == ssl.PEM_cert_to_DER_cert(chain.decode("ascii"))

    def events(self) -> list[str]:
        """What was logged."""
        return [event for _, event, _ in self.log.lines]


class Stream:
    """Handshakes with all replicas in turn, without a pause, until the block ends.

    Half of them are by an API server that hears of changes as late as can be.
    """

    def __init__(self, *replicas: Replica) -> None:
        self.replicas = list(replicas)
        self.done = 0
        self.failed: list[str] = []
        self._is_ending = False
        self._tasks = Tasks(lambda name, error: self.failed.append(f"{name}: {error!r}"))

    async def __aenter__(self) -> Self:
        self._tasks.spawn(self._run(), "handshakes")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_ending = True
        await self._tasks.drain(DEADLINE)  # a handshake that is cut leaves its connection behind

    async def _run(self) -> None:
        while not self._is_ending:
            for replica in tuple(self.replicas):
                try:
                    await replica.handshake()
                    await replica.handshake(late=SETTLE_SECONDS - 1)
                except OSError as error:
                    self.failed.append(repr(error))
                self.done += 2

    async def more(self, handshakes: int = 16) -> None:
        """Until so many more were made."""
        before = self.done
        await until(lambda: self.done >= before + handshakes or self.failed)
        assert not self.failed
